//! All requests, by what becomes of them.

use tollgate_core::{Span, Tick};

use crate::run::{Fate, Outcome};

/// All requests, by what becomes of them. The first four are all there are; the rest says why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Those that pass at once.
    pub passed: u64,
    /// Those that pass after a wait.
    pub delayed: u64,
    /// Those that are refused.
    pub refused: u64,
    /// What is no HTTP, and reaches no limit.
    pub unasked: u64,
    /// Of those that are refused: by a limit.
    pub limited: u64,
    /// By the list of what is forbidden.
    pub forbidden: u64,
    /// For a path that can be read in two ways.
    pub unreadable: u64,
    /// For want of what a limit needs.
    pub keyless: u64,
    /// Of those that pass: those no limit is for.
    pub uncovered: u64,
    /// Those that are free whatever limits say.
    pub free: u64,
    /// Those that a limit would refuse which only watches.
    pub would_refuse: u64,
    /// The longest wait.
    pub longest_wait: Span,
    /// When the first one came.
    pub first: Option<Tick>,
    /// When the last one came.
    pub last: Option<Tick>,
}

impl Totals {
    /// How many requests there are.
    #[must_use]
    pub fn requests(&self) -> u64 {
        [self.passed, self.delayed, self.refused, self.unasked].into_iter().sum()
    }

    pub(super) fn count(&mut self, at: Tick, outcome: &Outcome<'_>, fate: Fate) {
        match fate {
            Fate::Passed => self.passed += 1,
            Fate::Delayed(wait) => {
                self.delayed += 1;
                self.longest_wait = self.longest_wait.max(wait);
            }
            Fate::Refused => self.refused += 1,
            Fate::Unasked => self.unasked += 1,
        }
        match outcome {
            Outcome::Garbled => {}
            Outcome::Free(_) => self.free += 1,
            Outcome::Uncovered => self.uncovered += 1,
            Outcome::Forbidden(_) => self.forbidden += 1,
            Outcome::Unreadable(_) => self.unreadable += 1,
            Outcome::Keyless(_) => self.keyless += 1,
            Outcome::Limited(_) if fate == Fate::Refused => self.limited += 1,
            Outcome::Limited(_) => self.would_refuse += u64::from(outcome.would_refuse()),
        }
        self.first = self.first.or(Some(at));
        self.last = Some(at);
    }
}
