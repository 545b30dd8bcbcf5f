//! Waiting instead of refusing: lines by key, and who in them goes when.
//!
//! A [`Throttle`] has one line for each key. A call goes when it is the first of its line, a permit is
//! free (`max_in_flight`, permits shared with other processes) and all limits charge it. Only the first
//! of a line asks the store, and only when it may have changed its mind: so the order is strict, a call
//! that leaves has charged nothing, and a store hears one question for each call that goes, and one more
//! where others have charged it meanwhile.
//!
//! # How the waiting works
//!
//! A call is in one of these states; each change happens under the lock of its throttle.
//!
//! | state | comes to it | what dropping the call does then |
//! |---|---|---|
//! | not come | the future is made | nothing |
//! | held outside | the line is full, [`Full::Hold`] | it is forgotten |
//! | in the line | there is room | it leaves; if the store has charged for it, the charge goes to the next one of the same cost, or back |
//! | told | it may go, or does not | its permit is freed and its charge given back, as the future has not heard of either |
//! | heard | its future is polled | its [`Permit`] is dropped, which frees it |
//!
//! - **Place.** A call's place is the time it came less the head start of its priority; calls of one
//!   place go in the order they came. So whoever waits is passed by a bounded number of others.
//! - **The first asks.** One question is underway for a line at a time, a permit is kept for it, and it
//!   is asked by the *driver*, a task that lives while anybody waits there. A refusal holds for the span
//!   the store said, for whatever costs no less; after it the driver asks again. A timer that ends early
//!   only means one more question, one that ends late a late call.
//! - **Nobody passes.** While anybody waits, who comes later waits behind or, if it does not wait, is
//!   refused.
//! - **Who is woken by what.** A call, by what it is told, once. The driver, when there is something to
//!   ask that it does not sleep for already: a permit came back or was added, the first has left or a
//!   cheaper one has come before it, something was given back to the store, the line is empty. Nobody
//!   else is ever woken.
//! - **Where the store is in this process**, whoever comes to an empty line is decided at once, without
//!   a task and without a place in it.
//!
//! Whenever the lock is let go: nobody waits who may go without a question while a permit is free; if the
//! first is to be asked for, its driver is awake or about to be started by the call itself; permits that
//! are out and permits that are free are together as many as there are, if more are not out since the
//! number was lowered. If the driver is lost with its runtime, the calls that wait are woken and the
//! first of them to be polled starts another.
//!
//! Whoever is told that it may go and is not polled keeps its permit, as everywhere in async Rust. Of a
//! call through several throttles ([`Call::and`]) that also holds up those behind it.

mod again;
mod alarm;
mod ask;
mod books;
mod builder;
mod call;
mod caught;
mod driver;
mod event;
mod forecast;
mod full;
mod keeper;
mod lease;
mod line;
mod lines;
mod paid;
mod part;
mod permit;
mod places;
mod priority;
mod queue;
mod reservation;
mod rules;
mod shared;
mod stage;
mod stats;
mod step;
mod ticket;
mod wish;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tollgate_core::{Key, Limiter, Store};

pub use builder::ThrottleBuilder;
pub use call::Call;
pub use event::Event;
pub use full::Full;
use lines::Lines;
pub use permit::Permit;
pub use priority::Priority;
pub use reservation::Reservation;
use shared::Shared;
pub use stats::Stats;

use crate::error::Error;

/// Lets calls go as fast as limits allow, and has the others wait their turn.
///
/// Clones share the lines.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tollgate_core::{Limit, Limiter};
/// use tollgate_memory::Memory;
/// use tollgate_outbound::Throttle;
///
/// let limiter = Limiter::<Memory>::new([Limit::new("api", "20/s burst 1".parse()?)?]);
/// let throttle = Throttle::over(limiter);
/// let first = throttle.acquire("example.com", 1).await?;
/// assert!(throttle.try_acquire("example.com", 1).await.unwrap_err().is_busy());
/// assert!(throttle.try_acquire("example.org", 1).await.is_ok());
/// let hasty = throttle.call("example.com").within(Duration::from_millis(1)).acquire().await;
/// assert!(hasty.unwrap_err().is_late());
/// let second = throttle.acquire("example.com", 1).await?; // 50 ms after the first
/// # drop((first, second));
/// # Ok(())
/// # }
/// ```
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
        Call::new(self, Arc::new(key.into().into()))
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
        let call = Call::new(self, Arc::clone(&self.shared.common));
        call.priority(priority).cost(cost).run(job).await
    }

    /// Changes how many calls of each key may be underway at once: `None` for any number. Raised, as
    /// many as fit now go at once; lowered, those that are underway run to their end, and nobody goes
    /// before there are fewer.
    pub fn set_max_in_flight(&self, calls: Option<u32>) {
        self.shared.with(|lines| lines.set_max_in_flight(calls));
    }

    /// What it has done, and what is underway in it.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.with(|lines| lines.stats())
    }

    /// Takes no more calls and waits until those that have come have gone and ended. Dropped in the
    /// middle, it takes no more calls all the same.
    pub async fn stop(&self) {
        self.shared.with(Lines::close);
        self.drained().await;
    }

    /// Takes no more calls, ends those that wait, and waits until those that are underway have ended.
    pub async fn stop_now(&self) {
        self.shared.with(|lines| {
            lines.close();
            lines.clear();
        });
        self.drained().await;
    }

    async fn drained(&self) {
        loop {
            let drained = self.shared.drained.notified();
            if self.shared.with(|lines| lines.is_drained()) {
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
