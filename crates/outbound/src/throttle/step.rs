//! What there is to do for a line, and who does it.

use std::task::Waker;

use tokio::time::Instant;

use super::wish::Question;

/// What there is to do for a line.
#[derive(Debug)]
pub(crate) enum Step {
    /// Ask the store.
    Ask(Question),
    /// Come again at this instant.
    At(Instant),
    /// Nothing before it is woken.
    Parked,
    /// Nothing any more: the line is empty.
    Over,
    /// Look again, once others have had the lock.
    More,
}

/// Who looks what there is to do for a line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Looks<'w> {
    /// Its driver, who is woken by this once there is more to do.
    Driver(&'w Waker),
    /// Somebody passing by, who can ask only what answers at once.
    Passer,
}

/// A task that works for a line as long as there is work.
#[derive(Debug, Default)]
pub(crate) enum Worker {
    #[default]
    Absent,
    /// It is about to look what there is to do.
    Awake,
    /// It waits for this waker, until that instant at most.
    Sleeps(Waker, Option<Instant>),
}

/// Whether a task that works for a line has to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Yes,
    No,
}

/// Which tasks a line lacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lacks {
    /// The one that asks the store.
    pub(crate) driver: Start,
    /// The one that speaks for this process where permits are shared with others.
    pub(crate) keeper: Start,
}

impl Lacks {
    pub(crate) const NOTHING: Lacks = Lacks { driver: Start::No, keeper: Start::No };
}

impl Worker {
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Worker::Absent)
    }

    /// Makes the caller the worker, unless there is one.
    pub(crate) fn start(&mut self) -> Start {
        match self {
            Worker::Awake | Worker::Sleeps(..) => Start::No,
            Worker::Absent => {
                *self = Worker::Awake;
                Start::Yes
            }
        }
    }

    /// It has looked, and sleeps.
    pub(crate) fn sleeps(&mut self, waker: &Waker, until: Option<Instant>) {
        *self = Worker::Sleeps(waker.clone(), until);
    }

    /// Whether it would sleep past this instant.
    pub(crate) fn sleeps_past(&self, due: Instant) -> bool {
        matches!(self, Worker::Sleeps(_, until) if until.is_none_or(|until| due < until))
    }

    /// Wakes one that sleeps.
    pub(crate) fn wake(&mut self) -> Option<Waker> {
        match self {
            Worker::Absent | Worker::Awake => None,
            Worker::Sleeps(..) => match std::mem::replace(self, Worker::Awake) {
                Worker::Sleeps(waker, _) => Some(waker),
                Worker::Absent | Worker::Awake => None,
            },
        }
    }
}
