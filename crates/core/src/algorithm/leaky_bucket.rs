//! Leaky bucket as a queue: the token bucket's arithmetic, answering "allowed after a wait".
//!
//! The bucket holds burst and queue; an admitted charge whose debt passes the burst starts when the
//! excess has leaked away. With burst 1, the default, starts are never closer than `floor(P / R)`
//! ticks, also after idleness: constant output.
//!
//! - **Bound**: starts as a token bucket of the burst; admissions as one of burst + queue.
//! - **Worst case**: a wait of `queue × P / R` for the last in the queue.
//! - **Memory**: 16 bytes per key; the waiting itself is the caller's.
//!
//! A waiter that leaves gives its place back only from the tail; from the middle it would break the
//! spacing of those behind it, so its place passes unused.

#![allow(clippy::arithmetic_side_effects, reason = "`Bucket::new` proves 3 × full + rate ≤ 2^53")]

use super::Ruling;
use super::token_bucket::Bucket;

/// Whether a caller can wait for its turn in a queue.
///
/// ```
/// use tollgate_core::algorithm::{Patience, Rule, Ruling, State};
/// use tollgate_core::{Algorithm, Key, Limit, Queue, Quota, Tick};
/// let jobs = Limit::builder("jobs", Quota::per_second(10));
/// let limit = jobs.algorithm(Algorithm::LeakyBucket(Queue::Length(4))).build()?;
/// let Rule::Words(rule) = limit.rule() else { unreachable!("a bucket keeps two words") };
/// let at = limit.moment(Tick::EPOCH, &Key::from("ann"));
/// let first = rule.ask(State::FRESH, at, 1, Patience::Wait).next;
/// assert_eq!(rule.ask(first, at, 1, Patience::Wait).ruling, Ruling::Wait(100_000));
/// assert_eq!(rule.ask(first, at, 1, Patience::Now).ruling, Ruling::Deny(100_000));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Patience {
    /// It waits as long as the decision says.
    #[default]
    Wait,
    /// It cannot: what would have to wait is refused. Rules without a queue do not care.
    Now,
}

impl Bucket {
    /// When a charge that brought the debt to `debt`, above the burst, starts.
    pub(super) fn release(&self, debt: u64) -> Ruling {
        Ruling::Wait((debt - self.burst).div_ceil(self.rate))
    }

    /// Whether charges may have to wait.
    pub(super) fn has_queue(&self) -> bool {
        self.full > self.burst
    }

    /// Whether a charge that brought the debt to `debt_then` is the last in the queue: what has leaked
    /// since is then all that is missing.
    pub(super) fn is_tail(&self, debt_then: u64, debt_now: u64, leaked_since: u64) -> bool {
        debt_now.saturating_add(leaked_since) == debt_then
    }
}
