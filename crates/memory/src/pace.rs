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

    /// Claims the step that is due, of a pass of `steps`; no one else gets the same. After a silence
    /// one pass is owed at most.
    pub(crate) fn claim(&self, now: Tick, steps: u64) -> bool {
        let now = now.as_micros();
        let due = self.due.load(Ordering::Relaxed);
        let interval = PASS.checked_div(steps).unwrap_or(PASS).max(self.least);
        let pass = interval.saturating_mul(steps);
        // A clock that stepped back far leaves a time that would never come.
        let far = due > now.saturating_add(pass.saturating_add(PASS));
        let next = if far { now } else { due.max(now.saturating_sub(pass)) };
        (far || now >= due)
            && self
                .due
                .compare_exchange(
                    due,
                    next.saturating_add(interval),
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok()
    }
}
