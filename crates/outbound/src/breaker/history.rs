//! How many calls a place took of late, and what share of the next ones to drop.

use std::mem;

use tollgate_core::{Span, Tick};

const SLICES: u64 = 12;

/// When to drop: settings alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shedding {
    /// K, in hundredths.
    pub(super) percent: u64,
    pub(super) window: Span,
}

/// Calls that ended in the window, in twelve slices of it.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    newest: u64,
    /// The newest first.
    slices: [Counts; 12],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Calls that were attempted: those that ended, and those dropped here.
    pub(super) requests: u64,
    /// Those that the place took.
    pub(super) accepts: u64,
}

impl Shedding {
    /// Whether to drop the next call, with the probability
    /// `max(0, (requests - K * accepts) / (requests + 1))`; `draw` is any number, evenly drawn.
    pub(super) fn drops(self, counts: Counts, draw: u64) -> bool {
        let (over, all) = self.share(counts);
        // A number below `all`, as evenly drawn as `draw`.
        (u128::from(draw) * all) >> 64 < over
    }

    /// The probability as a fraction.
    fn share(self, Counts { requests, accepts }: Counts) -> (u128, u128) {
        let taken = u128::from(accepts) * u128::from(self.percent);
        let over = (u128::from(requests) * 100).saturating_sub(taken);
        // Counts stay below 2^57, so that neither product with `draw` nor this one overflows.
        (over, (u128::from(requests) + 1) * 100)
    }

    /// The probability in percent, rounded down.
    pub(super) fn percent_dropped(self, counts: Counts) -> u8 {
        let (over, all) = self.share(counts);
        u8::try_from(over * 100 / all).unwrap_or(100)
    }

    fn slice(self, now: Tick) -> u64 {
        now.as_micros() / (self.window.as_micros() / SLICES).max(1)
    }
}

impl History {
    pub(super) fn counts(&self, shedding: Shedding, now: Tick) -> Counts {
        let passed = shedding.slice(now).saturating_sub(self.newest);
        let recent = usize::try_from(SLICES.saturating_sub(passed)).unwrap_or(0);
        self.slices.iter().take(recent).fold(Counts::default(), |sum, slice| Counts {
            requests: sum.requests + slice.requests,
            accepts: sum.accepts + slice.accepts,
        })
    }

    pub(super) fn add(&mut self, shedding: Shedding, now: Tick, counts: Counts) {
        self.move_to(shedding.slice(now));
        let [newest, ..] = &mut self.slices;
        newest.requests += counts.requests;
        newest.accepts += counts.accepts;
    }

    fn move_to(&mut self, slice: u64) {
        if slice.saturating_sub(self.newest) >= SLICES {
            self.slices = Default::default();
            self.newest = slice;
        }
        while self.newest < slice {
            self.slices.rotate_right(1);
            let [newest, ..] = &mut self.slices;
            mem::take(newest);
            self.newest += 1;
        }
    }
}

#[cfg(test)]
mod tests;
