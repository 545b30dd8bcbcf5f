//! What is known of the server behind one key, and when the next call may leave.

use std::time::Duration;

use tokio::time::Instant;
use tollgate_core::Span;

use super::doubling::Doubling;
use crate::told::{Allowance, Told};

const YEAR: Span = Span::from_secs(365 * 24 * 60 * 60);

/// What the answers so far have told, less what has been sent since.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The server asked for no call before.
    held_until: Option<Instant>,
    budgets: Vec<Budget>,
    /// When the last call left.
    last: Option<Instant>,
    sent: u64,
    /// The number of the latest call whose answer told what is left.
    told_by: u64,
    pub(super) in_flight: u64,
    doubling: Doubling,
}

/// What one limit has left until it is reset.
#[derive(Clone, Copy, Debug)]
struct Budget {
    left: u64,
    limit: u64,
    reset: Instant,
    window: Option<Span>,
}

/// How fast calls leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// As fast as they come.
    Free,
    /// One by one, each when it may.
    Slow,
}

/// The number of a call that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call(u64);

impl Known {
    /// When the next call may leave; `None` for now.
    pub(super) fn free_at(&mut self, now: Instant) -> Option<Instant> {
        self.renew(now);
        let paced = self.budgets.iter().filter_map(|budget| budget.next(self.last));
        paced.chain(self.held_until).max().filter(|at| *at > now)
    }

    /// Whether calls leave one by one, each at an instant of its own.
    pub(super) fn pace(&mut self, now: Instant) -> Pace {
        self.renew(now);
        let is_held = self.held_until.is_some_and(|until| until > now);
        match is_held || self.budgets.iter().any(Budget::paces) {
            true => Pace::Slow,
            false => Pace::Free,
        }
    }

    /// Counts a call that leaves now; `None` when it may not yet.
    pub(super) fn depart(&mut self, now: Instant) -> Option<Call> {
        if self.free_at(now).is_some() {
            return None;
        }
        self.sent += 1;
        self.in_flight += 1;
        self.last = Some(now);
        for budget in &mut self.budgets {
            budget.left = budget.left.saturating_sub(1);
        }
        Some(Call(self.sent))
    }

    /// Learns from the answer to a call, and says for how long it holds all others, if it does.
    /// `longest` is how long a server may do that.
    pub(super) fn answered(
        &mut self,
        call: Call,
        told: &Told,
        now: Instant,
        longest: Span,
    ) -> Option<Span> {
        self.ended();
        let held = self.doubling.wait(call.0, self.sent, told).map(|span| span.min(longest));
        if let Some(span) = held {
            self.hold(now, span);
        }
        if !told.allowances().is_empty() && call.0 >= self.told_by {
            self.budget(call, told, now, longest);
        }
        held
    }

    /// Learns what the limits have left.
    fn budget(&mut self, call: Call, told: &Told, now: Instant, longest: Span) {
        self.told_by = call.0;
        // Calls that left later and have no answer yet are not in what the server counted.
        let unseen = self.in_flight.min(self.sent - call.0);
        // How long to wait for a limit that is used up has been said better.
        let said_better =
            |allowance: &&Allowance| told.retry_after().is_some() && allowance.left == 0;
        let allowances = told.allowances().iter().filter(|allowance| !said_better(allowance));
        let before = std::mem::take(&mut self.budgets);
        let largest = before.iter().map(|budget| budget.limit).max().unwrap_or(0);
        let budget = |allowance: &Allowance| {
            Some(Budget {
                left: allowance.left.saturating_sub(unseen),
                limit: allowance.limit.unwrap_or(allowance.left.max(largest)),
                reset: later(now, allowance.reset?.min(longest)),
                window: allowance.window.map(|window| window.min(longest)),
            })
        };
        self.budgets = allowances.filter_map(budget).collect();
    }

    /// Notes that a call ended without an answer.
    pub(super) fn ended(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Lets no call leave for this long.
    pub(super) fn hold(&mut self, now: Instant, span: Span) {
        self.held_until = self.held_until.max(Some(later(now, span)));
    }

    /// Whether there is anything that it would be a pity to forget.
    pub(super) fn matters(&self, now: Instant) -> bool {
        self.in_flight > 0
            || self.held_until.is_some_and(|until| until > now)
            || self.budgets.iter().any(|budget| budget.reset > now)
    }

    /// A limit that was reset has all of it left again, for another window if that is known. Of one that
    /// holds nothing one call is made, as it may hold something by now.
    fn renew(&mut self, now: Instant) {
        self.budgets.retain_mut(|budget| {
            let Some(window) = budget.window.filter(|_| budget.reset <= now) else {
                return budget.reset > now;
            };
            let (left, reset) = (budget.limit.max(1), later(now, window));
            *budget = Budget { left, reset, ..*budget };
            true
        });
    }
}

/// The instant `span` after `now`, at most a year, since not every clock reaches further.
pub(super) fn later(now: Instant, span: Span) -> Instant {
    now + Duration::from(span.min(YEAR))
}

impl Budget {
    /// Whether nothing or less than half is left.
    fn paces(&self) -> bool {
        self.left == 0 || self.left < self.limit.div_ceil(2)
    }

    /// When the next call may leave after one that left at `last`: at once while at least half is left,
    /// then so that what is left lasts until the reset.
    fn next(&self, last: Option<Instant>) -> Option<Instant> {
        if self.left == 0 {
            return Some(self.reset);
        }
        if !self.paces() {
            return None;
        }
        let last = last?;
        let parts = u32::try_from(self.left.saturating_add(1)).unwrap_or(u32::MAX);
        Some(last + self.reset.saturating_duration_since(last) / parts)
    }
}

#[cfg(test)]
mod tests;
