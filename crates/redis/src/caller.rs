//! One script call, by its hash or by its text.

use redis::Value;
use tokio::time::Instant;

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
    /// What the server's clock is taken to show.
    #[cfg(test)]
    pub(crate) clock: Option<tollgate_core::ManualClock>,
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
        let Request { script, keys, packed } = request;
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
