use std::collections::VecDeque;
use std::future::Future;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Method;
use http::header::{HeaderName, HeaderValue};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};
use tollgate_core::{Charge, Clock, Decision, Mode, Receipt, Reply, Store, Tick};
use tollgate_memory::Memory;
use tower::ServiceExt;

use super::*;
use crate::Throttle;
use crate::told::Told;

mod circuits;
mod questions;
mod turns;

type Headers = Vec<(&'static str, String)>;
type Said = Result<(u16, Headers), &'static str>;

/// A server that says what is scripted, then 200 for ever, and notes what came when.
#[derive(Clone, Default)]
struct Server {
    script: Arc<Mutex<VecDeque<Said>>>,
    came: Arc<Mutex<Vec<(Instant, Method, String)>>>,
    takes: Duration,
    ready: Ready,
}

/// Whether it was made ready since the last call.
#[derive(Default)]
struct Ready(bool);

impl Clone for Ready {
    /// A clone has to be made ready by itself.
    fn clone(&self) -> Ready {
        Ready(false)
    }
}

impl Server {
    fn saying(script: impl IntoIterator<Item = Said>) -> Server {
        let script = script.into_iter().collect::<VecDeque<_>>();
        Server { script: Arc::new(Mutex::new(script)), ..Server::default() }
    }

    fn always(said: (u16, Headers)) -> Server {
        Server::saying(std::iter::repeat_n(Ok(said), 10_000))
    }

    fn taking(self, takes: Duration) -> Server {
        Server { takes, ..self }
    }

    fn tries(&self) -> usize {
        self.came.lock().unwrap().len()
    }

    /// The time from each try to the next.
    fn gaps(&self) -> Vec<Duration> {
        let came = self.came.lock().unwrap();
        came.windows(2).map(|two| two[1].0 - two[0].0).collect()
    }
}

impl Service<Request<String>> for Server {
    type Response = Response<String>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<String>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.ready = Ready(true);
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        assert!(std::mem::take(&mut self.ready).0, "called before it was ready");
        let Server { script, came, takes, .. } = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            came.lock().unwrap().push((Instant::now(), parts.method, body));
            yield_now().await;
            sleep(takes).await;
            let said = script.lock().unwrap().pop_front().unwrap_or(Ok((200, Vec::new())));
            let (status, headers) = said?;
            let mut answer = Response::new(String::from("body"));
            *answer.status_mut() = StatusCode::from_u16(status)?;
            for (name, value) in headers {
                let value = HeaderValue::from_str(&value)?;
                answer.headers_mut().append(HeaderName::from_static(name), value);
            }
            Ok(answer)
        })
    }
}

fn after(status: u16, seconds: u64) -> (u16, Headers) {
    (status, vec![("retry-after", seconds.to_string())])
}

/// A server past half of its limit, which says so in its first answers: calls leave one by one.
fn that_paces(answers: u64) -> Server {
    Server::saying((0..answers).map(|used| {
        let line = |name, value: u64| (name, value.to_string());
        let lines = [
            line("ratelimit-remaining", 150 - used),
            line("ratelimit-limit", 400),
            line("ratelimit-reset", 10),
        ];
        Ok((200, lines.to_vec()))
    }))
}

