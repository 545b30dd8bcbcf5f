//! Sliding log: the time of every charge, and so exact.
//!
//! State: charges as `(time, cost)`, oldest first. A charge counts in `(now − W, now]`: at an age of
//! exactly W it no longer does.
//!
//! - **Bound**: at most L in any span of W ticks. Nothing stricter exists.
//! - **Worst case**: the whole of L at once, every W.
//! - **Memory**: 16 bytes per charge in the window, at most L entries; L is at most 10,000.

#![allow(
    clippy::arithmetic_side_effects,
    reason = "`SlidingLog::new` bounds the limit to 10,000 \
    and what counts to twice that; instants are at most 2^53"
)]

use alloc::collections::VecDeque;

use super::fixed_window::replace;
use super::{Charged, Moment, Ruling, State, Step};

/// An exact log over `window` ticks that admits `limit`.
///
/// A charge counts until it is exactly one window old.
///
/// ```
/// use tollgate_core::algorithm::{Log, Moment, Rule, Ruling};
/// use tollgate_core::{Algorithm, Key, Limit, Quota, Tick};
/// let reset = Limit::builder("reset", Quota::per_minute(1));
/// let limit = reset.algorithm(Algorithm::SlidingLog).build()?;
/// let Rule::Log(rule) = limit.rule() else { unreachable!("this algorithm keeps a log") };
/// let (mut log, at) = (Log::default(), limit.moment(Tick::EPOCH, &Key::from("ann")));
/// rule.record(&mut log, at, 1);
/// assert_eq!(rule.ask(&log, at, 1).ruling, Ruling::Deny(60_000_000));
/// let later = Moment { now: at.now + 60_000_000, ..at };
/// assert_eq!(rule.ask(&log, later, 1).ruling, Ruling::Allow);
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlidingLog {
    pub(super) limit: u64,
    pub(super) window: u64,
    pub(super) far: u64,
}

/// The charges of one key, lent by a store. Empty when it owes nothing.
///
/// Each entry carries the running sum through itself, so that what counts, and when enough of it has
/// left, is found by binary search: a refusal costs `O(log L)` and writes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// `(tick, running sum of costs)`, both strictly rising.
    charges: VecDeque<(u64, u64)>,
    /// The running sum before the first entry.
    dropped: u64,
}

impl Log {
    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.charges.capacity() * size_of::<(u64, u64)>()
    }

    /// Whether it holds no charge.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.charges.is_empty()
    }

    fn newest(&self) -> u64 {
        self.charges.back().map_or(0, |(time, _)| *time)
    }

    fn total(&self) -> u64 {
        self.charges.back().map_or(self.dropped, |(_, sum)| *sum)
    }

    /// The running sum before entry `index`.
    fn sum_before(&self, index: usize) -> u64 {
        let before = index.checked_sub(1).and_then(|i| self.charges.get(i));
        before.map_or(self.dropped, |(_, sum)| *sum)
    }

    /// Rewrites every entry as `(time, cost)` and drops those for which `change` gives `None`.
    fn rewrite(&mut self, mut change: impl FnMut(u64, u64) -> Option<(u64, u64)>) {
        let (mut before, mut sum) = (self.dropped, 0);
        self.dropped = 0;
        self.charges.retain_mut(|entry| {
            let cost = entry.1 - before;
            before = entry.1;
            let Some((time, cost)) = change(entry.0, cost) else { return false };
            sum += cost;
            *entry = (time, sum);
            true
        });
    }
}

impl SlidingLog {
    /// The largest limit, so that one key stays small.
    pub const MOST: u64 = 10_000;

    /// A log, or `None` when the limit passes 10,000 or the window 2^51 ticks. `minute` is 60 s in
    /// ticks.
    pub(crate) fn new(limit: u64, window: u64, minute: u64) -> Option<SlidingLog> {
        (limit <= SlidingLog::MOST && window <= 1 << 51).then(|| SlidingLog {
            limit,
            window,
            far: minute.max(window),
        })
    }

    /// What becomes of a charge of `cost`; the log is only read.
    ///
    /// `next` in the step sums up the log afterwards: `(count, newest time)`.
    #[must_use]
    pub fn ask(&self, log: &Log, at: Moment, cost: u64) -> Step {
        let newest = log.newest();
        let count = self.count(log, at.now);
        if cost == 0 {
            return Step { ruling: Ruling::Allow, next: State(count, newest) };
        }
        if cost > self.limit {
            return Step { ruling: Ruling::Never, next: State(count, newest) };
        }
        if count + cost <= self.limit {
            let time = newest.max(at.now);
            return Step { ruling: Ruling::Allow, next: State(count + cost, time) };
        }
        let wait = self.wait(log, at.now, count + cost - self.limit);
        let shift = self.shift(log, at.now);
        Step { ruling: Ruling::Deny(wait - shift), next: State(count, newest - shift) }
    }

