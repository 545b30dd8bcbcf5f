//! What the clones of a throttle share: its lines behind one lock.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::ask::{self, Distance, Paid, Part};
use super::line::{Looks, Step};
use super::lines::Lines;
use super::rules::Rules;
use super::wish::{Outcome, Place, Wish};
use crate::error::Error;
use crate::key::OwnKey;
use crate::sync::{Mutex, now, whole};

/// How many calls the lock is kept for at most, where stores answer at once.
const BATCH: usize = 64;

/// What the clones of a throttle share.
pub(crate) struct Shared {
    /// A number of its own: who goes through several throttles enters them in this order.
    pub(crate) id: u64,
    lines: Mutex<Lines>,
    /// Told when a throttle that takes no more calls has none left.
    pub(crate) drained: Notify,
}

/// What becomes of a call right after it has come.
#[derive(Debug)]
pub(crate) enum Came {
    /// It has heard.
    Told(Outcome),
    /// It waits.
    Waits(Place),
}

impl Shared {
    pub(crate) fn new(id: u64, rules: Rules) -> Shared {
        Shared { id, lines: Mutex::new(Lines::new(rules, now())), drained: Notify::new() }
    }

    /// Does one thing to the lines, and whatever follows from it once the lock is let go.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Lines, Instant) -> T) -> T {
        let mut lines = whole(self.lines.lock());
        // Read under the lock, so that times never run against the order of events.
        let out = act(&mut lines, now());
        let wakes = std::mem::take(&mut lines.books().wakes);
        let back = std::mem::take(&mut lines.books().back);
        let is_drained = lines.is_drained();
        drop(lines);
        wakes.into_iter().for_each(Waker::wake);
        for (key, paid) in back {
            self.give_back(&key, paid);
        }
        if is_drained {
            self.drained.notify_waiters();
        }
        out
    }

    /// A call comes.
    pub(crate) fn enter(&self, key: &Arc<OwnKey>, wish: Wish) -> Result<Came, Error> {
        self.with(|lines, now| {
            let place = lines.enter(key, wish, now)?;
            while let Step::More = look(lines, key, Looks::Passer, now) {}
            lines.stir(key, now);
            Ok(lines.hear(place).map_or(Came::Waits(place), Came::Told))
        })
    }

    /// What the driver of a line has to do. Stores that answer at once have been asked then.
    pub(crate) fn step(&self, key: &Arc<OwnKey>, waker: &Waker) -> Step {
        self.with(|lines, now| look(lines, key, Looks::Driver(waker), now))
    }

    /// Gives back what was charged for nobody, and lets look again who is refused because of it.
    pub(crate) fn give_back(&self, key: &Arc<OwnKey>, paid: Paid) {
        if !paid.is_nothing() {
            paid.give_back();
            self.with(|lines, now| lines.forgive(key, now));
        }
    }

    /// The limits of this throttle, for a call that is charged by several.
    pub(crate) fn part(&self, key: &Arc<OwnKey>) -> Option<Part> {
        self.with(|lines, _| lines.rules().part(key))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What there is to do for a line, once stores that answer at once have been asked for a batch.
fn look(lines: &mut Lines, key: &Arc<OwnKey>, looks: Looks<'_>, now: Instant) -> Step {
    for _ in 0..BATCH {
        let step = lines.step(key, looks, now);
        let Step::Ask(question) = &step else { return step };
        let own;
        let parts = match &question.terms {
            Some(terms) => terms.parts(),
            None => {
                own = lines.rules().part(key);
                own.as_slice()
            }
        };
        if Distance::of(parts.iter().map(|part| &part.limiter)) == Distance::Away {
            return step;
        }
        let answer = ask::ask_now(parts, question.cost, question.patience);
        lines.answered(key, answer, now);
    }
    Step::More
}
