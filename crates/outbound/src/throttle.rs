//! Waiting instead of refusing.

mod ask;
mod books;
mod builder;
mod call;
mod driver;
mod forecast;
mod full;
mod line;
mod lines;
mod permit;
mod priority;
mod queue;
mod reservation;
mod rules;
mod shared;
mod ticket;
mod wish;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tollgate_core::{Key, Limiter, Store};

pub use builder::ThrottleBuilder;
pub use call::Call;
pub use full::Full;
pub use permit::Permit;
pub use priority::Priority;
pub use reservation::Reservation;
use shared::Shared;

use crate::error::Error;

/// Lets calls go as fast as limits allow, and has the others wait their turn.
///
/// Clones share the lines.
#[derive(Clone)]
pub struct Throttle {
    shared: Arc<Shared>,
}

impl Throttle {
    /// A throttle of these limits.
    #[must_use]
    pub fn over(limiter: impl Into<Limiter<dyn Store>>) -> Throttle {
        Throttle::builder().limits(limiter).build()
    }

    /// A throttle with bounds of its own.
    pub fn builder() -> ThrottleBuilder {
        ThrottleBuilder::new()
    }

    /// A call under `key`, to be described further.
    pub fn call<'k>(&self, key: impl Into<Key<'k>>) -> Call {
        Call::new(self, key.into())
    }

    /// Waits until a call under `key` may go: [`Call::acquire`].
    ///
    /// # Errors
    /// As [`Call::acquire`].
    ///
    /// # Panics
    /// As [`Call::acquire`].
    pub async fn acquire<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Result<Permit, Error> {
        self.call(key).cost(cost).acquire().await
    }

    /// Goes if it may at once: [`Call::try_acquire`].
    ///
    /// # Errors
    /// As [`Call::try_acquire`].
    ///
    /// # Panics
    /// As [`Call::try_acquire`].
    pub async fn try_acquire<'k>(
        &self,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> Result<Permit, Error> {
        self.call(key).cost(cost).try_acquire().await
    }

    /// Takes a place in the line of `key` now: [`Call::reserve`].
    ///
    /// # Errors
    /// As [`Call::reserve`].
    ///
    /// # Panics
    /// As [`Call::reserve`].
    pub fn reserve<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Result<Reservation, Error> {
        self.call(key).cost(cost).reserve()
    }

    /// Runs a job when its turn comes, in the one line of all jobs that are run so: [`Call::run`].
    ///
    /// # Errors
    /// As [`Call::run`].
    ///
    /// # Panics
    /// As [`Call::run`].
    pub async fn run<F: Future>(
        &self,
        priority: Priority,
        cost: u64,
        job: impl FnOnce() -> F,
    ) -> Result<F::Output, Error> {
        self.call("").priority(priority).cost(cost).run(job).await
    }

    /// Changes how many calls of each key may be underway at once: `None` for any number. Raised, as
    /// many as fit now go at once; lowered, those that are underway run to their end, and nobody goes
    /// before there are fewer.
    pub fn set_max_in_flight(&self, calls: Option<u32>) {
        self.shared.with(|lines, now| lines.set_max_in_flight(calls, now));
    }

    /// Takes no more calls and waits until those that have come have gone and ended. Dropped in the
    /// middle, it takes no more calls all the same.
    pub async fn stop(&self) {
        self.shared.with(|lines, _| lines.close());
        self.drained().await;
    }

    /// Takes no more calls, ends those that wait, and waits until those that are underway have ended.
    pub async fn stop_now(&self) {
        self.shared.with(|lines, now| {
            lines.close();
            lines.clear(now);
        });
        self.drained().await;
    }

    async fn drained(&self) {
        loop {
            let drained = self.shared.drained.notified();
            if self.shared.with(|lines, _| lines.is_drained()) {
                return;
            }
            drained.await;
        }
    }
}

impl fmt::Debug for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}
