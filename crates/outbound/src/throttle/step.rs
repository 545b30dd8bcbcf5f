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
    /// It runs, and where it sleeps it has left a waker.
    Runs(Option<Waker>),
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
            Worker::Runs(_) => Start::No,
            Worker::Absent => {
                *self = Worker::Runs(None);
                Start::Yes
            }
        }
    }

    /// Where it sleeps it is woken by this.
    pub(crate) fn sleeps(&mut self, waker: &Waker) {
        match self {
            Worker::Runs(Some(old)) => old.clone_from(waker),
            Worker::Runs(none) => *none = Some(waker.clone()),
            Worker::Absent => {}
        }
    }

    /// The waker of one that sleeps.
    pub(crate) fn wake(&mut self) -> Option<Waker> {
        match self {
            Worker::Runs(waker) => waker.take(),
            Worker::Absent => None,
        }
    }
}
