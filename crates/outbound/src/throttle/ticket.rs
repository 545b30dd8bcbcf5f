//! A call that waits, as a future.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::time::Instant;

use super::lines::Came;
use super::paid::Paid;
use super::permit::{Hold, Permit};
use super::stage::Stage;
use super::step::{Lacks, Start};
use super::wish::{Outcome, Place, Wants, Wish};
use super::{driver, keeper};
use crate::error::Error;
use crate::sync::{Timer, now, timer};

/// A call in a line: a future that ends when it may go, or is told that it does not. Dropped, it leaves
/// the line, and frees and gives back whatever it was granted and has not heard of.
pub(super) struct Ticket {
    state: State,
    turn: Turn,
    deadline: Option<Instant>,
    timer: Option<Pin<Box<Timer>>>,
}

/// Whether nobody may pass it before it has gone on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Kept,
    Passed,
}

enum State {
    Waits(Stage, Place),
    Told(Stage, Outcome),
    Heard,
}

impl Ticket {
    /// Takes a place in a line, and whatever it is told at once.
    pub(super) fn take(stage: Stage, wish: Wish) -> Result<Ticket, Error> {
        let turn = if matches!(wish.wants, Wants::Turn) { Turn::Kept } else { Turn::Passed };
        let deadline = wish.deadline;
        let state = match stage.shared.enter(&stage.key, wish)? {
            Came::Waits(place) => State::Waits(stage, place),
            Came::Told(outcome) => State::Told(stage, outcome),
        };
        Ok(Ticket { state, turn, deadline, timer: None })
    }

    /// The earliest instant at which it goes, as the line stands; now if it may go.
    pub(super) fn due(&self) -> Option<Instant> {
        let State::Waits(stage, place) = &self.state else { return Some(now()) };
        stage.shared.with(|lines| match lines.has_told(*place) {
            true => Some(now()),
            false => lines.due(&stage.key, *place),
        })
    }

    /// Has the line driven also if nobody polls this.
    ///
    /// # Panics
    /// Outside a tokio runtime with timers, if it waits.
    pub(super) fn drive(&self) {
        if let State::Waits(stage, place) = &self.state {
            supply(stage, stage.shared.with(|lines| lines.lacks(&stage.key, *place)));
        }
    }

    /// What becomes of it, if it waits for that.
    fn listen(&mut self, context: &mut Context<'_>) -> Poll<Option<Outcome>> {
        let State::Waits(stage, place) = &self.state else { return Poll::Ready(None) };
        let (outcome, lacks) = stage.shared.with(|lines| match lines.hear(*place) {
            Some(outcome) => (Some(outcome), Lacks::NOTHING),
            None => (None, lines.watch(&stage.key, *place, context.waker())),
        });
        supply(stage, lacks);
        if outcome.is_some() {
            return Poll::Ready(outcome);
        }
        let Some(deadline) = self.deadline else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(timer(deadline)));
        ready!(timer.as_mut().poll(context));
        // It may have been told in this very moment.
        Poll::Ready(Some(stage.shared.with(|lines| lines.expire(&stage.key, *place))))
    }

    /// It has heard.
    fn end(&self, stage: Stage, outcome: Outcome) -> Result<(Hold, Paid), Error> {
        match outcome {
            Outcome::Ends(why) => Err(why.into()),
            Outcome::Goes(paid) => {
                let hold = match self.turn {
                    Turn::Kept => Hold::with_turn(stage),
                    Turn::Passed => Hold::new(stage),
                };
                Ok((hold, paid))
            }
        }
    }
}

/// Starts the tasks that a line lacks.
fn supply(stage: &Stage, lacks: Lacks) {
    if lacks.driver == Start::Yes {
        driver::start(&stage.shared, &stage.key);
    }
    if lacks.keeper == Start::Yes {
        keeper::start(&stage.shared, &stage.key);
    }
}

impl Future for Ticket {
    type Output = Result<(Hold, Paid), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(outcome) = ready!(self.listen(context))
            && let State::Waits(stage, _) = std::mem::replace(&mut self.state, State::Heard)
        {
            return Poll::Ready(self.end(stage, outcome));
        }
        match std::mem::replace(&mut self.state, State::Heard) {
            State::Told(stage, outcome) => Poll::Ready(self.end(stage, outcome)),
            State::Waits(..) | State::Heard => Poll::Pending,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let (stage, told) = match std::mem::replace(&mut self.state, State::Heard) {
            State::Waits(stage, place) => {
                let told = stage.shared.with(|lines| lines.leave(&stage.key, place));
                (stage, told)
            }
            State::Told(stage, outcome) => (stage, Some(outcome)),
            State::Heard => return,
        };
        if let Some(outcome @ Outcome::Goes(_)) = told
            && let Ok((hold, paid)) = self.end(stage, outcome)
        {
            Permit::new(hold, paid).give_back();
        }
    }
}