    /// Writes down an admitted charge and drops what has left the window.
    pub fn record(&self, log: &mut Log, at: Moment, cost: u64) {
        if cost == 0 {
            return;
        }
        let time = log.newest().max(at.now);
        let sum = log.total() + cost;
        while let Some((_, sum)) = log.charges.pop_front_if(|(t, _)| *t + self.window <= time) {
            log.dropped = sum;
        }
        match log.charges.back_mut() {
            Some(last) if last.0 == time => last.1 = sum,
            _ => log.charges.push_back((time, sum)),
        }
    }

    /// The one write of a refusal: once the newest charge lies so far ahead that the clock must have
    /// stepped back, every time is shifted so that the newest is now (or, next to the epoch, so that
    /// none that counts falls before it). Whether it did.
    pub fn re_anchor(&self, log: &mut Log, at: Moment) -> bool {
        let shift = self.shift(log, at.now);
        if shift == 0 {
            return false;
        }
        // What counts no more may fall before the epoch, and goes.
        log.rewrite(|time, cost| Some((time.checked_sub(shift)?, cost)));
        true
    }

    /// The largest cost that would pass at a moment.
    #[must_use]
    pub fn room(&self, log: &Log, at: Moment) -> u64 {
        self.limit.saturating_sub(self.count(log, at.now))
    }

    /// Ticks until nothing counts any more, if nothing more is charged.
    #[must_use]
    pub fn reset_after(&self, log: &Log, at: Moment) -> u64 {
        self.reset_of(State(self.count(log, at.now), log.newest()), at)
    }

    /// Replaces a charge by what it turned out to cost; 0 takes it out. What has left the window stays
    /// as it is.
    pub fn give(&self, log: &mut Log, at: Moment, charged: &Charged, actual: u64) {
        let State(_, charged_at) = charged.left;
        let counting = self.first_counting(log, at.now);
        let Ok(index) = log.charges.binary_search_by_key(&charged_at, |(time, _)| *time) else {
            return;
        };
        if index < counting {
            return;
        }
        let cost = log.sum_before(index + 1) - log.sum_before(index);
        let others = log.total() - log.sum_before(counting) - cost;
        let most = (2 * self.limit).saturating_sub(others);
        let settled = replace(cost, charged.cost, actual, most);
        log.rewrite(|time, cost| match time == charged_at {
            true if settled == 0 => None,
            true => Some((time, settled)),
            false => Some((time, cost)),
        });
    }

    /// What a summed-up log leaves free: `(count, newest)` as [`SlidingLog::ask`] gives it.
    pub(crate) fn room_of(&self, summary: State) -> u64 {
        self.limit.saturating_sub(summary.0)
    }

    /// Ticks until a summed-up log is empty again.
    pub(crate) fn reset_of(&self, summary: State, at: Moment) -> u64 {
        let State(count, newest) = summary;
        if count == 0 { 0 } else { (newest + self.window).saturating_sub(at.now) }
    }

    /// The first entry that counts at `now`, or at the newest charge if the clock stepped back.
    fn first_counting(&self, log: &Log, now: u64) -> usize {
        let present = now.max(log.newest());
        log.charges.partition_point(|(time, _)| time + self.window <= present)
    }

    fn count(&self, log: &Log, now: u64) -> u64 {
        log.total() - log.sum_before(self.first_counting(log, now))
    }

    /// How far a refusal shifts every time back: not at all, unless the newest lies too far ahead.
    fn shift(&self, log: &Log, now: u64) -> u64 {
        let back = log.newest().saturating_sub(now);
        if back <= self.far {
            return 0;
        }
        let oldest = log.charges.get(self.first_counting(log, now));
        oldest.map_or(0, |(time, _)| back.min(*time))
    }

    /// Ticks until `excess` of what counts has left the window.
    fn wait(&self, log: &Log, now: u64, excess: u64) -> u64 {
        let enough = log.sum_before(self.first_counting(log, now)) + excess;
        let leaves = log.charges.partition_point(|(_, sum)| *sum < enough);
        log.charges.get(leaves).map_or(0, |(time, _)| time + self.window - now)
    }
}
