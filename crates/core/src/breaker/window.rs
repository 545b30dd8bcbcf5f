//! Which results a closed circuit is judged by.

use alloc::collections::VecDeque;
use core::mem;

use super::Report;
use crate::clock::{Span, Tick};

/// Parts of a window of time; it moves on by one of them at a time.
const SLICES: u64 = 10;

/// Which results are looked at: those of a time, or the last so many.
///
/// ```
/// use tollgate_core::Span;
/// use tollgate_core::breaker::Window;
/// assert_eq!(Window::from(Span::MINUTE), Window::Time(Span::MINUTE));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Those of the last span. It moves on in tenths: it holds between nine tenths of the span and
    /// the whole, and never a result that is older.
    Time(Span),
    /// The last so many, 1 to 1,024, however old they are: calls have to be frequent, or faults of
    /// last week count.
    Calls(u16),
}

impl Window {
    /// The largest window of calls.
    pub const MOST_CALLS: u16 = 1_024;

    /// The most results it can hold, if it has a most.
    pub(super) fn holds(self) -> Option<u32> {
        match self {
            Window::Time(_) => None,
            Window::Calls(calls) => Some(calls.clamp(1, Window::MOST_CALLS).into()),
        }
    }
}

impl From<Span> for Window {
    fn from(span: Span) -> Window {
        Window::Time(span)
    }
}

/// How many results a window holds, and of which kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All of them.
    pub calls: u64,
    /// The faults.
    pub faults: u64,
    /// The slow ones, faults or not.
    pub slow: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Brisk,
    Slow,
}

/// A result that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    fault: bool,
    slow: bool,
}

impl Seen {
    pub(super) fn of(report: Report, pace: Pace) -> Option<Seen> {
        let slow = pace == Pace::Slow;
        match report {
            Report::Good => Some(Seen { fault: false, slow }),
            Report::Fault => Some(Seen { fault: true, slow }),
            Report::Ignored => None,
        }
    }

    pub(super) fn is_fault(self) -> bool {
        self.fault
    }

    pub(super) fn is_well(self) -> bool {
        !self.fault && !self.slow
    }
}

/// The results in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Results {
    Slices {
        /// The number of the newest slice since the epoch.
        newest: u64,
        /// The newest first.
        slices: [Slice; 10],
    },
    /// The newest last.
    Last(VecDeque<Seen>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slice {
    calls: u32,
    faults: u32,
    slow: u32,
}

impl Default for Results {
    fn default() -> Results {
        Results::Slices { newest: 0, slices: Default::default() }
    }
}

impl Results {
    /// Adds a result. Under a window of another kind than the last one's it starts anew.
    pub(super) fn add(&mut self, seen: Seen, now: Tick, window: Window) {
        match (window, &mut *self) {
            (Window::Time(span), Results::Slices { newest, slices }) => {
                move_to(newest, slices, now.as_micros() / (span.as_micros() / SLICES).max(1));
                let [slice, ..] = slices;
                slice.add(seen);
            }
            (Window::Calls(_), Results::Last(last)) => {
                last.push_back(seen);
                let most = window.holds().and_then(|most| usize::try_from(most).ok());
                let extra = last.len().saturating_sub(most.unwrap_or(1));
                last.drain(..extra);
            }
            (Window::Time(_), _) => {
                *self = Results::default();
                self.add(seen, now, window);
            }
            (Window::Calls(_), _) => *self = Results::Last(VecDeque::from([seen])),
        }
    }

    pub(super) fn totals(&self) -> Totals {
        let add = |sum: Totals, (calls, faults, slow): (u64, u64, u64)| Totals {
            calls: sum.calls.saturating_add(calls),
            faults: sum.faults.saturating_add(faults),
            slow: sum.slow.saturating_add(slow),
        };
        match self {
            Results::Slices { slices, .. } => (slices.iter())
                .map(|slice| (slice.calls.into(), slice.faults.into(), slice.slow.into()))
                .fold(Totals::default(), add),
            Results::Last(last) => (last.iter())
                .map(|seen| (1, seen.fault.into(), seen.slow.into()))
                .fold(Totals::default(), add),
        }
    }
}

impl Slice {
    fn add(&mut self, seen: Seen) {
        self.calls = self.calls.saturating_add(1);
        self.faults = self.faults.saturating_add(seen.fault.into());
        self.slow = self.slow.saturating_add(seen.slow.into());
    }
}

fn move_to(newest: &mut u64, slices: &mut [Slice; 10], slice: u64) {
    // A clock that stepped back a little counts where it stood; by a window or more, anew.
    if slice.abs_diff(*newest) >= SLICES {
        *slices = Default::default();
        *newest = slice;
    }
    while *newest < slice {
        slices.rotate_right(1);
        let [first, ..] = slices;
        mem::take(first);
        *newest += 1;
    }
}
