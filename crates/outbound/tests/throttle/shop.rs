//! Throttles over a store that counts by the timers' own clock, which stands still between events.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tollgate_core::{
    Algorithm, Charge, Clock, Decision, Limit, Limiter, Mode, Receipt, Reply, Span, Store, Tick,
};
use tollgate_memory::Memory;
use tollgate_outbound::Error;

/// The clock of the timers, from a whole day on, so that windows begin where it does.
pub(crate) struct Paused(Instant);

impl Paused {
    pub(crate) fn new() -> Paused {
        Paused(Instant::now())
    }
}

impl Clock for Paused {
    fn now(&self) -> Tick {
        Tick::from_micros(20_000 * 86_400_000_000).after(Span::from(self.0.elapsed()))
    }
}

pub(crate) fn limit(quota: &str, algorithm: Algorithm) -> Limit {
    Limit::builder("test", quota.parse().unwrap()).algorithm(algorithm).build().unwrap()
}

pub(crate) fn bucket(quota: &str) -> Limit {
    limit(quota, Algorithm::TokenBucket)
}

/// A store in this process, by the clock of the timers.
pub(crate) fn memory() -> Arc<Memory> {
    Arc::new(Memory::builder().max_entries(10_000).clock(Paused::new()).build().unwrap())
}

pub(crate) fn limiter(limit: Limit) -> Limiter<Memory> {
    Limiter::over(memory(), [limit])
}

/// The same limits over a store that answers after two milliseconds.
pub(crate) fn away(near: &Limiter<Memory>) -> Limiter<dyn Store> {
    far_away(near, 1)
}

/// The same limits over a store so many milliseconds away, and back.
pub(crate) fn far_away(near: &Limiter<Memory>, way: u64) -> Limiter<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(Away(near.store().clone(), millis(way)));
    Limiter::over(store, near.limits().iter().cloned())
}

/// A store as if over a network.
struct Away(Arc<Memory>, Duration);

impl Store for Away {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        Reply::later(async move {
            sleep(self.1).await;
            let decision = self.0.decide(mode, charges).await;
            sleep(self.1).await;
            decision
        })
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        Reply::later(async move {
            sleep(self.1).await;
            self.0.give(receipt, actual).await
        })
    }
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// When each of many calls went, by its number, in milliseconds since the log was begun.
#[derive(Clone)]
pub(crate) struct Log {
    begun: Instant,
    gone: Arc<Mutex<Vec<(u32, u64)>>>,
}

impl Log {
    pub(crate) fn new() -> Log {
        Log { begun: Instant::now(), gone: Arc::default() }
    }

    pub(crate) fn add(&self, call: u32) {
        let at = u64::try_from(self.begun.elapsed().as_millis()).unwrap();
        self.gone.lock().unwrap().push((call, at));
    }

    pub(crate) fn all(&self) -> Vec<(u32, u64)> {
        self.gone.lock().unwrap().clone()
    }

    pub(crate) fn order(&self) -> Vec<u32> {
        self.all().into_iter().map(|(call, _)| call).collect()
    }

    pub(crate) fn times(&self) -> Vec<u64> {
        self.all().into_iter().map(|(_, at)| at).collect()
    }
}

/// Lets every task run until all wait for something; no time passes.
pub(crate) async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

pub(crate) fn refused(result: Result<impl Sized, Error>) -> Error {
    match result {
        Ok(_) => panic!("it went"),
        Err(error) => error,
    }
}

/// A future that is polled by hand, and how often it was woken.
pub(crate) struct Held<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    wakes: Arc<Wakes>,
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl<T> Held<T> {
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'static) -> Held<T> {
        Held { future: Box::pin(future), wakes: Arc::default() }
    }

    /// A future that has been polled once and waits.
    pub(crate) fn waits(future: impl Future<Output = T> + Send + 'static) -> Held<T> {
        let mut held = Held::new(future);
        assert!(held.poll().is_none(), "it does not wait");
        held
    }

    pub(crate) fn poll(&mut self) -> Option<T> {
        let waker = Waker::from(self.wakes.clone());
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(out) => Some(out),
            Poll::Pending => None,
        }
    }

    pub(crate) fn wakes(&self) -> usize {
        self.wakes.0.load(Ordering::Relaxed)
    }
}
