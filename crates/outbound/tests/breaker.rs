//! The layer in front of a service: what it lets through, and that no permit is lost however a call
//! ends.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test ends by a panic"
)]

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use tokio::time::{Instant, advance, sleep};
use tollgate_core::Span;
use tollgate_outbound::breaker::{
    Breaker, BreakerLayer, BreakerService, Breakers, Report, Status, Window,
};
use tollgate_outbound::{CallError, ClientLayer, Error, Throttle};
use tower::{Layer, Service, ServiceExt, service_fn};

/// What a request asks of the service: how it ends, and how often it has to be polled before.
#[derive(Clone, Copy, Debug)]
enum Ends {
    Good,
    Fault,
    Ignored,
    Panics,
    Never,
}

#[derive(Clone, Copy)]
struct Ask {
    ends: Ends,
    yields: u32,
}

const fn ask(ends: Ends) -> Ask {
    Ask { ends, yields: 0 }
}

type Answer = Result<Ends, io::Error>;

/// A service that counts its calls, and panics when one precedes its readiness.
#[derive(Default)]
struct Upstream {
    calls: Arc<AtomicU32>,
    ready: bool,
}

impl Clone for Upstream {
    fn clone(&self) -> Upstream {
        Upstream { calls: self.calls.clone(), ready: false }
    }
}

impl Service<Ask> for Upstream {
    type Response = Ends;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, Ask { ends, yields }: Ask) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called before it was ready");
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut left = yields;
        Box::pin(poll_fn(move |context| {
            if left > 0 {
                left -= 1;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            match ends {
                Ends::Fault => Poll::Ready(Err(io::Error::other("down"))),
                Ends::Panics => panic!("inside the call"),
                Ends::Never => Poll::Pending,
                Ends::Good | Ends::Ignored => Poll::Ready(Ok(ends)),
            }
        }))
    }
}

fn report(result: Result<&Ends, &io::Error>) -> Report {
    match result {
        Ok(Ends::Ignored) => Report::Ignored,
        Ok(_) => Report::Good,
        Err(_) => Report::Fault,
    }
}

type Client = BreakerService<Upstream, fn(&Ask) -> String, fn(Result<&Ends, &io::Error>) -> Report>;

struct World {
    breakers: Breakers,
    upstream: Upstream,
    client: Client,
    turns: Arc<Mutex<Vec<(u64, Status)>>>,
}

const WAIT: Span = Span::from_secs(5);

/// Opens after 3 faults in a row, for 5 s; 3 probes each 5 s, all of which have to be good.
fn breaker() -> Breaker {
    Breaker::default()
        .opens_after(3)
        .probes_each(WAIT, WAIT)
        .permits(3)
        .closes_after(3)
        .opens_again_after(1)
}

fn world(breaker: Breaker) -> World {
    let turns = Arc::new(Mutex::new(Vec::new()));
    let told = turns.clone();
    let breakers = Breakers::builder(breaker)
        .on_turn(move |turn| told.lock().unwrap().push((turn.number, turn.status)))
        .build();
    let upstream = Upstream::default();
    let key: fn(&Ask) -> String = |_| "upstream".to_owned();
    let classify: fn(Result<&Ends, &io::Error>) -> Report = report;
    let layer = BreakerLayer::new(breakers.clone()).keyed_by(key).classified_by(classify);
    World { client: layer.layer(upstream.clone()), breakers, upstream, turns }
}

impl World {
    /// A call that was begun and not polled.
    fn begin(&self, ask: Ask) -> Pin<Box<dyn Future<Output = Result<Ends, CallError<io::Error>>>>> {
        let mut client = self.client.clone();
        let ready = client.poll_ready(&mut Context::from_waker(Waker::noop()));
        assert!(ready.is_ready());
        Box::pin(client.call(ask))
    }

    async fn call(&self, ends: Ends) -> Result<Ends, CallError<io::Error>> {
        self.client.clone().oneshot(ask(ends)).await
    }

    async fn blocked(&self) -> Option<Span> {
        match self.call(Ends::Good).await {
            Err(CallError::NotMade(error)) => {
                assert!(error.is_open());
                error.retry_after()
            }
            _ => panic!("the call was made"),
        }
    }

    async fn open(&self) {
        while self.status() != Status::Open {
            assert!(matches!(self.call(Ends::Fault).await, Err(CallError::Failed(_))));
        }
    }

    /// Lets the circuit open and its wait pass.
    async fn half_open(&self) {
        self.open().await;
        advance(WAIT.into()).await;
    }

