//! Requests at an even pace, whatever becomes of them, and what became of each.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tollgate_core::{Charge, Limit, Mode, OnError, Quota, Source, Store, Tick};
use tollgate_redis::Redis;

/// Among how many instances limits are shared out here.
pub(crate) const REPLICAS: NonZeroU32 = NonZeroU32::new(2).unwrap();

/// Keys that are asked for far more often than they are admitted.
pub(crate) const HOT: u32 = 4;

/// The limits that requests are charged against.
#[derive(Debug)]
pub(crate) struct Limits {
    /// 20/s, of a few keys that want a hundred times as much.
    pub(crate) hot: Limit,
    /// A second one of the same keys, which is never exhausted.
    pub(crate) total: Limit,
    /// 100/d, of a key per request: what was charged is still there at the end, to be counted.
    pub(crate) cold: Limit,
}

impl Limits {
    pub(crate) fn new(on_error: OnError) -> Limits {
        let limit = |name, quota| Limit::builder(name, quota).on_error(on_error).build().unwrap();
        Limits {
            hot: limit("hot", Quota::per_second(20)),
            total: limit("total", Quota::per_hour(500_000)),
            cold: limit("cold", Quota::per_day(100)),
        }
    }
}

/// What a request is charged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Two limits of this hot key.
    Hot(u32),
    /// A key of its own.
    Cold(u32),
    /// A hot key and one of its own, which lie in two slots.
    Both(u32, u32),
}

/// A request that was decided, or was not.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) began: Instant,
    pub(crate) took: Duration,
    pub(crate) what: What,
    pub(crate) end: End,
    /// What each charge was told: by whom, when by that one's clock, and whether it was charged.
    pub(crate) told: Vec<(Source, Tick, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Allowed,
    Denied,
    /// An error after which the charge may have been made.
    Late,
    /// An error after which it was not.
    Unavailable,
}

impl Asked {
    pub(crate) fn ended(&self) -> Instant {
        self.began + self.took
    }

    /// Whether the servers decided all of it.
    pub(crate) fn is_shared(&self) -> bool {
        !self.told.is_empty() && self.told.iter().all(|(source, ..)| *source == Source::Store)
    }
}

/// Requests that keep coming until this is dropped.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    asked: UnboundedReceiver<Asked>,
}

impl Load {
    /// `rate` requests a second, in whole thousands; one in four across slots if `across`.
    pub(crate) fn start(store: Arc<Redis>, limits: Arc<Limits>, rate: u32, across: bool) -> Load {
        let (sender, asked) = unbounded_channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        tokio::spawn(async move {
            let mut tick = interval(Duration::from_millis(1));
            // What a stalled machine did not send is not sent at once later.
            tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
            let mut number = 0;
            while !stopped.load(Ordering::Relaxed) {
                tick.tick().await;
                for _ in 0..rate / 1_000 {
                    number += 1;
                    let what = match number % 4 {
                        0 if across => What::Both(number / 4 % HOT, number),
                        0 | 2 => What::Hot(number / 2 % HOT),
                        _ => What::Cold(number),
                    };
                    let (store, limits) = (Arc::clone(&store), Arc::clone(&limits));
                    tokio::spawn(ask(store, limits, what, sender.clone()));
                }
            }
        });
        Load { stop, asked }
    }

    /// Stops, and waits for all that were sent.
    pub(crate) async fn stop(mut self) -> Vec<Asked> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        while let Some(asked) = self.asked.recv().await {
            all.push(asked);
        }
        all.sort_by_key(|asked| asked.began);
        all
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

async fn ask(store: Arc<Redis>, limits: Arc<Limits>, what: What, sender: UnboundedSender<Asked>) {
    let name = |letter: char, number: u32| format!("{letter}{number}");
    let (hot, cold) = match what {
        What::Hot(hot) => (name('h', hot), String::new()),
        What::Cold(cold) => (String::new(), name('c', cold)),
        What::Both(hot, cold) => (name('h', hot), name('b', cold)),
    };
    let mut charges = Vec::with_capacity(3);
    if !hot.is_empty() {
        charges.push(Charge::new(&limits.hot, hot.as_str()));
        charges.push(Charge::new(&limits.total, hot.as_str()));
    }
    if !cold.is_empty() {
        charges.push(Charge::new(&limits.cold, cold.as_str()));
    }
    let began = Instant::now();
    let decision = store.decide(Mode::Charge, &charges).await;
    let took = began.elapsed();
    let (end, told) = match decision {
        Ok(decision) => {
            let end = if decision.is_allowed() { End::Allowed } else { End::Denied };
            let told = decision.answers().map(|a| (a.source(), a.now(), a.charged() > 0));
            (end, told.collect())
        }
        Err(error) if error.is_timeout() => (End::Late, Vec::new()),
        Err(_) => (End::Unavailable, Vec::new()),
    };
    // Whoever receives waits for the last of these.
    let _ = sender.send(Asked { began, took, what, end, told });
}

/// How long a span is in milliseconds, for people.
pub(crate) fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
