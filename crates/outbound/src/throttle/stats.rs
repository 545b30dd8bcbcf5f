//! What is counted.

use super::wish::Outcome;
use crate::error::Kind;

/// What a throttle has done since it was made, and what is underway in it.
///
/// Each call that came is counted once: as granted, or by why it did not go, or it still waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls that wait.
    pub waiting: usize,
    /// Permits that are out.
    pub in_flight: usize,
    /// Calls that got a permit.
    pub granted: u64,
    /// Calls that found the line full.
    pub full: u64,
    /// Calls that made room for others.
    pub displaced: u64,
    /// Calls whose deadline was before their turn.
    pub late: u64,
    /// Calls that would have had to wait and were asked not to.
    pub busy: u64,
    /// Calls that cost more than the limits hold.
    pub never: u64,
    /// Calls that came or waited when the throttle was stopped.
    pub stopped: u64,
    /// Calls for which the store could not be asked.
    pub failed: u64,
    /// Calls that were dropped before their turn, or before they heard of it.
    pub left: u64,
}

impl Stats {
    /// Counts a call that has heard what became of it.
    pub(crate) fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Goes(_) => add(&mut self.granted),
            Outcome::Ends(why) => self.refuse(why),
        }
    }

    /// Counts a call that does not go.
    pub(crate) fn refuse(&mut self, why: &Kind) {
        add(match why {
            Kind::Full => &mut self.full,
            Kind::Displaced => &mut self.displaced,
            Kind::Late => &mut self.late,
            Kind::Busy(_) => &mut self.busy,
            Kind::Never => &mut self.never,
            Kind::Stopped => &mut self.stopped,
            _ => &mut self.failed,
        });
    }

    /// Counts a call that is dropped.
    pub(crate) fn leave(&mut self) {
        add(&mut self.left);
    }
}

fn add(count: &mut u64) {
    *count = count.saturating_add(1);
}
