//! Requests that wait for their turn, let go in the order of their turns.

use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Bound;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};
use tollgate_core::{Span, Tick};

/// How long a request whose time has come waits for the one before it. Many timers end in one tick
/// of the runtime and their tasks run in any order; a task that is not run at all must not hold up
/// the others.
const GRACE: Duration = Duration::from_millis(10);

/// When a request may go by the store's clock, and which of those at one instant came first.
type Turn = (Tick, u64);

/// All requests that wait.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: Mutex<BTreeMap<Turn, Waiting>>,
    entered: AtomicU64,
}

#[derive(Debug)]
struct Waiting {
    due: Instant,
    /// Of one whose time has come while another was before it.
    held_up: Option<Waker>,
}

impl Line {
    /// A place for a request that may go at `release` by the store's clock, `wait` from now.
    ///
    /// # Panics
    /// Outside a tokio runtime with timers.
    pub(super) fn enter(self: &Arc<Line>, release: Tick, wait: Span) -> Place {
        // Whoever waits longer than a thread's scheduling takes entered by one clock: the store's.
        let turn = (release, self.entered.fetch_add(1, Ordering::Relaxed));
        let due = Instant::now() + wait.into();
        self.lock().insert(turn, Waiting { due, held_up: None });
        Place { line: self.clone(), turn, due, timer: Box::pin(sleep_until(due)) }
    }

    /// Until when the request of this turn, whose time has come, is held up by the one before it;
    /// `None` when it may go.
    fn held_up(&self, turn: Turn, now: Instant, waker: &Waker) -> Option<Instant> {
        let mut waiting = self.lock();
        let (_, before) = waiting.range(..turn).next_back()?;
        let until = before.due + GRACE;
        if until <= now {
            return None;
        }
        if let Some(own) = waiting.get_mut(&turn) {
            own.held_up = Some(waker.clone());
        }
        Some(until)
    }

    /// Takes a request out of the line and lets the next one look.
    fn leave(&self, turn: Turn) {
        let mut waiting = self.lock();
        waiting.remove(&turn);
        let behind = (Bound::Excluded(turn), Bound::Unbounded);
        let next = waiting.range_mut(behind).next();
        let waker = next.and_then(|(_, next)| next.held_up.take());
        drop(waiting);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Turn, Waiting>> {
        // The map is whole whenever its lock is let go.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a line: a future that ends when its turn has come, never earlier. Dropped, it is free.
#[derive(Debug)]
pub(super) struct Place {
    line: Arc<Line>,
    turn: Turn,
    due: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Future for Place {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let now = Instant::now();
            let until = if now < self.due {
                self.due
            } else {
                match self.line.held_up(self.turn, now, context.waker()) {
                    None => return Poll::Ready(()),
                    Some(until) => until,
                }
            };
            // Also a timer that ended early is armed again.
            self.timer.as_mut().reset(until);
            ready!(self.timer.as_mut().poll(context));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.line.leave(self.turn);
    }
}

#[cfg(test)]
mod tests;
