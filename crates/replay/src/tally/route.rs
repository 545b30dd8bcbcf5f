//! What became of the requests for one route.

use super::ranking::Weighed;
use crate::run::Fate;

/// What became of the requests for one route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteTally {
    /// How many there were.
    pub requests: u64,
    /// How many were refused.
    pub refused: u64,
    /// How many had to wait.
    pub delayed: u64,
    /// How many a limit would have refused which only watches.
    pub would_refuse: u64,
}

impl RouteTally {
    pub(super) fn count(&mut self, fate: Fate, would_refuse: bool) {
        self.requests += 1;
        self.refused += u64::from(fate == Fate::Refused);
        self.delayed += u64::from(matches!(fate, Fate::Delayed(_)));
        self.would_refuse += u64::from(would_refuse);
    }
}

impl Weighed for RouteTally {
    fn weight(&self) -> u64 {
        self.requests
    }

    fn absorb(&mut self, other: RouteTally) {
        self.requests += other.requests;
        self.refused += other.refused;
        self.delayed += other.delayed;
        self.would_refuse += other.would_refuse;
    }
}
