//! Requests that wait for their turn.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use tokio::time::{Instant, sleep};
use tollgate_core::{Algorithm, Queue, Span};
use tollgate_http::{Outcome, RateLimitLayer};
use tollgate_policy::LimitSpec;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::rig::{Answer, Rig, ask, bucket, get, limit, window};

fn queued(name: &str, quota: &str, length: u64) -> LimitSpec {
    limit(name, quota, Algorithm::LeakyBucket(Queue::Length(length)))
}

/// What waits, how many were released and how many left.
#[derive(Clone, Default)]
struct Gauge(Arc<[AtomicUsize; 3]>);

impl Gauge {
    fn on(&self, layer: RateLimitLayer) -> RateLimitLayer {
        let counts = self.0.clone();
        layer.observe(move |outcome| {
            let at = match outcome {
                Outcome::Held => 0,
                Outcome::Released => 1,
                Outcome::Left => 2,
                _ => return,
            };
            counts[at].fetch_add(1, Ordering::SeqCst);
        })
    }

    /// Held, released, left.
    fn read(&self) -> [usize; 3] {
        [0, 1, 2].map(|at| self.0[at].load(Ordering::SeqCst))
    }
}

type Started = Arc<Mutex<Vec<(usize, Duration)>>>;

/// A service that notes which request it got when, since `start`.
fn noting(
    layer: &RateLimitLayer,
    start: Instant,
    started: &Started,
) -> impl Service<Request<()>, Response: Send, Error = Infallible, Future: Send + 'static> + Clone + use<>
{
    let started = started.clone();
    layer.layer(service_fn(move |request: Request<()>| {
        let nth = *request.extensions().get::<usize>().unwrap();
        started.lock().unwrap().push((nth, start.elapsed()));
        async { Ok::<Answer, Infallible>(Response::default()) }
    }))
}

fn nth(nth: usize) -> Request<()> {
    let mut request = get();
    request.extensions_mut().insert(nth);
    request
}

#[tokio::test(start_paused = true)]
async fn requests_start_at_the_rate_in_the_order_they_came() {
    let gauge = Gauge::default();
    let layer = gauge.on(Rig::new().layer([queued("jobs", "10 per second", 5)]));
    let (start, started) = (Instant::now(), Started::default());
    let service = noting(&layer, start, &started);
    let mut asked: Vec<_> = (0..7).map(|n| tokio::spawn(service.clone().oneshot(nth(n)))).collect();
    let refused = asked.pop().unwrap();
    sleep(Duration::from_millis(1)).await;
    assert_eq!(gauge.read(), [5, 0, 0]);
    assert!(refused.is_finished(), "whom the queue has no place for is told at once");
    for answer in asked {
        answer.await.unwrap().unwrap();
    }
    let due: Vec<_> = (0..6).map(|n| (n, ms(100 * u64::try_from(n).unwrap()))).collect();
    assert_eq!(*started.lock().unwrap(), due);
    assert_eq!(gauge.read(), [5, 5, 0]);
}

