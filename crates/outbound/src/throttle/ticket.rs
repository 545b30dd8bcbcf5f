//! A call that waits, as a future.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::time::Instant;

use super::ask::Paid;
use super::driver;
use super::line::Drive;
use super::permit::Hold;
use super::shared::{Came, Shared};
use super::wish::{Outcome, Place, Wants, Wish};
use crate::error::{Error, Kind};
use crate::key::OwnKey;
use crate::sync::{Timer, timer};

/// A call in a line: a future that ends when it may go, or is told that it does not. Dropped, it leaves
/// the line, and frees and gives back whatever it was granted and has not heard of.
pub(super) struct Ticket {
    shared: Arc<Shared>,
    key: Arc<OwnKey>,
    turn: Turn,
    deadline: Option<Instant>,
    timer: Option<Pin<Box<Timer>>>,
    state: State,
}

/// Whether nobody may pass it before it has gone on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Kept,
    Passed,
}

enum State {
    Waits(Place),
    Told(Outcome),
    Heard,
}

impl Ticket {
    /// Takes a place in a line, and whatever it is told at once.
    pub(super) fn take(
        shared: &Arc<Shared>,
        key: &Arc<OwnKey>,
        wish: Wish,
    ) -> Result<Ticket, Error> {
        let turn = if matches!(wish.wants, Wants::Turn) { Turn::Kept } else { Turn::Passed };
        let deadline = wish.deadline;
        let state = match shared.enter(key, wish)? {
            Came::Waits(place) => State::Waits(place),
            Came::Told(outcome) => State::Told(outcome),
        };
        let (shared, key) = (Arc::clone(shared), Arc::clone(key));
        Ok(Ticket { shared, key, turn, deadline, timer: None, state })
    }

    /// The earliest instant at which it goes, as the line stands; now if it may go.
    pub(super) fn due(&self) -> Option<Instant> {
        self.shared.with(|lines, now| match self.state {
            State::Waits(place) if !lines.is_told(place) => lines.due(&self.key, place, now),
            _ => Some(now),
        })
    }

    /// Has the line driven also if nobody polls this.
    ///
    /// # Panics
    /// Outside a tokio runtime with timers, if it waits.
    pub(super) fn drive(&self) {
        if let State::Waits(place) = self.state
            && self.shared.with(|lines, _| lines.drive(&self.key, place)) == Drive::Start
        {
            driver::start(&self.shared, &self.key);
        }
    }

    fn end(&mut self, outcome: Outcome) -> Result<(Hold, Paid), Error> {
        self.state = State::Heard;
        match outcome {
            Outcome::Ends(why) => Err(why.into()),
            Outcome::Goes(paid) => {
                let (shared, key) = (Arc::clone(&self.shared), Arc::clone(&self.key));
                let hold = match self.turn {
                    Turn::Kept => Hold::with_turn(shared, key),
                    Turn::Passed => Hold::new(shared, key),
                };
                Ok((hold, paid))
            }
        }
    }

    /// Leaves the line, and takes what it was told.
    fn leave(&mut self) -> Option<Outcome> {
        match std::mem::replace(&mut self.state, State::Heard) {
            State::Waits(place) => {
                self.shared.with(|lines, now| lines.leave(&self.key, place, now))
            }
            State::Told(outcome) => Some(outcome),
            State::Heard => None,
        }
    }
}

impl Future for Ticket {
    type Output = Result<(Hold, Paid), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let place = match self.state {
            State::Waits(place) => place,
            State::Told(_) => {
                let told = self.leave().unwrap_or(Outcome::Ends(Kind::Stopped));
                return Poll::Ready(self.end(told));
            }
            State::Heard => return Poll::Pending,
        };
        let (heard, drive) = self.shared.with(|lines, _| match lines.hear(place) {
            Some(outcome) => (Some(outcome), Drive::No),
            None => (None, lines.watch(&self.key, place, context.waker())),
        });
        if let Some(outcome) = heard {
            return Poll::Ready(self.end(outcome));
        }
        if drive == Drive::Start {
            driver::start(&self.shared, &self.key);
        }
        let Some(deadline) = self.deadline else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(timer(deadline)));
        ready!(timer.as_mut().poll(context));
        // It may have been told in this very moment.
        let told = self.leave().unwrap_or(Outcome::Ends(Kind::Late));
        Poll::Ready(self.end(told))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(outcome @ Outcome::Goes(_)) = self.leave()
            && let Ok((hold, paid)) = self.end(outcome)
        {
            // First what is charged: who goes next may need it.
            self.shared.give_back(&self.key, paid);
            drop(hold);
        }
    }
}
