//! What the clones of a throttle share: its lines behind one lock.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use tokio::sync::Notify;
use tollgate_core::Key;

use super::ask;
use super::books::Effects;
use super::event::Listener;
use super::lease::Keep;
use super::lines::{Came, Lines};
use super::paid::Paid;
use super::part::{Distance, OwnPart, Part};
use super::rules::{Rules, Sharing};
use super::step::{Looks, Step};
use super::wish::{Answer, Question, Wish};
use crate::error::Error;
use crate::key::OwnKey;
use crate::sync::{Mutex, now, whole};

/// How many calls are let go at most before others have the lock.
const BATCH: usize = 64;

/// What the clones of a throttle share.
pub(crate) struct Shared {
    /// A number of its own: who goes through several throttles enters them in this order.
    pub(crate) id: u64,
    /// Of all calls that have no key.
    pub(crate) common: Arc<OwnKey>,
    /// Permits it shares with other processes.
    pub(crate) sharing: Option<Sharing>,
    /// Told when a throttle that takes no more calls has none left.
    pub(crate) drained: Notify,
    listener: Option<Listener>,
    lines: Mutex<Lines>,
}

impl Shared {
    pub(crate) fn new(id: u64, rules: Rules) -> Shared {
        Shared {
            id,
            common: Arc::new(Key::from("").into()),
            sharing: rules.sharing.clone(),
            drained: Notify::new(),
            listener: rules.listener.clone(),
            lines: Mutex::new(Lines::new(rules, now())),
        }
    }

    /// Does one thing to the lines, and once the lock is let go whatever follows from it.
    pub(crate) fn with<T>(self: &Arc<Self>, act: impl FnOnce(&mut Lines) -> T) -> T {
        let mut lines = whole(self.lines.lock());
        // Read under the lock, so that times never run against the order of events.
        lines.at(now());
        let out = act(&mut lines);
        let effects = lines.effects();
        let is_drained = lines.is_drained();
        drop(lines);
        if let Some(effects) = effects {
            self.follow(effects);
        }
        if is_drained {
            self.drained.notify_waiters();
        }
        out
    }

    fn follow(self: &Arc<Self>, effects: Effects) {
        effects.wakes.into_iter().for_each(Waker::wake);
        for (key, paid) in effects.back {
            self.give_back(&key, paid);
        }
        if let Some(listener) = &self.listener {
            effects.news.iter().for_each(|news| news.tell(listener));
        }
    }

    /// A call comes.
    pub(crate) fn enter(self: &Arc<Self>, key: &Arc<OwnKey>, wish: Wish) -> Result<Came, Error> {
        self.with(|lines| {
            let place = match lines.enter(key, wish)? {
                Came::Waits(place) => place,
                told @ Came::Told(_) => return Ok(told),
            };
            while let Step::More = look(lines, key, Looks::Passer) {}
            lines.stir(key);
            Ok(lines.came(key, place))
        })
    }

    /// What the driver of a line has to do. Stores that answer at once have been asked then.
    pub(crate) fn step(self: &Arc<Self>, key: &Arc<OwnKey>, waker: &Waker) -> Step {
        self.with(|lines| look(lines, key, Looks::Driver(waker)))
    }

    /// What the keeper of a line's shared permits has to do, and the number of its message.
    pub(crate) fn keep(self: &Arc<Self>, key: &Arc<OwnKey>, waker: &Waker) -> (Keep, u64) {
        self.with(|lines| lines.keep(key, waker))
    }

    /// Gives back what was charged for nobody, and has those look again who are refused because of it.
    pub(crate) fn give_back(self: &Arc<Self>, key: &Arc<OwnKey>, paid: Paid) {
        if !paid.is_nothing() {
            let (shared, key) = (Arc::clone(self), Arc::clone(key));
            paid.give_back(move || shared.with(|lines| lines.forgive(&key)));
        }
    }

    /// The limits of this throttle as those that charge this key.
    pub(crate) fn part(self: &Arc<Self>, key: &Arc<OwnKey>) -> Option<OwnPart> {
        self.with(|lines| lines.rules().part(key).map(Part::keep))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What there is to do for a line, once stores that answer at once have been asked for a batch.
fn look(lines: &mut Lines, key: &Arc<OwnKey>, looks: Looks<'_>) -> Step {
    for _ in 0..BATCH {
        let step = lines.step(key, looks);
        let Step::Ask(question) = &step else { return step };
        let Some(answer) = ask_here(lines.rules(), key, question) else { return step };
        lines.answered(key, answer);
    }
    Step::More
}

/// What stores in this process answer; nothing where one of them is elsewhere.
fn ask_here(rules: &Rules, key: &Arc<OwnKey>, question: &Question) -> Option<Answer> {
    let (parts, distance) = match &question.terms {
        Some(terms) => (terms.parts(), terms.distance()),
        None => (rules.part(key).into_iter().collect(), rules.distance),
    };
    let is_here = distance == Distance::Here;
    is_here.then(|| ask::ask_now(&parts, question.cost, question.patience))
}