#[tokio::test(start_paused = true)]
async fn requests_due_within_one_tick_of_the_timers_keep_their_order_and_are_never_early() {
    // Whichever of those due in one tick is looked at first.
    for shuffled in [|waiting: &mut [_]| waiting.reverse(), |_: &mut [_]| {}] {
        let layer = Rig::new().layer([queued("jobs", "7000 per second", 1_000)]);
        let (start, started) = (Instant::now(), Started::default());
        let service = noting(&layer, start, &started);
        let mut waiting = Vec::new();
        for n in 0..1_000 {
            // Looked at once, so that each is charged in its order.
            let mut future = held(service.clone().oneshot(nth(n)));
            if !poll_once(&mut future).await {
                waiting.push(future);
            }
        }
        assert_eq!(waiting.len(), 999);
        shuffled(&mut waiting);
        let tasks: Vec<_> = waiting.into_iter().map(tokio::spawn).collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let started = started.lock().unwrap();
        assert_eq!(started.len(), 1_000);
        for (place, (n, at)) in started.iter().enumerate() {
            assert_eq!(place, *n);
            let due =
                Duration::from_micros((1_000_000 * u64::try_from(place).unwrap()).div_ceil(7_000));
            assert!(*at >= due && *at <= due + Duration::from_millis(2), "{n}: {at:?} for {due:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn with_several_queues_a_request_waits_the_longest_wait() {
    let layer =
        Rig::new().layer([queued("fast", "100 per second", 9), queued("slow", "5 per second", 9)]);
    let start = Instant::now();
    for expected in [0, 200, 400] {
        let began = Instant::now();
        assert_eq!(ask(&layer, 200, get()).await.status, 200);
        assert_eq!(began.elapsed(), Duration::from_millis(expected));
    }
    assert_eq!(start.elapsed(), Duration::from_millis(600));
}

#[tokio::test(start_paused = true)]
async fn the_last_in_the_queue_that_leaves_frees_its_place_and_its_other_charges() {
    let (gauge, rig) = (Gauge::default(), Rig::new());
    let layer =
        gauge.on(rig.layer([queued("jobs", "10 per second", 2), window("all", "50 per minute")]));
    let service = noting(&layer, Instant::now(), &Started::default());
    service.clone().oneshot(nth(0)).await.unwrap();
    for _ in 0..20 {
        let (mut first, mut second) =
            (held(service.clone().oneshot(nth(1))), held(service.clone().oneshot(nth(2))));
        pending_now(&mut first).await;
        pending_now(&mut second).await;
        assert_eq!(ask(&layer, 200, nth(3)).await.status, 429, "the queue is full");
        drop(second);
        settle_down().await;
        drop(first);
        settle_down().await;
    }
    assert_eq!(gauge.read(), [40, 0, 40]);
    let next = get();
    let left = layer.peek(&next, |preview| {
        preview.decision.unwrap().answers().map(|a| a.remaining()).collect::<Vec<_>>()
    });
    assert_eq!(left.await.unwrap(), [1, 48], "without the first, and the next");
}

#[tokio::test(start_paused = true)]
async fn one_in_the_middle_that_leaves_brings_nobody_forward() {
    let layer = Rig::new().layer([queued("jobs", "10 per second", 3)]);
    let (start, started) = (Instant::now(), Started::default());
    let service = noting(&layer, start, &started);
    let mut asked: Vec<_> = (0..4).map(|n| held(service.clone().oneshot(nth(n)))).collect();
    assert!(poll_once(&mut asked[0]).await, "the first goes at once");
    for waiting in &mut asked[1..] {
        pending_now(waiting).await;
    }
    let last = asked.pop().unwrap();
    let middle = asked.pop().unwrap();
    drop(middle);
    settle_down().await;
    let full = ask(&layer, 200, nth(9)).await.status;
    assert_eq!(full, 429, "the place in the middle passes unused");
    asked.pop().unwrap().await.unwrap();
    last.await.unwrap();
    let times: Vec<_> = started.lock().unwrap().clone();
    assert_eq!(times, [(0, ms(0)), (1, ms(100)), (3, ms(300))]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_nobody_looks_at_holds_up_no_other_for_long() {
    let layer = Rig::new().layer([queued("jobs", "10 per second", 3)]);
    let start = Instant::now();
    let service = noting(&layer, start, &Started::default());
    service.clone().oneshot(nth(0)).await.unwrap();
    let mut forgotten = held(service.clone().oneshot(nth(1)));
    pending_now(&mut forgotten).await;
    service.clone().oneshot(nth(2)).await.unwrap();
    assert_eq!(start.elapsed(), ms(200));
    drop(forgotten);
}

#[tokio::test(start_paused = true)]
async fn a_held_request_keeps_nothing_of_the_service() {
    let rig = Rig::new();
    let layer = rig.layer([queued("jobs", "10 per second", 3)]);
    let narrow = tower::limit::ConcurrencyLimitLayer::new(1);
    let inner = narrow.layer(service_fn(|_: Request<()>| async {
        Ok::<Answer, Infallible>(Response::default())
    }));
    let service = layer.layer(inner.clone());
    service.clone().oneshot(get()).await.unwrap();
    let mut waiting = held(service.clone().oneshot(get()));
    pending_now(&mut waiting).await;
    let start = Instant::now();
    inner.oneshot(get()).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO, "the one place of the service is free");
    waiting.await.unwrap();
    assert_eq!(start.elapsed(), ms(100));
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_by_another_limit_never_waits() {
    let rig = Rig::new();
    let layer = rig.layer([queued("jobs", "10 per second", 9), bucket("few", "1 per minute")]);
    ask(&layer, 200, get()).await;
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(ask(&layer, 200, get()).await.status, 429);
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    rig.clock.advance(Span::MINUTE);
    assert_eq!(ask(&layer, 200, get()).await.status, 200);
    assert_eq!(start.elapsed(), Duration::ZERO, "the refused took no places");
}

#[test]
fn outside_a_runtime_nothing_waits() {
    let layer = Rig::new().layer([queued("jobs", "10 per second", 9)]);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut statuses = Vec::new();
    for _ in 0..2 {
        let mut asked = Box::pin(ask(&layer, 200, get()));
        match asked.as_mut().poll(&mut context) {
            std::task::Poll::Ready(told) => statuses.push(told.status),
            std::task::Poll::Pending => panic!("nobody would end the wait"),
        }
    }
    assert_eq!(statuses, [200, 429]);
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn held<F: Future>(future: F) -> Pin<Box<F>> {
    Box::pin(future)
}

/// Whether it is done when it is looked at once.
async fn poll_once<F: Future>(future: &mut Pin<Box<F>>) -> bool {
    std::future::poll_fn(|context| std::task::Poll::Ready(future.as_mut().poll(context).is_ready()))
        .await
}

async fn pending_now<F: Future>(future: &mut Pin<Box<F>>) {
    assert!(!poll_once(future).await);
}

/// Lets the tasks run that give charges back.
async fn settle_down() {
    for _ in 0..5 {
        tokio::task::yield_now().await;
    }
}