    fn status(&self) -> Status {
        self.breakers.status("upstream")
    }

    fn calls(&self) -> u32 {
        self.upstream.calls.load(Ordering::Relaxed)
    }

    fn permits_taken(&self) -> u32 {
        self.breakers.state().circuits[0].permits_taken
    }

    fn turns(&self) -> Vec<Status> {
        let turns = self.turns.lock().unwrap();
        let numbers: Vec<u64> = turns.iter().map(|(number, _)| *number).collect();
        let expected: Vec<u64> = (1..).take(turns.len()).collect();
        assert_eq!(numbers, expected, "a turn was told twice or not at all");
        turns.iter().map(|(_, status)| *status).collect()
    }
}

fn poll<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_keeps_calls_from_the_service_and_closes_by_good_probes() {
    let world = world(breaker());
    world.open().await;
    assert_eq!((world.calls(), world.blocked().await), (3, Some(WAIT)));
    advance(Duration::from_secs(4)).await;
    assert_eq!(world.blocked().await, Some(Span::SECOND));
    assert_eq!(world.calls(), 3);
    advance(Duration::from_secs(1)).await;
    for _ in 0..3 {
        assert!(world.call(Ends::Good).await.is_ok());
    }
    assert_eq!(world.turns(), [Status::Open, Status::HalfOpen, Status::Closed]);
}

#[tokio::test(start_paused = true)]
async fn b213_ignored_errors_of_probes_give_their_permits_back() {
    let world = world(breaker());
    world.half_open().await;
    for _ in 0..3 {
        assert!(world.call(Ends::Ignored).await.is_ok());
    }
    let fourth = world.begin(ask(Ends::Good));
    assert_eq!((world.permits_taken(), world.calls()), (1, 7));
    drop(fourth);
}

