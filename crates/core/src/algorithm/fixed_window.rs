//! Fixed window: a count that starts anew with each window.
//!
//! State: `(window, count)`: the window's number for aligned windows, its first tick for windows
//! that begin with a first hit.
//!
//! - **Bound**: at most L in one window, so up to 2 L in any span as long as a window, even within
//!   two adjacent ticks across an edge; windows from the first hit stay one below that without
//!   refunds.
//! - **Worst case**: that double edge. Take a token bucket or a sliding window where it matters.
//! - **Memory**: 16 bytes per key.

#![allow(
    clippy::arithmetic_side_effects,
    reason = "`FixedWindow::new` keeps limit and window \
    below 2^51; instants are at most 2^53, and so are words read from a store"
)]

use super::{Charged, Moment, Ruling, State, Step};

/// A fixed window of `window` ticks that admits `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedWindow {
    pub(super) limit: u64,
    pub(super) window: u64,
    pub(super) start: Start,
    pub(super) far: u64,
}

/// What decides where a window begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Start {
    /// Multiples of the window, shifted by the key's phase.
    Aligned,
    /// The first charge.
    FirstHit,
}

/// The state rolled to a moment: the window in force, its count and its end.
struct Rolled {
    window: u64,
    count: u64,
    end: u64,
    back: u64,
}

impl FixedWindow {
    /// A window rule, or `None` when limit or window pass 2^51. `minute` is 60 s in ticks.
    pub(crate) fn new(limit: u64, window: u64, start: Start, minute: u64) -> Option<FixedWindow> {
        (limit <= 1 << 51 && window <= 1 << 51).then(|| FixedWindow {
            limit,
            window,
            start,
            far: minute.max(window),
        })
    }

    #[inline]
    pub(super) fn admit(&self, state: State, at: Moment, cost: u64) -> Option<State> {
        let rolled = self.roll(state, at);
        let fits = cost <= self.limit && rolled.count + cost <= self.limit;
        if fits { Some(State(rolled.window, rolled.count + cost)) } else { None }
    }

    /// What becomes of a charge that is not admitted.
    pub(super) fn refuse(&self, state: State, at: Moment, cost: u64) -> Step {
        if cost > self.limit {
            return Step { ruling: Ruling::Never, next: state };
        }
        let rolled = self.roll(state, at);
        if rolled.back > self.far {
            let now = self.present(at);
            let wait = self.end(now, at.phase) - at.now;
            return Step { ruling: Ruling::Deny(wait), next: State(now, state.1) };
        }
        Step { ruling: Ruling::Deny(rolled.end - at.now), next: state }
    }

    #[inline]
    pub(super) fn room(&self, state: State, at: Moment) -> u64 {
        self.limit.saturating_sub(self.roll(state, at).count)
    }

    #[inline]
    pub(super) fn reset_after(&self, state: State, at: Moment) -> u64 {
        let rolled = self.roll(state, at);
        if rolled.count == 0 { 0 } else { rolled.end - at.now }
    }

    /// A refund lands in the window it was charged in, or nowhere. The count is the whole one, also
    /// above a capacity lowered since: else old refunds would make room for new charges.
    pub(super) fn give(&self, state: State, charged: &Charged, actual: u64) -> State {
        let State(window, count) = state;
        if window != charged.left.0 || count == 0 {
            return state;
        }
        State(window, replace(count, charged.cost, actual, 2 * self.limit))
    }

    #[inline]
    fn roll(&self, state: State, at: Moment) -> Rolled {
        let State(stored, count) = state;
        let count = count.min(2 * self.limit);
        let over = match self.start {
            Start::Aligned => self.present(at) > stored,
            Start::FirstHit => at.now >= stored + self.window,
        };
        // A window that holds nothing is no window: given back in full is as good as fresh.
        if over || count == 0 {
            let window = self.present(at);
            return Rolled { window, count: 0, end: self.end(window, at.phase), back: 0 };
        }
        // A clock that stepped back stays in the stored window.
        let begun = match self.start {
            Start::Aligned => stored.saturating_mul(self.window).saturating_sub(at.phase),
            Start::FirstHit => stored,
        };
        let back = begun.saturating_sub(at.now);
        Rolled { window: stored, count, end: self.end(stored, at.phase), back }
    }

    /// The window a charge at this moment would open.
    #[inline]
    fn present(&self, at: Moment) -> u64 {
        match self.start {
            Start::Aligned => (at.now + at.phase) / self.window,
            Start::FirstHit => at.now,
        }
    }

    /// The first tick after a window.
    #[inline]
    fn end(&self, window: u64, phase: u64) -> u64 {
        match self.start {
            Start::Aligned => (window + 1).saturating_mul(self.window) - phase,
            Start::FirstHit => window + self.window,
        }
    }
}

/// A count in which a charge of `cost` is replaced by `actual`, never below zero, at most `most`.
pub(super) fn replace(count: u64, cost: u64, actual: u64, most: u64) -> u64 {
    if actual <= cost {
        count.saturating_sub(cost - actual)
    } else {
        count.saturating_add(actual - cost).min(most.max(count))
    }
}
