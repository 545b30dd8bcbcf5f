//! One script call, by its hash or by its text.

use core::sync::atomic::{AtomicU64, Ordering};

use redis::Value;
use tokio::time::Instant;
use tollgate_core::Tick;

use crate::fault::{Class, Fault};
use crate::key::Prefix;
use crate::link::{Link, slot};
use crate::request::Request;
use crate::stats::Counters;

/// Whoever calls scripts over a link.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) link: Link,
    pub(crate) counters: Counters,
    /// What every key begins with.
    pub(crate) prefix: Prefix,
    /// What a server's clock showed last.
    pub(crate) told: Told,
    /// What the server's clock is taken to show.
    #[cfg(test)]
    pub(crate) clock: Option<tollgate_core::ManualClock>,
}

/// The instant of a reply, to guess that of the next from. The epoch before any.
#[derive(Debug, Default)]
pub(crate) struct Told(AtomicU64);

impl Told {
    pub(crate) fn now(&self) -> Tick {
        // Relaxed, both: the word is the whole truth, and an old one costs a call.
        Tick::from_micros(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn tell(&self, now: Tick) {
        self.0.store(now.as_micros(), Ordering::Relaxed);
    }
}

impl Caller {
    /// Runs a script; by its text, which the server then keeps, if it does not know the hash.
    pub(crate) async fn ask(&self, request: &Request, deadline: Instant) -> Result<Value, Fault> {
        let began = Instant::now();
        let result = self.run(request, deadline).await;
        self.counters.called(began.elapsed(), result.as_ref().err());
        result
    }

    async fn run(&self, request: &Request, deadline: Instant) -> Result<Value, Fault> {
        let Request { script, keys, packed, .. } = request;
        let slot = slot(keys.first().map_or(&[][..], |key| key.as_bytes()));
        #[cfg(test)]
        if let Some(clock) = &self.clock {
            let command = script.at(tollgate_core::Clock::now(clock), keys, packed);
            return self.link.call(slot, &command, deadline).await;
        }
        match self.link.call(slot, &script.by_hash(keys, packed), deadline).await {
            // It did not run, so that it may be run.
            Err(fault) if fault.class() == Class::NoScript => {
                self.link.call(slot, &script.by_text(keys, packed), deadline).await
            }
            other => other,
        }
    }
}
