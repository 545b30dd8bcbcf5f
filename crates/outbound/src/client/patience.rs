//! Until when a call waits for what its server told.

use std::time::Duration;

use tokio::time::Instant;
use tollgate_core::Span;

use super::known::later;

/// Until when a call waits for its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    longest: Instant,
    deadline: Option<Instant>,
}

/// What ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The deadline of the call.
    Deadline,
    /// The longest wait for what its server told.
    LongestWait,
}

impl Patience {
    /// At most `longest` from now, and not past the deadline of the call.
    pub(super) fn new(longest: Span, deadline: Option<Instant>) -> Patience {
        Patience { longest: later(Instant::now(), longest), deadline }
    }

    pub(super) fn until(&self) -> Instant {
        self.deadline.map_or(self.longest, |deadline| deadline.min(self.longest))
    }

    /// The same, but not before so long from now, if the deadline is not.
    pub(super) fn until_at_least(&self, span: Duration) -> Instant {
        let least = self.longest.max(Instant::now() + span);
        self.deadline.map_or(least, |deadline| deadline.min(least))
    }

    pub(super) fn end(&self) -> End {
        match self.deadline {
            Some(deadline) if deadline <= self.longest => End::Deadline,
            _ => End::LongestWait,
        }
    }

    /// Leaves out of count what was waited for something else.
    pub(super) fn lengthen(&mut self, span: Duration) {
        self.longest += span;
    }
}