/// Makes so many calls at once, all of which go, and says in which order they came.
async fn order_of(calls: usize, layer: &ClientLayer, server: &Server) -> Vec<String> {
    let before = server.tries();
    let calls = (0..calls).map(|number| {
        let (layer, server) = (layer.clone(), server.clone());
        let request = get().map(|_| number.to_string());
        tokio::spawn(async move { call(&layer, &server, request).await.map(|_| ()) })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    let came = server.came.lock().unwrap();
    came.iter().skip(before).map(|(_, _, body)| body.clone()).collect()
}

fn get() -> Request<String> {
    Request::get("https://api.example/items").body(String::from("asked")).unwrap()
}

fn post() -> Request<String> {
    Request::post("https://api.example/items").body(String::from("asked")).unwrap()
}

async fn call<R>(
    layer: &ClientLayer<R>,
    server: &Server,
    request: Request<String>,
) -> Result<Response<HeldBody<String>>, CallError<Failure>>
where
    Client<Server, R>:
        Service<Request<String>, Response = Response<HeldBody<String>>, Error = CallError<Failure>>,
{
    layer.layer(server.clone()).oneshot(request).await
}

fn not_made<T: fmt::Debug>(outcome: Result<T, CallError<Failure>>) -> crate::Error {
    match outcome {
        Err(CallError::NotMade(error)) => error,
        other => panic!("it was made: {other:?}"),
    }
}

/// Seconds of the paused clock since a call began.
fn since(began: Instant) -> Span {
    Span::from(began.elapsed())
}

/// B209: a wait of a day is the caller's, not slept through; so for any status that tells it.
#[tokio::test(start_paused = true)]
async fn b209_a_day_is_told_to_the_caller_at_once() {
    for status in [429, 500, 503] {
        let (server, began) = (Server::always(after(status, 86_400)), Instant::now());
        let layer = ClientLayer::new().retry(Retry::default());
        let answer = call(&layer, &server, get()).await.unwrap();
        assert_eq!(answer.status(), status);
        let told = answer.extensions().get::<Told>().unwrap();
        assert_eq!(told.retry_after(), Some(Span::DAY));
        let next = not_made(call(&layer, &server, get()).await);
        assert!(next.is_busy());
        assert_eq!(next.retry_after(), Some(Span::DAY));
        assert_eq!((server.tries(), since(began)), (1, Span::ZERO));
    }
}

/// B209: a wait that is short enough is ended by who drops the call.
#[tokio::test(start_paused = true)]
async fn b209_cancel_interrupts_the_wait() {
    let server = Server::saying([Ok(after(503, 20))]);
    let layer = ClientLayer::new().retry(Retry::default());
    let waiting = tokio::time::timeout(Duration::from_secs(5), call(&layer, &server, get()));
    assert!(waiting.await.is_err());
    sleep(Duration::from_secs(60)).await;
    assert_eq!(server.tries(), 1);
}

#[tokio::test(start_paused = true)]
async fn b209_a_date_is_waited_for() {
    let date = vec![
        ("date", String::from("Mon, 30 Nov 2026 20:00:00 GMT")),
        ("retry-after", String::from("Monday, 30-Nov-26 20:00:07 GMT")),
    ];
    let server = Server::saying([Ok((503, date))]);
    let layer = ClientLayer::new().retry(Retry::default());
    assert!(call(&layer, &server, get()).await.unwrap().status().is_success());
    assert!(
        server.gaps()[0] >= Duration::from_secs(7) && server.gaps()[0] < Duration::from_secs(8)
    );
}

/// B211: five times `Retry-After: 0`.
#[tokio::test(start_paused = true)]
async fn b211_retry_after_zero_is_no_invitation_to_hammer() {
    let server = Server::always(after(429, 0));
    let layer = ClientLayer::new().retry(Retry::default().tries(5).least(Span::from_millis(20)));
    assert_eq!(call(&layer, &server, get()).await.unwrap().status(), 429);
    assert_eq!(server.tries(), 5);
    assert!(server.gaps().iter().all(|gap| *gap >= Duration::from_millis(20)));
}

/// Calendar time that runs as the paused clock does.
struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> Tick {
        Tick::from_micros(1_796_068_800_000_000).after(Span::from(self.0.elapsed()))
    }
}

/// B212: what one process is told, another one heeds.
#[tokio::test(start_paused = true)]
async fn b212_a_hold_that_is_shared_is_kept_by_every_process() {
    for seconds in [0, 1, 10, 29] {
        let store = Memory::builder().clock(Paused(Instant::now())).build().unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let process = || {
            let holds = SharedHolds::over(store.clone(), "holds").unwrap();
            ClientLayer::new().share_holds(holds)
        };
        let (a, b) = (process(), process());
        let server = Server::saying([Ok(after(429, seconds))]);
        call(&a, &server, get()).await.unwrap();
        call(&b, &server, get()).await.unwrap();
        let gap = server.gaps()[0];
        assert!(gap >= Duration::from_secs(seconds), "{gap:?}");
        assert!(gap <= Duration::from_secs(seconds + seconds.min(1)), "{gap:?}");
        // And once that is over, the next hold is as long.
        let server = Server::saying([Ok(after(503, seconds))]);
        call(&b, &server, get()).await.unwrap();
        call(&a, &server, get()).await.unwrap();
        assert!(server.gaps()[0] >= Duration::from_secs(seconds));
    }
}

#[tokio::test(start_paused = true)]
async fn all_clones_wait_out_what_one_was_told_in_the_order_they_came() {
    let server = Server::saying([Ok(after(429, 10))]);
    let layer = ClientLayer::new();
    call(&layer, &server, get()).await.unwrap();
    let calls = (0..20).map(|n| {
        let (layer, server) = (layer.clone(), server.clone());
        let request = get().map(|_| n.to_string());
        tokio::spawn(async move { call(&layer, &server, request).await.unwrap() })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    assert!(server.gaps()[0] >= Duration::from_secs(10));
    let came = server.came.lock().unwrap();
    let order: Vec<&str> = came.iter().skip(1).map(|(_, _, body)| body.as_str()).collect();
    assert_eq!(order, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn another_key_does_not_wait() {
    let server = Server::saying([Ok(after(429, 10))]);
    let (layer, began) = (ClientLayer::new(), Instant::now());
    call(&layer, &server, get()).await.unwrap();
    let other = Request::get("https://other.example/").body(String::new()).unwrap();
    call(&layer, &server, other).await.unwrap();
    assert_eq!(since(began), Span::ZERO);
    let by_path = ClientLayer::new().key(|parts| parts.uri.path().to_owned());
    let server = Server::saying([Ok(after(429, 10))]);
    call(&by_path, &server, get()).await.unwrap();
    let other = Request::get("https://api.example/search").body(String::new()).unwrap();
    call(&by_path, &server, other).await.unwrap();
    assert_eq!(since(began), Span::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_would_wait_too_long_fails_at_once() {
    let server = Server::saying([Ok(after(429, 10))]);
    let (layer, began) = (ClientLayer::new().longest_wait(Span::from_secs(9)), Instant::now());
    call(&layer, &server, get()).await.unwrap();
    let busy = not_made(call(&layer, &server, get()).await);
    assert!(busy.is_busy());
    assert_eq!((busy.retry_after(), since(began)), (Some(Span::from_secs(10)), Span::ZERO));
    sleep(Duration::from_secs(1)).await;
    assert!(call(&layer, &server, get()).await.unwrap().status().is_success());
}

#[tokio::test(start_paused = true)]
async fn a_day_is_believed_no_longer_than_the_longest_hold() {
    let server = Server::saying([Ok(after(503, 86_400))]);
    let layer = ClientLayer::new().longest_hold(Span::from_secs(20));
    call(&layer, &server, get()).await.unwrap();
    assert!(call(&layer, &server, get()).await.unwrap().status().is_success());
    assert_eq!(server.gaps(), [Duration::from_secs(20)]);
}

#[tokio::test(start_paused = true)]
async fn the_whole_ends_at_its_deadline() {
    // In line.
    let server = Server::saying([Ok(after(429, 10))]);
    let layer = ClientLayer::new().within(Span::from_secs(5));
    call(&layer, &server, get()).await.unwrap();
    assert!(not_made(call(&layer, &server, get()).await).is_late());
    // Between tries: the answer is better than no other one.
    let layer = ClientLayer::new().within(Span::from_secs(5)).retry(Retry::default());
    let (server, began) = (Server::always(after(503, 6)), Instant::now());
    assert_eq!(call(&layer, &server, get()).await.unwrap().status(), 503);
    assert_eq!((server.tries(), since(began)), (1, Span::ZERO));
    // During a try.
    let (server, began) = (Server::default().taking(Duration::from_secs(60)), Instant::now());
    let layer = ClientLayer::new().within(Span::from_secs(5)).retry(Retry::default());
    let Err(CallError::Failed(error)) = call(&layer, &server, get()).await else { panic!() };
    assert!(error.get().downcast_ref::<crate::Error>().unwrap().is_late());
    assert_eq!((server.tries(), began.elapsed().as_secs()), (1, 5));
}

#[tokio::test(start_paused = true)]
async fn what_may_be_made_twice_is_and_with_its_body() {
    let layer = ClientLayer::new().retry(Retry::default());
    let server = Server::saying([Err("reset"), Ok((502, Vec::new()))]);
    assert!(call(&layer, &server, get()).await.unwrap().status().is_success());
    let came = server.came.lock().unwrap();
    assert!(came.len() == 3 && came.iter().all(|(_, _, body)| body == "asked"));
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_made_twice_is_not_unless_it_is_marked() {
    let layer = ClientLayer::new().retry(Retry::default());
    for failed in [Err("reset"), Ok((503, Vec::new())), Ok(after(429, 1))] {
        let tries = async |layer: &ClientLayer<Again>, request| {
            let server = Server::saying([failed.clone()]);
            drop(call(layer, &server, request).await);
            server.tries()
        };
        assert_eq!(tries(&layer, post()).await, 1);
        let mut marked = post();
        marked.extensions_mut().insert(Repeat::Safe);
        assert_eq!(tries(&layer, marked).await, 2);
        let keyed = layer.clone().repeat(|parts| match parts.headers.get("idempotency-key") {
            Some(_) => Repeat::Safe,
            None => Repeat::ByMethod,
        });
        let mut with_key = post();
        with_key.headers_mut().insert("idempotency-key", HeaderValue::from_static("8e"));
        assert_eq!(tries(&keyed, with_key).await, 2);
        assert_eq!(tries(&keyed, post()).await, 1);
        let mut with_effects = get();
        with_effects.extensions_mut().insert(Repeat::Never);
        assert_eq!(tries(&layer, with_effects).await, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_again_unless_asked_for() {
    let server = Server::always(after(503, 0));
    assert_eq!(call(&ClientLayer::new(), &server, get()).await.unwrap().status(), 503);
    assert_eq!(server.tries(), 1);
}

/// A body that cannot be cloned.
struct Stream;

#[tokio::test(start_paused = true)]
async fn without_retries_a_body_may_be_of_any_kind() {
    let service = tower::service_fn(async |_: Request<Stream>| {
        Ok::<_, std::convert::Infallible>(Response::new(()))
    });
    let request = Request::get("https://api.example").body(Stream).unwrap();
    assert!(ClientLayer::new().layer(service).oneshot(request).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_client_slows_down_before_it_is_refused() {
    // Twenty per minute, in windows.
    let used = Arc::new(AtomicU64::new(0));
    let (counted, began) = (used.clone(), Instant::now());
    let service = tower::service_fn(move |_: Request<String>| {
        let counted = counted.clone();
        async move {
            let second = began.elapsed().as_secs();
            let used = counted.fetch_add(1, Ordering::SeqCst) + 1;
            let used_now = used - 20 * (second / 60).min(used / 20);
            assert!(used_now <= 20, "refused in second {second}");
            let answer = Response::builder()
                .header("x-ratelimit-limit", 20)
                .header("x-ratelimit-remaining", 20 - used_now)
                .header("x-ratelimit-reset", 60 - second % 60);
            answer.body(String::new())
        }
    });
    let client = ClientLayer::new().longest_wait(Span::MINUTE).layer(service);
    for n in 1..=20 {
        client.clone().oneshot(get()).await.unwrap();
        let elapsed = began.elapsed();
        assert!((n <= 11) == elapsed.is_zero(), "{n} after {elapsed:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn a_permit_is_held_until_the_body_has_ended() {
    let throttle = Throttle::builder().max_in_flight(1).build();
    let layer = ClientLayer::new().throttle(throttle.clone());
    let is_free = async || throttle.try_acquire("https://api.example", 1).await.is_ok();
    let answer = call(&layer, &Server::default(), get()).await.unwrap();
    assert!(!is_free().await);
    drop(answer);
    assert!(is_free().await);
    let answer = call(&layer, &Server::default(), get()).await.unwrap();
    let body = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap();
    assert_eq!(body.to_bytes(), "body");
    assert!(is_free().await);
}

#[tokio::test(start_paused = true)]
async fn each_try_takes_a_permit_and_none_is_held_between_two() {
    let throttle = Throttle::builder().max_in_flight(1).build();
    let layer = ClientLayer::new().throttle(throttle.clone()).retry(Retry::default());
    let server = Server::saying([Ok(after(503, 5))]);
    let waiting = tokio::spawn({
        let (layer, server) = (layer.clone(), server.clone());
        async move { call(&layer, &server, get()).await.unwrap().status() }
    });
    sleep(Duration::from_secs(1)).await;
    assert!(throttle.try_acquire("https://api.example", 1).await.is_ok());
    assert_eq!(waiting.await.unwrap(), 200);
    assert_eq!(server.tries(), 2);
}

/// A call that stood in the throttle's line while the server asked for quiet.
#[tokio::test(start_paused = true)]
async fn a_permit_that_comes_too_late_is_given_back_and_the_hold_waited_out() {
    let limit = tollgate_core::Limit::new("one a second", "1/s burst 1".parse().unwrap()).unwrap();
    let store = Memory::builder().clock(Paused(Instant::now())).build().unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let throttle = Throttle::over(tollgate_core::Limiter::over(store, [limit]));
    let layer = ClientLayer::new().throttle(throttle);
    let server = Server::saying([Ok(after(429, 10))]).taking(Duration::from_millis(500));
    let calls = (0..3).map(|_| {
        let (layer, server) = (layer.clone(), server.clone());
        tokio::spawn(async move { call(&layer, &server, get()).await.unwrap().status() })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    let gaps = server.gaps();
    assert!(gaps[0] >= Duration::from_millis(10_500), "{gaps:?}");
    assert!(gaps[1] >= Duration::from_secs(1), "{gaps:?}");
}

/// The second call has its permit when the first one's answer asks for quiet.
#[tokio::test(start_paused = true)]
async fn what_a_call_was_charged_that_could_not_leave_is_given_back() {
    let limit = tollgate_core::Limit::new("two a day", "2/day".parse().unwrap()).unwrap();
    let store = Memory::builder().clock(Paused(Instant::now())).build().unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let limiter = tollgate_core::Limiter::over(store, [limit]);
    let throttle = Throttle::builder().limits(limiter).max_in_flight(1).build();
    let layer = ClientLayer::new().throttle(throttle).within(Span::MINUTE);
    let server = Server::saying([Ok(after(429, 10))]).taking(Duration::from_millis(500));
    let both = [(); 2].map(|()| {
        let (layer, server) = (layer.clone(), server.clone());
        tokio::spawn(async move { call(&layer, &server, get()).await.unwrap().status() })
    });
    for call in both {
        call.await.unwrap();
    }
    assert!(server.gaps()[0] >= Duration::from_millis(10_500));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_known_to_have_ended_holds_no_permit() {
    let throttle = Throttle::builder().max_in_flight(1).build();
    let layer = ClientLayer::new().throttle(throttle.clone());
    let mut answer = call(&layer, &Server::default(), get()).await.unwrap();
    let frame = http_body_util::BodyExt::frame(answer.body_mut()).await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "body");
    assert!(throttle.try_acquire("https://api.example", 1).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn who_waits_leaves_as_soon_as_another_answer_lets_it() {
    let told = |left: u64| {
        let line = |name, value: u64| (name, value.to_string());
        let lines =
            [("ratelimit-remaining", left), ("ratelimit-limit", 10), ("ratelimit-reset", 20)];
        (200, lines.map(|(name, value)| line(name, value)).to_vec())
    };
    let layer = ClientLayer::new();
    let began = Instant::now();
    let ask = |said, takes| {
        let server = Server::saying([Ok(said)]).taking(Duration::from_secs(takes));
        let layer = layer.clone();
        tokio::spawn(async move { call(&layer, &server, get()).await.unwrap().status() })
    };
    let (used_up, news) = (ask(told(0), 1), ask(told(9), 5));
    used_up.await.unwrap();
    ask(told(8), 0).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 5);
    news.await.unwrap();
}

/// A store that answers what is asked in one mode, and nothing else.
struct Mute(Memory, Mode);

impl Store for Mute {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        match mode == self.1 {
            true => self.0.decide(mode, charges),
            false => Reply::later(std::future::pending()),
        }
    }

    fn give<'a>(&'a self, _: Receipt<'a>, _: u64) -> Reply<'a, ()> {
        Reply::later(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_of_holds_that_does_not_answer_keeps_no_call_past_its_time() {
    for (answers, tries) in [(Mode::Peek, 1), (Mode::Charge, 0)] {
        let store = Memory::builder().clock(Paused(Instant::now())).build().unwrap();
        let holds = SharedHolds::over(Arc::new(Mute(store, answers)), "holds").unwrap();
        let layer = ClientLayer::new().share_holds(holds);
        let server = Server::always(after(429, 5));
        let began = Instant::now();
        let bounded = layer.clone().within(Span::SECOND);
        let outcome = call(&bounded, &server, get()).await.map(|answer| answer.status());
        match outcome {
            Err(CallError::NotMade(error)) => assert!(error.is_late() && tries == 0),
            outcome => assert!(outcome.unwrap() == 429 && tries == 1),
        }
        assert_eq!((began.elapsed(), server.tries()), (Duration::from_secs(1), tries));
        // Without a time of its own the call is made once the longest wait is over.
        let unbounded = layer.key(|_| "other".into());
        assert_eq!(call(&unbounded, &server, get()).await.unwrap().status(), 429);
        assert!(began.elapsed() <= Duration::from_secs(1 + 2 * 30));
    }
}

/// A call that is dropped when it would be polled once more than `polls` times.
async fn dropped_after<F: Future>(polls: usize, call: F) -> Option<F::Output> {
    let (mut call, mut left) = (Some(Box::pin(call)), polls);
    poll_fn(move |context| {
        let Some(running) = &mut call else { return Poll::Ready(None) };
        if left == 0 {
            call = None;
            return Poll::Ready(None);
        }
        left -= 1;
        running.as_mut().poll(context).map(Some)
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn dropped_at_any_point_a_call_leaves_nothing_behind() {
    let mut ended = None;
    for polls in 0..200 {
        let throttle = Throttle::builder().max_in_flight(1).build();
        let budget = crate::RetryBudget::percent(0).at_least_per_second(1);
        let retry = Retry::default().tries(4).budget(budget);
        let store = Memory::builder().clock(Paused(Instant::now())).build().unwrap();
        let holds = SharedHolds::over(Arc::new(store), "holds").unwrap();
        let layer = ClientLayer::new()
            .throttle(throttle.clone())
            .share_holds(holds)
            .within(Span::from_secs(60))
            .retry(retry);
        let script = [Ok(after(503, 2)), Err("reset"), Ok(after(429, 0))];
        let server = Server::saying(script).taking(Duration::from_millis(10));
        // Somebody is before it in the throttle's line.
        let before = throttle.acquire("https://api.example", 1).await.unwrap();
        tokio::spawn(async move {
            sleep(Duration::from_millis(5)).await;
            drop(before);
        });
        let outcome = dropped_after(polls, call(&layer, &server, get())).await;
        let (is_over, made) = (outcome.is_some(), server.tries());
        drop(outcome);
        sleep(Duration::from_secs(5)).await;
        assert_eq!(server.tries(), made, "{polls}: nobody tries any more");
        let line = layer.courier.line("https://api.example");
        assert_eq!(line.in_flight(), 0, "{polls}");
        assert!(throttle.try_acquire("https://api.example", 1).await.is_ok(), "{polls}");
        // What was taken of the ten is what was made, at most.
        let taken = made.saturating_sub(1);
        let left = (0..20).map_while(|_| line.another_try(budget)).collect::<Vec<_>>().len();
        assert_eq!(left, 10 - taken, "{polls}");
        // And the next call goes as soon as the server lets it.
        assert!(call(&layer, &server, get()).await.is_ok());
        if is_over {
            ended = Some(polls);
            break;
        }
    }
    assert!(ended.is_some_and(|polls| polls > 10), "it ended by itself after {ended:?} polls");
}