#[tokio::test(start_paused = true)]
async fn b214_probes_that_are_dropped_panic_or_are_never_polled_lose_no_permit() {
    let world = world(breaker());
    world.half_open().await;

    let mut dropped = world.begin(ask(Ends::Never));
    assert!(poll(&mut dropped).is_pending());
    assert_eq!(world.permits_taken(), 1);
    drop(dropped);
    assert_eq!(world.permits_taken(), 0);

    let client = world.client.clone();
    let panicked = tokio::spawn(client.oneshot(ask(Ends::Panics))).await;
    assert!(panicked.unwrap_err().is_panic());
    assert_eq!((world.permits_taken(), world.status()), (0, Status::HalfOpen));

    let silent: Vec<_> = (0..3).map(|_| world.begin(ask(Ends::Good))).collect();
    assert_eq!(world.blocked().await, Some(WAIT));
    advance(WAIT.into()).await;
    for _ in 0..3 {
        assert!(world.call(Ends::Good).await.is_ok(), "their permits are free after the period");
    }
    assert_eq!(world.status(), Status::Closed);
    drop(silent);
    assert_eq!(world.turns().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn cancelled_at_any_await_a_call_leaves_all_permits_out_or_free() {
    const POLLS: u32 = 5;
    for ends in [Ends::Good, Ends::Fault, Ends::Ignored] {
        for cancelled_after in 0..=POLLS {
            let world = world(breaker());
            world.half_open().await;
            let mut others = [world.begin(ask(Ends::Never)), world.begin(ask(Ends::Never))];
            assert!(others.iter_mut().all(|other| poll(other).is_pending()));
            let mut probe = world.begin(Ask { ends, yields: POLLS });
            assert_eq!(world.permits_taken(), 3);
            assert_eq!(world.blocked().await, Some(WAIT));
            for _ in 0..cancelled_after {
                assert!(poll(&mut probe).is_pending());
            }
            drop(probe);
            assert_eq!((world.status(), world.permits_taken()), (Status::HalfOpen, 2));
            let again = world.begin(ask(Ends::Never));
            assert_eq!((world.permits_taken(), world.blocked().await), (3, Some(WAIT)));
            drop((again, others));
            assert_eq!(world.permits_taken(), 0);
            assert_eq!(world.turns(), [Status::Open, Status::HalfOpen]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn b218_a_service_that_always_fails_is_asked_once_per_wait() {
    let growing = breaker().permits(1).blocks_longer_up_to(Span::from_secs(40));
    let world = world(growing);
    world.open().await;
    for secs in [5, 10, 20, 40, 40] {
        let wait = Span::from_secs(secs);
        assert_eq!(world.blocked().await, Some(wait));
        let before = world.calls();
        // Someone asks each second all the time.
        for _ in 0..secs {
            world.blocked().await;
            assert_eq!(world.calls(), before);
            advance(Duration::from_secs(1)).await;
        }
        assert!(matches!(world.call(Ends::Fault).await, Err(CallError::Failed(_))));
        assert_eq!((world.calls(), world.status()), (before + 1, Status::Open));
    }
}

#[tokio::test(start_paused = true)]
async fn b219_late_failures_are_told_once_and_put_nothing_off() {
    let world = world(breaker());
    let mut late: Vec<_> =
        (0..10).map(|_| world.begin(Ask { ends: Ends::Fault, yields: 1 })).collect();
    assert!(late.iter_mut().all(|call| poll(call).is_pending()));
    world.open().await;
    advance(Duration::from_secs(1)).await;
    for mut call in late {
        assert!(matches!(poll(&mut call), Poll::Ready(Err(CallError::Failed(_)))));
    }
    assert_eq!(world.turns(), [Status::Open]);
    assert_eq!(world.blocked().await, Some(Span::from_secs(4)));
}

#[tokio::test(start_paused = true)]
async fn b220_failures_age_out() {
    let rare = Breaker::default().opens_after(u32::MAX).opens_at(1, 5, Span::MINUTE);
    let world = world(rare);
    for _ in 0..10 {
        assert!(world.call(Ends::Fault).await.is_err());
        advance(Duration::from_secs(3_600)).await;
    }
    assert_eq!((world.status(), world.calls()), (Status::Closed, 10));
}

#[tokio::test(start_paused = true)]
async fn b222_a_probe_that_its_caller_cancels_is_no_verdict() {
    let world = world(breaker().permits(1).closes_after(1));
    world.half_open().await;
    for _ in 0..5 {
        let given_up = tokio::time::timeout(Duration::from_millis(10), world.call(Ends::Never));
        assert!(given_up.await.is_err());
        assert_eq!((world.status(), world.permits_taken()), (Status::HalfOpen, 0));
    }
    assert!(world.call(Ends::Good).await.is_ok());
    assert_eq!(world.turns(), [Status::Open, Status::HalfOpen, Status::Closed]);
}

#[tokio::test(start_paused = true)]
async fn b84_a_call_follows_readiness_of_the_very_service_that_is_called() {
    let world = world(breaker());
    let mut client = world.client.clone();
    for ends in [Ends::Good, Ends::Fault, Ends::Fault, Ends::Fault, Ends::Good, Ends::Good] {
        let blocked = world.status() == Status::Open;
        let result = client.ready().await.unwrap().call(ask(ends)).await;
        assert_eq!(matches!(result, Err(CallError::NotMade(_))), blocked);
    }
    // Fifty clones at once: as many as there are permits reach the service.
    advance(WAIT.into()).await;
    let before = world.calls();
    let calls: Vec<_> = (0..50).map(|_| world.begin(ask(Ends::Never))).collect();
    assert_eq!(world.calls() - before, 3);
    drop(calls);
    assert_eq!(world.permits_taken(), 0);
}

#[tokio::test(start_paused = true)]
async fn b84_whoever_is_not_ready_waits_for_the_service_and_is_not_polled_meanwhile() {
    let (polls, at) = (Arc::new(AtomicU32::new(0)), Instant::now() + Duration::from_secs(1));
    let counted = polls.clone();
    struct Slow(Arc<AtomicU32>, Pin<Box<tokio::time::Sleep>>);
    impl Service<Request<()>> for Slow {
        type Response = Response<()>;
        type Error = io::Error;
        type Future = std::future::Ready<io::Result<Response<()>>>;

        fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            self.1.as_mut().poll(context).map(Ok)
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            std::future::ready(Ok(Response::new(())))
        }
    }
    let slow = Slow(counted, Box::pin(tokio::time::sleep_until(at)));
    let client = BreakerLayer::new(Breakers::new(breaker())).layer(slow);
    assert!(client.oneshot(Request::new(())).await.is_ok());
    assert!(Instant::now() >= at);
    assert!(polls.load(Ordering::Relaxed) < 5);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_slow_by_the_clock_of_the_runtime() {
    let slow = Breaker::default()
        .opens_at(101, 2, Window::Calls(2))
        .opens_when_slow(100, Span::from_millis(200));
    let breakers = Breakers::new(slow);
    let inner = service_fn(async |request: Request<Duration>| {
        sleep(*request.body()).await;
        io::Result::Ok(Response::new(()))
    });
    let client = BreakerLayer::new(breakers.clone()).layer(inner);
    let call = async |millis| {
        let request = Request::get("http://slow/").body(Duration::from_millis(millis)).unwrap();
        client.clone().oneshot(request).await.unwrap();
        breakers.status("slow")
    };
    for (millis, status) in
        [(201, Status::Closed), (200, Status::Closed), (201, Status::Closed), (201, Status::Open)]
    {
        assert_eq!(call(millis).await, status, "{millis} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn by_status_5xx_and_errors_are_faults_and_all_else_is_good() {
    let opens = async |answer: Result<u16, ()>| {
        let breakers = Breakers::new(Breaker::default().opens_after(1));
        let inner = service_fn(move |_: Request<()>| async move {
            let status = answer.map_err(|()| io::Error::other("refused"))?;
            let status = StatusCode::from_u16(status).unwrap();
            io::Result::Ok(Response::builder().status(status).body(()).unwrap())
        });
        let client = BreakerLayer::new(breakers.clone()).layer(inner);
        let _ = client.oneshot(Request::get("http://a/").body(()).unwrap()).await;
        breakers.status("a") == Status::Open
    };
    for status in [500, 502, 503, 504, 599] {
        assert!(opens(Ok(status)).await, "{status}");
    }
    for status in [200, 301, 400, 401, 404, 409, 429, 499, 501] {
        assert!(!opens(Ok(status)).await, "{status}");
    }
    assert!(opens(Err(())).await);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_for_its_host_and_port_and_no_password_is_told() {
    let key = async |request: Request<()>| {
        let breakers = Breakers::new(breaker());
        let inner = service_fn(async |_: Request<()>| io::Result::Ok(Response::new(())));
        let client = BreakerLayer::new(breakers.clone()).layer(inner);
        client.oneshot(request).await.unwrap();
        breakers.state().circuits[0].key.to_string()
    };
    for (uri, expected) in [
        ("http://example.com/a", "example.com"),
        ("http://Example.COM:80/b", "example.com"),
        ("https://example.com:443/", "example.com"),
        ("https://example.com:80/", "example.com:80"),
        ("http://example.com:8080/", "example.com:8080"),
        ("http://ann:secret@example.com:8080/", "example.com:8080"),
        ("http://[2001:DB8::1]:81/", "[2001:db8::1]:81"),
        ("/path", "-"),
    ] {
        assert_eq!(key(Request::get(uri).body(()).unwrap()).await, expected, "{uri}");
    }
    let named = |host: &str| Request::get("/").header("host", host).body(()).unwrap();
    assert_eq!(key(named("Example.com:8080")).await, "example.com:8080");
    assert_eq!(key(named("ann:secret@example.com")).await, "example.com");
    assert_eq!(key(named("no host")).await, "-");
}

#[tokio::test(start_paused = true)]
async fn errors_say_what_stands_in_the_way_and_those_of_the_service_pass_through() {
    let world = world(breaker());
    let failed = world.call(Ends::Fault).await.unwrap_err();
    assert_eq!(failed.to_string(), "down");
    world.open().await;
    let error: CallError<io::Error> = world.call(Ends::Good).await.unwrap_err();
    assert_eq!(error.to_string(), "the circuit is open, its next probe is in 5s");
    let CallError::NotMade(error) = error else { panic!("{error}") };
    let is_open: fn(&Error) -> bool = Error::is_open;
    assert!(is_open(&error));
}

/// A client that has a throttle refuses calls of its own accord, which says nothing of the host.
#[tokio::test(start_paused = true)]
async fn calls_that_the_client_inside_does_not_make_are_no_faults() {
    let slow = service_fn(async |_: Request<()>| {
        sleep(Duration::from_secs(1)).await;
        Ok::<_, io::Error>(Response::new(()))
    });
    let throttle = Throttle::builder().max_in_flight(1).max_waiting(0).build();
    let breakers = Breakers::new(Breaker::for_services().opens_after(2));
    let client = ClientLayer::new().throttle(throttle).layer(slow);
    let client = BreakerLayer::new(breakers.clone()).layer(client);
    let call = || client.clone().oneshot(Request::get("http://b.internal/").body(()).unwrap());
    let first = tokio::spawn(call());
    tokio::task::yield_now().await;
    for _ in 0..10 {
        let Err(CallError::Failed(CallError::NotMade(error))) = call().await else {
            panic!("one call is underway, and none may wait")
        };
        assert!(error.is_busy());
    }
    assert_eq!(breakers.status("b.internal"), Status::Closed);
    assert!(first.await.unwrap().is_ok());
}
