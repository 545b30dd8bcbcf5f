//! The lines of all keys.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use foldhash::fast::RandomState;
use tokio::time::Instant;
use tollgate_core::algorithm::Patience;
use tollgate_core::{Held, StoreError};

use super::books::{Audience, Books, Effects};
use super::event::News;
use super::lease::Keep;
use super::line::Line;
use super::rules::Rules;
use super::stats::Stats;
use super::step::{Lacks, Looks, Start, Step};
use super::wish::{Answer, Outcome, Place, Wish};
use crate::error::Kind;
use crate::key::OwnKey;

/// The lines of all keys of a throttle. A key without calls has none.
///
/// All of the waiting is in here, as a plain value: what may happen are its methods, what follows from
/// them are its [`Effects`].
pub(crate) struct Lines {
    rules: Rules,
    lines: HashMap<Arc<OwnKey>, Line, RandomState>,
    books: Books,
    /// Calls that have come.
    entered: u64,
    /// What was said for shared permits.
    said: u64,
    gate: Gate,
}

/// What becomes of a call right after it has come.
#[derive(Debug)]
pub(crate) enum Came {
    /// It has heard.
    Told(Outcome),
    /// It waits.
    Waits(Place),
}

/// Whether new calls are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    Closed,
}

impl Lines {
    pub(crate) fn new(rules: Rules, now: Instant) -> Lines {
        let audience = match rules.listener {
            Some(_) => Audience::Listens,
            None => Audience::Nobody,
        };
        let books = Books::new(now, audience);
        Lines { rules, lines: HashMap::default(), books, entered: 0, said: 0, gate: Gate::Open }
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(crate) fn stats(&self) -> Stats {
        self.books.stats
    }

    /// What follows happens at this instant.
    pub(crate) fn at(&mut self, now: Instant) {
        self.books.now = now;
    }

    /// What is to be done once the lock is let go, if anything is.
    pub(crate) fn effects(&mut self) -> Option<Effects> {
        let effects = &mut self.books.effects;
        (!effects.is_empty()).then(|| std::mem::take(effects))
    }

    /// Lets a call go that need not wait, or gives it a place in its line. Whether it may go is seen by
    /// [`Lines::step`] or [`Lines::stir`] then, of which one has to follow.
    pub(crate) fn enter(&mut self, key: &Arc<OwnKey>, mut wish: Wish) -> Result<Came, Kind> {
        if self.rules.patience == Patience::Now {
            wish.patience = Patience::Now;
        }
        self.entered = self.entered.saturating_add(1);
        let head_start = wish.priority.levels().saturating_mul(self.rules.head_start);
        let turn = self.books.age().saturating_sub(head_start);
        let place = Place { turn, number: self.entered };
        let entered = if self.gate == Gate::Closed {
            Err(Kind::Stopped)
        } else if self.lines.len() >= self.rules.max_keys && !self.lines.contains_key(key) {
            Err(Kind::Full)
        } else {
            let line = self.lines.entry(Arc::clone(key));
            let line = line.or_insert_with(|| Line::new(Arc::clone(key)));
            line.enter(place, wish, &self.rules, &mut self.books)
        };
        match entered {
            Ok(Some(outcome)) => {
                self.books.stats.count(&outcome);
                Ok(Came::Told(outcome))
            }
            Ok(None) => Ok(Came::Waits(place)),
            Err(why) => {
                self.tidy(key);
                self.books.stats.refuse(&why);
                self.books.news(|| News::Ends(Arc::clone(key), why.clone().into()));
                Err(why)
            }
        }
    }

    /// The word that was left for a call that has just come; else it is known to wait.
    pub(crate) fn came(&mut self, key: &Arc<OwnKey>, place: Place) -> Came {
        match self.books.hear(place) {
            Some(outcome) => Came::Told(outcome),
            None => {
                self.books.news(|| News::Waits(Arc::clone(key)));
                Came::Waits(place)
            }
        }
    }

    /// The word that was left for a call.
    pub(crate) fn hear(&mut self, place: Place) -> Option<Outcome> {
        self.books.hear(place)
    }

    /// Whether word was left for a call.
    pub(crate) fn has_told(&self, place: Place) -> bool {
        self.books.has_told(place)
    }

    /// Keeps the waker of a call that waits, and says which tasks its line lacks.
    pub(crate) fn watch(&mut self, key: &Arc<OwnKey>, place: Place, waker: &Waker) -> Lacks {
        let line = self.lines.get_mut(key);
        line.map_or(Lacks::NOTHING, |line| line.watch(place, waker, &self.rules))
    }

    /// Which tasks its line lacks for a call that waits.
    pub(crate) fn lacks(&mut self, key: &Arc<OwnKey>, place: Place) -> Lacks {
        let line = self.lines.get_mut(key);
        line.map_or(Lacks::NOTHING, |line| line.lacks(place, &self.rules))
    }

    /// Makes the caller the driver of a line, unless there is one.
    pub(crate) fn start_driver(&mut self, key: &Arc<OwnKey>) -> Start {
        self.lines.get_mut(key).map_or(Start::No, Line::start_driver)
    }

    /// Makes the caller the keeper of a line's shared permits, unless there is one.
    pub(crate) fn start_keeper(&mut self, key: &Arc<OwnKey>) -> Start {
        self.lines.get_mut(key).map_or(Start::No, Line::start_keeper)
    }

    /// What there is to do for a line.
    pub(crate) fn step(&mut self, key: &Arc<OwnKey>, looks: Looks<'_>) -> Step {
        self.on(key, |line, rules, books| line.step(looks, rules, books)).unwrap_or(Step::Over)
    }

    /// Takes the store's answer.
    pub(crate) fn answered(&mut self, key: &Arc<OwnKey>, answer: Answer) {
        self.on(key, |line, rules, books| line.answered(answer, rules, books));
    }

    /// Lets go who may, and wakes whoever has work.
    pub(crate) fn stir(&mut self, key: &Arc<OwnKey>) {
        self.on(key, |line, rules, books| line.stir(rules, books));
    }

    /// The time of a call is up: it leaves, unless it has been told something.
    pub(crate) fn expire(&mut self, key: &Arc<OwnKey>, place: Place) -> Outcome {
        if let Some(outcome) = self.books.hear(place) {
            return outcome;
        }
        self.on(key, |line, rules, books| line.leave(place, rules, books));
        self.books.stats.refuse(&Kind::Late);
        self.books.news(|| News::Ends(Arc::clone(key), Kind::Late.into()));
        Outcome::Ends(Kind::Late)
    }

    /// A call is dropped. What it was told and has not heard is returned.
    pub(crate) fn leave(&mut self, key: &Arc<OwnKey>, place: Place) -> Option<Outcome> {
        self.books.stats.leave();
        let told = self.books.overhear(place);
        if told.is_none() {
            self.on(key, |line, rules, books| line.leave(place, rules, books));
        }
        told
    }

    /// A permit comes back.
    pub(crate) fn release(&mut self, key: &Arc<OwnKey>) {
        self.on(key, |line, rules, books| line.release(rules, books));
    }

    /// The one who had the turn has gone on.
    pub(crate) fn pass_on(&mut self, key: &Arc<OwnKey>) {
        self.on(key, |line, rules, books| line.pass_on(rules, books));
    }

    /// Something was given back to the store.
    pub(crate) fn forgive(&mut self, key: &Arc<OwnKey>) {
        self.on(key, |line, rules, books| line.forgive(rules, books));
    }

    /// The driver of a line is gone before its time.
    pub(crate) fn driver_gone(&mut self, key: &Arc<OwnKey>) {
        self.on(key, |line, _, books| line.driver_gone(books));
    }

    /// What the keeper of a line's shared permits has to do, and the number of its message.
    pub(crate) fn keep(&mut self, key: &Arc<OwnKey>, waker: &Waker) -> (Keep, u64) {
        let keep = self.on(key, |line, rules, books| line.keep(waker, rules, books));
        if matches!(keep, Some(Keep::Say(_))) {
            self.said = self.said.saturating_add(1);
        }
        (keep.unwrap_or(Keep::Over), self.said)
    }

    /// Takes the answer to what the keeper said.
    pub(crate) fn kept(
        &mut self,
        key: &Arc<OwnKey>,
        answer: Result<Held, StoreError>,
        pause: Duration,
    ) {
        self.on(key, |line, rules, books| line.kept(answer, pause, rules, books));
    }

    /// The keeper of a line is gone before its time.
    pub(crate) fn keeper_gone(&mut self, key: &Arc<OwnKey>) {
        self.on(key, |line, _, books| line.keeper_gone(books));
    }

    /// The earliest instant at which a call goes, as its line stands.
    pub(crate) fn due(&self, key: &Arc<OwnKey>, place: Place) -> Option<Instant> {
        self.lines.get(key)?.due(place, &self.rules, &self.books)
    }

    /// Changes how many permits of each key may be out.
    pub(crate) fn set_max_in_flight(&mut self, most: Option<u32>) {
        self.rules.max_in_flight = most;
        for line in self.lines.values_mut() {
            line.stir(&self.rules, &mut self.books);
        }
    }

    /// Takes no more calls.
    pub(crate) fn close(&mut self) {
        self.gate = Gate::Closed;
    }

    /// Ends all that wait.
    pub(crate) fn clear(&mut self) {
        let Lines { lines, rules, books, .. } = self;
        lines.retain(|_, line| {
            line.clear(rules, books);
            !line.is_idle()
        });
    }

    /// Whether no call is taken, none waits and none is underway.
    pub(crate) fn is_drained(&self) -> bool {
        let Stats { waiting, in_flight, .. } = self.books.stats;
        self.gate == Gate::Closed && waiting == 0 && in_flight == 0
    }

    fn on<T>(
        &mut self,
        key: &Arc<OwnKey>,
        act: impl FnOnce(&mut Line, &Rules, &mut Books) -> T,
    ) -> Option<T> {
        let line = self.lines.get_mut(key)?;
        let out = act(line, &self.rules, &mut self.books);
        if line.is_idle() {
            self.lines.remove(key);
        }
        Some(out)
    }

    fn tidy(&mut self, key: &Arc<OwnKey>) {
        if self.lines.get(key).is_some_and(Line::is_idle) {
            self.lines.remove(key);
        }
    }
}
