//! What a limit said, and to whom.

use tollgate_core::{Effect, Limit, Span, Verdict};

use super::ranking::Weighed;

/// What one window of a limit said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitTally {
    /// Its name.
    pub name: String,
    /// Its quota and its algorithm, as people read them.
    pub quota: String,
    /// Whether its refusal blocks.
    pub effect: Effect,
    /// How many requests it was asked about.
    pub asked: u64,
    /// How many it refused, or would have refused.
    pub refused: u64,
    /// How many of those can never pass, since they cost more than it ever has.
    pub never: u64,
    /// How many it let wait.
    pub delayed: u64,
    /// The longest wait.
    pub longest_wait: Span,
}

/// How often a limit refused a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits(pub u64);

impl LimitTally {
    pub(super) fn new(limit: &Limit, effect: Effect) -> LimitTally {
        LimitTally {
            name: limit.name().to_owned(),
            quota: format!("{}, {}", limit.quota(), limit.algorithm()),
            effect,
            asked: 0,
            refused: 0,
            never: 0,
            delayed: 0,
            longest_wait: Span::ZERO,
        }
    }

    pub(super) fn count(&mut self, verdict: Verdict) {
        self.asked += 1;
        match verdict {
            Verdict::Allow => {}
            Verdict::Wait(wait) => {
                self.delayed += 1;
                self.longest_wait = self.longest_wait.max(wait);
            }
            Verdict::Deny(_) => self.refused += 1,
            Verdict::Never => {
                self.refused += 1;
                self.never += 1;
            }
        }
    }
}

impl Weighed for Hits {
    fn weight(&self) -> u64 {
        self.0
    }

    fn absorb(&mut self, other: Hits) {
        self.0 += other.0;
    }
}
