//! One call, as it is asked for.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::algorithm::Patience;
use tollgate_core::{Key, Span};

use super::Throttle;
use super::ask::Terms;
use super::permit::{Hold, Permit};
use super::priority::Priority;
use super::reservation::Reservation;
use super::stage::Stage;
use super::ticket::Ticket;
use super::wish::{Wants, Wish};
use crate::error::{Error, Kind};
use crate::key::OwnKey;
use crate::sync::now;

/// One call through a throttle: what it costs, how urgent it is and how long it waits.
///
/// Made by [`Throttle::call`]; nothing happens before it is acquired, reserved or run.
#[derive(Clone)]
#[must_use = "a call does nothing before it is acquired, reserved or run"]
pub struct Call {
    first: Stage,
    others: Vec<Stage>,
    cost: u64,
    priority: Priority,
    within: Option<Duration>,
}

impl Call {
    pub(super) fn new(throttle: &Throttle, key: Arc<OwnKey>) -> Call {
        let first = Stage { shared: Arc::clone(&throttle.shared), key };
        Call { first, others: Vec::new(), cost: 1, priority: Priority::NORMAL, within: None }
    }

    /// What it costs under each limit, 1 unless said; 0 charges nothing and still waits its turn.
    pub fn cost(self, cost: u64) -> Call {
        Call { cost, ..self }
    }

    /// How urgent it is; [`Priority::NORMAL`] unless said.
    pub fn priority(self, priority: Priority) -> Call {
        Call { priority, ..self }
    }

    /// How long it waits at most, from when it comes; for ever unless said.
    ///
    /// It is refused at once when the line as it stands takes longer, and else when that time is up.
    pub fn within(self, wait: impl Into<Span>) -> Call {
        Call { within: Some(wait.into().into()), ..self }
    }

    /// The same call through another throttle as well, under a key of that one.
    ///
    /// It waits until it may go through all of them, and is then charged by all or by none: in one
    /// decision where they count in one store. Throttles are entered in the order they were made,
    /// whatever the order here, so that calls that cross never wait for one another; while a call
    /// waits in a later one, nobody passes it in an earlier one. A throttle named twice with one key
    /// counts once.
    pub fn and<'k>(mut self, throttle: &Throttle, key: impl Into<Key<'k>>) -> Call {
        let (shared, key) = (Arc::clone(&throttle.shared), Arc::new(key.into().into()));
        self.others.push(Stage { shared, key });
        self
    }

    /// Waits until the call may go.
    ///
    /// A future that is dropped leaves the line: nothing stays charged and nobody is held up.
    ///
    /// # Errors
    /// When the line is full, the deadline passes or must pass, the cost is above what the limits hold,
    /// the throttle is stopped, or the store could not be asked. Nothing is charged then.
    ///
    /// # Panics
    /// When it has to wait outside a tokio runtime with timers.
    pub async fn acquire(self) -> Result<Permit, Error> {
        self.enter(Patience::Wait).await
    }

    /// Goes if it may at once: not before others that wait.
    ///
    /// Over a store in this process the answer is there at the first poll.
    ///
    /// # Errors
    /// As [`Call::acquire`], and `is_busy` when the call would have to wait.
    ///
    /// # Panics
    /// Over a store elsewhere, outside a tokio runtime with timers.
    pub async fn try_acquire(self) -> Result<Permit, Error> {
        self.enter(Patience::Now).await
    }

    /// Waits until the call may go, does it, and lets the next one go when it has ended.
    ///
    /// # Errors
    /// As [`Call::acquire`]; the job is not begun then.
    ///
    /// # Panics
    /// As [`Call::acquire`].
    pub async fn run<F: Future>(self, job: impl FnOnce() -> F) -> Result<F::Output, Error> {
        let permit = self.acquire().await?;
        let done = job().await;
        drop(permit);
        Ok(done)
    }

    /// Takes a place in the line now, to go when its turn comes; [`Reservation::due`] says when. Other
    /// throttles it was to go through are left out.
    ///
    /// # Errors
    /// As [`Call::acquire`], as far as that is known at once.
    ///
    /// # Panics
    /// As [`Call::acquire`].
    pub fn reserve(self) -> Result<Reservation, Error> {
        let wish = self.wish(Patience::Wait, Wants::Own);
        Ok(Reservation::new(Ticket::take(self.first, wish)?))
    }

    async fn enter(self, patience: Patience) -> Result<Permit, Error> {
        if self.others.is_empty() {
            let wish = self.wish(patience, Wants::Own);
            let (hold, paid) = Ticket::take(self.first, wish)?.await?;
            return Ok(Permit::new(hold, paid));
        }
        // Apart, so that the future of a call through one is no larger for it.
        Box::pin(self.enter_all(patience)).await
    }

    async fn enter_all(self, patience: Patience) -> Result<Permit, Error> {
        let wish = self.wish(patience, Wants::Turn);
        let mut stages = self.others;
        stages.push(self.first);
        stages.sort_by(|a, b| a.order().cmp(&b.order()));
        stages.dedup_by(|a, b| a.order() == b.order());
        let Some(last) = stages.pop() else { return Err(Kind::Never.into()) };
        let terms = Arc::new(Terms::new(stages.clone(), &last));
        let mut turns = Vec::with_capacity(stages.len());
        for stage in stages {
            turns.push(Ticket::take(stage, wish.clone())?.await?.0);
        }
        let wish = Wish { wants: Wants::All(terms), ..wish };
        let (hold, paid) = Ticket::take(last, wish)?.await?;
        let before = turns.into_iter().map(Hold::pass_on);
        Ok(Permit::new(hold, paid).behind(before))
    }

    fn wish(&self, patience: Patience, wants: Wants) -> Wish {
        let deadline = self.within.and_then(|within| now().checked_add(within));
        Wish { cost: self.cost, priority: self.priority, patience, deadline, wants }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("cost", &self.cost)
            .field("priority", &self.priority)
            .field("within", &self.within)
            .finish_non_exhaustive()
    }
}
