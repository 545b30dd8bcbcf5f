//! The numbers of one limit's answer, in the units of headers.

use tollgate_core::{Answer, Tick, Verdict};

/// The largest integer of a structured field (RFC 9651, 3.3.1).
pub(super) const MOST: u64 = 999_999_999_999_999;

/// What headers say of one answer. Every number is at most [`MOST`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    /// What is left for a caller that cannot wait in a queue, as no request of HTTP can.
    pub(super) remaining: u64,
    /// Seconds, rounded up, until a refused request passes, else until nothing is owed.
    pub(super) after: u64,
    /// The same instant in Unix seconds, rounded up.
    pub(super) at: u64,
    /// Whether waiting helps at all.
    pub(super) never: bool,
}

impl Figures {
    pub(super) fn of(answer: &Answer<'_>) -> Figures {
        let after = answer.retry_after().unwrap_or_else(|| answer.reset_after());
        Figures {
            remaining: answer.remaining_at_once().min(MOST),
            after: after.as_secs_ceil().min(MOST),
            at: answer.now().after(after).since(Tick::EPOCH).as_secs_ceil().min(MOST),
            never: answer.verdict() == Verdict::Never,
        }
    }
}
