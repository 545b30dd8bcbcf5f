//! The calls of one key, which leave one after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{MutexGuard as Turn, Notify};
use tokio::time::{Instant, timeout_at};
use tollgate_core::Span;

use super::known::{Call, Known, later};
use crate::error::{Error, Kind};
use crate::retry::{Entry, Ledger, RetryBudget};
use crate::told::Told;

/// What all calls of one key share.
#[derive(Debug)]
pub(super) struct Line {
    /// Whoever has it is the next to leave; those who want it stand in line.
    front: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
    /// Something was learned that may let the next one leave earlier.
    learned: Notify,
    opened: Instant,
    ledger: Mutex<Ledger>,
}

/// Until when a call waits for its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) until: Instant,
    /// Whether that is the deadline of the call, and not the longest wait.
    pub(super) end: End,
}

/// What ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Deadline,
    LongestWait,
}

impl Line {
    pub(super) fn new(now: Instant) -> Line {
        Line {
            front: tokio::sync::Mutex::default(),
            known: Mutex::default(),
            learned: Notify::new(),
            opened: now,
            ledger: Mutex::default(),
        }
    }

    /// Waits until the call is the next one and may leave, as far as is known.
    ///
    /// # Errors
    /// When that takes longer than the patience lasts, as soon as it is known.
    pub(super) async fn turn(&self, patience: Patience) -> Result<Turn<'_, ()>, Error> {
        let front = timeout_at(patience.until, self.front.lock());
        let Ok(turn) = front.await else { return Err(self.too_long(patience)) };
        loop {
            let now = Instant::now();
            let Some(free_at) = self.known().free_at(now) else { return Ok(turn) };
            if free_at > patience.until {
                return Err(self.too_long(patience));
            }
            // One that was notified before it listens is not lost, since one waits at most.
            drop(timeout_at(free_at, self.learned.notified()).await);
        }
    }

    /// Counts a call that leaves now, unless something was learned since its turn that forbids it.
    pub(super) fn depart(&self) -> Option<Departed<'_>> {
        let call = self.known().depart(Instant::now())?;
        Some(Departed { line: self, call: Some(call) })
    }

    /// After how long the next call may leave.
    pub(super) fn free_in(&self) -> Span {
        let now = Instant::now();
        let free_at = self.known().free_at(now);
        free_at.map_or(Span::ZERO, |at| Span::from(at.saturating_duration_since(now)))
    }

    /// Lets no call leave for this long.
    pub(super) fn hold(&self, span: Span) {
        self.known().hold(Instant::now(), span);
    }

    /// Whether something is known that it would be a pity to forget.
    pub(super) fn matters(&self, now: Instant) -> bool {
        self.known().matters(now)
    }

    /// Notes the first try of a call.
    pub(super) fn first_try(&self) {
        self.ledger().first(self.age());
    }

    /// Takes another try from the budget.
    pub(super) fn another_try(&self, budget: RetryBudget) -> Option<Another<'_>> {
        let entry = self.ledger().again(self.age(), budget)?;
        Some(Another { line: self, entry: Some(entry) })
    }

    #[cfg(test)]
    pub(super) fn in_flight(&self) -> u64 {
        self.known().in_flight
    }

    fn too_long(&self, patience: Patience) -> Error {
        let kind = match patience.end {
            End::Deadline => Kind::Late,
            End::LongestWait => Kind::Busy(Some(self.free_in())),
        };
        kind.into()
    }

    fn age(&self) -> Span {
        Span::from(Instant::now().saturating_duration_since(self.opened))
    }

    // Both are whole after every statement, also where a holder panics.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that has left. Dropped without an answer it is in flight no more.
#[derive(Debug)]
pub(super) struct Departed<'l> {
    line: &'l Line,
    call: Option<Call>,
}

impl Departed<'_> {
    /// Learns from its answer. `longest` is how long a server may hold all calls.
    pub(super) fn answered(mut self, told: &Told, longest: Span) {
        if let Some(call) = self.call.take() {
            self.line.known().answered(call, told, Instant::now(), longest);
            self.line.learned.notify_one();
        }
    }
}

impl Drop for Departed<'_> {
    fn drop(&mut self) {
        if self.call.is_some() {
            self.line.known().ended();
        }
    }
}

/// A try taken from the budget. Dropped before it is made it is given back.
#[derive(Debug)]
pub(super) struct Another<'l> {
    line: &'l Line,
    entry: Option<Entry>,
}

impl Another<'_> {
    pub(super) fn made(mut self) {
        self.entry = None;
    }
}

impl Drop for Another<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.line.ledger().give(entry);
        }
    }
}

impl Patience {
    /// At most `longest` from now, and not past the deadline of the call.
    pub(super) fn new(longest: Span, deadline: Option<Instant>) -> Patience {
        let until = later(Instant::now(), longest);
        match deadline.filter(|deadline| *deadline <= until) {
            Some(deadline) => Patience { until: deadline, end: End::Deadline },
            None => Patience { until, end: End::LongestWait },
        }
    }
}
