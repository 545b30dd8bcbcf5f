//! Throttles over a store that counts by the timers' own clock, which stands still between events.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tollgate_core::{Algorithm, Clock, Limit, Limiter, Span, Store, Tick};
use tollgate_memory::Memory;
use tollgate_outbound::{Error, Throttle};

/// The clock of the timers, from a whole day on, so that windows begin where it does.
pub struct Paused(Instant);

impl Paused {
    pub fn new() -> Paused {
        Paused(Instant::now())
    }
}

impl Clock for Paused {
    fn now(&self) -> Tick {
        Tick::from_micros(20_000 * 86_400_000_000).after(Span::from(self.0.elapsed()))
    }
}

pub fn limit(quota: &str, algorithm: Algorithm) -> Limit {
    Limit::builder("test", quota.parse().unwrap()).algorithm(algorithm).build().unwrap()
}

pub fn bucket(quota: &str) -> Limit {
    limit(quota, Algorithm::TokenBucket)
}

/// A store in this process, by the clock of the timers.
pub fn memory() -> Arc<Memory> {
    Arc::new(Memory::builder().max_entries(10_000).clock(Paused::new()).build().unwrap())
}

pub fn limiter(limit: Limit) -> Limiter<Memory> {
    Limiter::over(memory(), [limit])
}

/// The same limits over a store that is not known to be in this process, and answers after a while.
pub fn away(limit: Limit) -> Limiter<dyn Store> {
    Limiter::over(Arc::new(Away(memory(), Duration::from_millis(1))) as Arc<dyn Store>, [limit])
}

/// A store that answers as if over a network.
pub struct Away(pub Arc<Memory>, pub Duration);

impl Store for Away {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: tollgate_core::Mode,
        charges: &'a [tollgate_core::Charge<'l, 'a>],
    ) -> tollgate_core::Reply<'a, tollgate_core::Decision<'l>> {
        tollgate_core::Reply::later(async move {
            tokio::time::sleep(self.1 / 2).await;
            let decision = self.0.decide(mode, charges).await;
            tokio::time::sleep(self.1 / 2).await;
            decision
        })
    }

    fn give<'a>(
        &'a self,
        receipt: tollgate_core::Receipt<'a>,
        actual: u64,
    ) -> tollgate_core::Reply<'a, ()> {
        tollgate_core::Reply::later(async move {
            tokio::time::sleep(self.1 / 2).await;
            self.0.give(receipt, actual).await
        })
    }
}

pub fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// When each of many calls went, by its number, in milliseconds since the log was begun.
#[derive(Clone)]
pub struct Log {
    begun: Instant,
    gone: Arc<Mutex<Vec<(u32, u64)>>>,
}

impl Log {
    pub fn new() -> Log {
        Log { begun: Instant::now(), gone: Arc::default() }
    }

    pub fn add(&self, call: u32) {
        let at = u64::try_from(self.begun.elapsed().as_millis()).unwrap();
        self.gone.lock().unwrap().push((call, at));
    }

    pub fn all(&self) -> Vec<(u32, u64)> {
        self.gone.lock().unwrap().clone()
    }

    pub fn order(&self) -> Vec<u32> {
        self.all().into_iter().map(|(call, _)| call).collect()
    }

    pub fn times(&self) -> Vec<u64> {
        self.all().into_iter().map(|(_, at)| at).collect()
    }
}

/// Lets every task run until all wait for something.
pub async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

pub fn refused(result: Result<impl Sized, Error>) -> Error {
    match result {
        Ok(_) => panic!("it went"),
        Err(error) => error,
    }
}

/// How much of a key is left.
pub fn left(throttle: &Throttle, limiter: &Limiter<Memory>, key: &str) -> u64 {
    let _ = throttle;
    limiter.peek(key, 0).remaining()
}
