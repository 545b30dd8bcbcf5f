//! A call that waits, as a future.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::time::Instant;

use super::ask::Paid;
use super::permit::Hold;
use super::shared::{Came, Shared};
use super::step::{Lacks, Start};
use super::wish::{Outcome, Place, Wants, Wish};
use super::{driver, keeper};
use crate::error::Error;
use crate::key::OwnKey;
use crate::sync::{Timer, now, timer};

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
        let State::Waits(place) = self.state else { return Some(now()) };
        self.shared.with(|lines| match lines.has_told(place) {
            true => Some(now()),
            false => lines.due(&self.key, place),
        })
    }

    /// Has the line driven also if nobody polls this.
    ///
    /// # Panics
    /// Outside a tokio runtime with timers, if it waits.
    pub(super) fn drive(&self) {
        if let State::Waits(place) = self.state {
            let lacks = self.shared.with(|lines| lines.lacks(&self.key, place));
            self.supply(lacks);
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

    fn supply(&self, lacks: Lacks) {
        if lacks.driver == Start::Yes {
            driver::start(&self.shared, &self.key);
        }
        if lacks.keeper == Start::Yes {
            keeper::start(&self.shared, &self.key);
        }
    }
}

impl Future for Ticket {
    type Output = Result<(Hold, Paid), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let place = match std::mem::replace(&mut self.state, State::Heard) {
            State::Waits(place) => place,
            State::Told(outcome) => return Poll::Ready(self.end(outcome)),
            State::Heard => return Poll::Pending,
        };
        let watched = self.shared.with(|lines| match lines.hear(place) {
            Some(outcome) => Err(outcome),
            None => Ok(lines.watch(&self.key, place, context.waker())),
        });
        match watched {
            Err(outcome) => return Poll::Ready(self.end(outcome)),
            Ok(lacks) => {
                self.state = State::Waits(place);
                self.supply(lacks);
            }
        }
        let Some(deadline) = self.deadline else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(timer(deadline)));
        ready!(timer.as_mut().poll(context));
        // It may have been told in this very moment.
        let outcome = self.shared.with(|lines| lines.expire(&self.key, place));
        Poll::Ready(self.end(outcome))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let told = match std::mem::replace(&mut self.state, State::Heard) {
            State::Waits(place) => self.shared.with(|lines| lines.leave(&self.key, place)),
            State::Told(outcome) => Some(outcome),
            State::Heard => None,
        };
        if let Some(outcome @ Outcome::Goes(_)) = told
            && let Ok((hold, paid)) = self.end(outcome)
        {
            // First what is charged: who goes next may need it.
            self.shared.give_back(&self.key, paid);
            drop(hold);
        }
    }
}
