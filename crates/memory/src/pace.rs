//! When the next bit of sweeping is due: a little at a time, paid by the calls that come anyway.

use tollgate_core::{Span, Tick};

use crate::sync::{AtomicU64, Ordering};

/// How long one pass over everything takes, if it is small enough.
const PASS: u64 = Span::from_secs(2).as_micros();

/// A schedule of equal steps.
#[derive(Debug)]
pub(crate) struct Pace {
    due: AtomicU64,
    /// No step more often than this, in microseconds: bounds the share of time that sweeping takes.
    least: u64,
}

impl Pace {
    pub(crate) fn new(least: Span) -> Pace {
        Pace { due: AtomicU64::new(0), least: least.as_micros() }
    }

    /// Whether a step is due.
    #[inline]
    pub(crate) fn is_due(&self, now: Tick) -> bool {
        // Relaxed: whether to step is decided by the exchange in `claim`.
        now.as_micros() >= self.due.load(Ordering::Relaxed)
    }

    /// Claims the steps that are due, of a pass of `steps`: how many. No one else gets the same.
    ///
    /// As many as the time since the last ones has made due, and never more than `most`: what a
    /// silence has left undone beyond them is dropped, so that no call pays for those that did not
    /// come, and busy calls find one step at most.
    pub(crate) fn claim(&self, now: Tick, steps: u64, most: u64) -> u64 {
        let now = now.as_micros();
        let due = self.due.load(Ordering::Relaxed);
        let interval = PASS.checked_div(steps).unwrap_or(PASS).max(self.least);
        // A clock that stepped back far leaves a time that would never come.
        let far = due > now.saturating_add(interval.saturating_add(PASS));
        let late = if far { Some(0) } else { now.checked_sub(due) };
        let Some(late) = late else { return 0 };
        let owed = late.checked_div(interval).unwrap_or(0).saturating_add(1).min(most);
        let after = due.saturating_add(interval.saturating_mul(owed));
        let next = if far || after <= now { now.saturating_add(interval) } else { after };
        let order = Ordering::Relaxed;
        if self.due.compare_exchange(due, next, order, order).is_ok() { owed } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000;

    fn at(micros: u64) -> Tick {
        Tick::from_micros(1_764_000_000_000_000 + micros)
    }

    /// A pace whose first step has been taken, one each millisecond.
    fn begun() -> Pace {
        let pace = Pace::new(Span::from_millis(1));
        assert_eq!(pace.claim(at(0), 1_000_000, 1), 1);
        pace
    }

    #[test]
    fn each_step_is_claimed_once_and_none_before_its_time() {
        let pace = begun();
        for (micros, owed) in [(0, 0), (999, 0), (1_000, 1), (1_000, 0), (1_999, 0), (2_000, 1)] {
            assert_eq!(pace.claim(at(micros), 1_000_000, 8), owed, "after {micros} us");
        }
    }

    #[test]
    fn a_gap_is_made_up_for_in_one_call_up_to_the_most() {
        let pace = begun();
        assert_eq!(pace.claim(at(5 * MILLI), 1_000_000, 8), 5);
        assert_eq!(pace.claim(at(5 * MILLI), 1_000_000, 8), 0);
        assert_eq!(pace.claim(at(3_600_000 * MILLI), 1_000_000, 8), 8);
        assert_eq!(
            pace.claim(at(3_600_000 * MILLI), 1_000_000, 8),
            0,
            "nothing is left of a silence"
        );
        assert_eq!(pace.claim(at(3_600_001 * MILLI), 1_000_000, 8), 1);
    }

    #[test]
    fn a_clock_set_back_far_leaves_no_step_that_never_comes() {
        let pace = begun();
        assert_eq!(pace.claim(Tick::from_micros(7), 1_000_000, 8), 1);
        assert_eq!(pace.claim(Tick::from_micros(7), 1_000_000, 8), 0);
        assert_eq!(pace.claim(Tick::from_micros(7 + MILLI), 1_000_000, 8), 1);
    }
}
