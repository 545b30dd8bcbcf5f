//! The calls of one key, which leave one after the other.

use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::{Instant, timeout_at};
use tollgate_core::Span;

use super::elsewhere::{Elsewhere, Visit};
use super::known::{Call, Known, Pace};
use super::patience::{End, Patience};
use super::unless::unless;
use crate::error::{Error, Kind};
use crate::retry::{Entry, Ledger, RetryBudget};
use crate::told::Told;

/// The turn of a call, as long as it is kept.
pub(super) type Turn<'l> = tokio::sync::MutexGuard<'l, ()>;

/// How often at most a call looks whether the one in front still waits for something else: with hardly
/// any patience left it would else look all the time.
const LOOK: Duration = Duration::from_millis(100);

/// What all calls of one key share.
#[derive(Debug)]
pub(super) struct Line {
    /// Whoever has it is the next to leave; those who want it stand in line.
    front: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
    /// Something was learned that may let the next one leave earlier.
    learned: Notify,
    /// Calls leave one by one from now on.
    slowed: Notify,
    /// How long those in front have waited for something else.
    elsewhere: Elsewhere,
    opened: Instant,
    ledger: Mutex<Ledger>,
}

impl Line {
    pub(super) fn new(now: Instant) -> Line {
        Line {
            front: tokio::sync::Mutex::default(),
            known: Mutex::default(),
            learned: Notify::new(),
            slowed: Notify::new(),
            elsewhere: Elsewhere::default(),
            opened: now,
            ledger: Mutex::default(),
        }
    }

    /// Waits until the call is the next one, unless it has kept its turn, and may leave, as far as is
    /// known.
    ///
    /// # Errors
    /// When that takes longer than the patience lasts, as soon as it is known.
    pub(super) async fn turn<'l>(
        &'l self,
        kept: Option<Turn<'l>>,
        patience: &mut Patience,
    ) -> Result<Turn<'l>, Error> {
        let turn = match kept {
            Some(turn) => turn,
            None => self.front(patience).await?,
        };
        loop {
            let now = Instant::now();
            let Some(free_at) = self.known().free_at(now) else { return Ok(turn) };
            if free_at > patience.until() {
                return Err(self.too_long(*patience));
            }
            // One that was notified before it listens is not lost, since one waits at most.
            drop(timeout_at(free_at, self.learned.notified()).await);
        }
    }

    /// Waits until the call is the next one. What those before it wait for elsewhere is not told by the
    /// server and lengthens the patience.
    async fn front(&self, patience: &mut Patience) -> Result<Turn<'_>, Error> {
        let mut front = pin!(self.front.lock());
        let mut counted = self.elsewhere.spent();
        let mut until = patience.until();
        loop {
            let turn = timeout_at(until, front.as_mut()).await;
            let spent = self.elsewhere.spent();
            patience.lengthen(spent.saturating_sub(counted));
            counted = spent;
            match turn {
                Ok(turn) => return Ok(turn),
                Err(_) if patience.until() <= Instant::now() => {
                    return Err(self.too_long(*patience));
                }
                Err(_) => until = patience.until_at_least(LOOK),
            }
        }
    }

    /// Whether calls leave one by one.
    pub(super) fn pace(&self) -> Pace {
        self.known().pace(Instant::now())
    }

    /// Ends when calls begin to leave one by one, counted from when it is made.
    pub(super) fn slowed(&self) -> Notified<'_> {
        self.slowed.notified()
    }

    /// The one that has its turn waits for something else as long as this is kept.
    pub(super) fn visit(&self, _turn: &Turn<'_>) -> Visit<'_> {
        self.elsewhere.visit()
    }

    /// Waits for something else. Whoever has no turn meanwhile turns back, with nothing, when `slowed`
    /// ends.
    pub(super) async fn wait_for<F: Future>(
        &self,
        other: F,
        turn: Option<&Turn<'_>>,
        slowed: Notified<'_>,
    ) -> Option<F::Output> {
        if let Some(turn) = turn {
            let _visit = self.visit(turn);
            return Some(other.await);
        }
        unless(slowed, other).await
    }

    /// Counts a call that leaves now, unless something was learned since its turn that forbids it.
    pub(super) fn depart(&self) -> Option<Departed<'_>> {
        let call = self.change(Known::depart)?;
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
        self.change(|known, now| known.hold(now, span));
    }

    /// Changes what is known, and tells those who are on their way already that they have to turn back.
    fn change<T>(&self, change: impl FnOnce(&mut Known, Instant) -> T) -> T {
        let now = Instant::now();
        let mut known = self.known();
        let before = known.pace(now);
        let out = change(&mut known, now);
        let is_slower = (before, known.pace(now)) == (Pace::Free, Pace::Slow);
        drop(known);
        if is_slower {
            self.slowed.notify_waiters();
        }
        out
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
        let kind = match patience.end() {
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
    /// Learns from its answer, and says for how long it holds all others, if it does. `longest` is how
    /// long a server may do that.
    pub(super) fn answered(mut self, told: &Told, longest: Span) -> Option<Span> {
        let call = self.call.take()?;
        let held = self.line.change(|known, now| known.answered(call, told, now, longest));
        self.line.learned.notify_one();
        held
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
