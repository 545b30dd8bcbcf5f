//! The lines of all keys.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;

use tokio::time::Instant;
use tollgate_core::algorithm::Patience;

use super::books::Books;
use super::line::{Drive, Line, Looks, Step};
use super::rules::Rules;
use super::wish::{Answer, Outcome, Place, Wish};
use crate::error::Kind;
use crate::key::OwnKey;

/// Whether new calls are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Open,
    Closed,
}

/// The lines of all keys of a throttle. A key without calls has none.
pub(crate) struct Lines {
    rules: Rules,
    lines: HashMap<Arc<OwnKey>, Line>,
    books: Books,
    born: Instant,
    entered: u64,
    gate: Gate,
}

impl Lines {
    pub(crate) fn new(rules: Rules, now: Instant) -> Lines {
        Lines {
            rules,
            lines: HashMap::new(),
            books: Books::default(),
            born: now,
            entered: 0,
            gate: Gate::Open,
        }
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(crate) fn books(&mut self) -> &mut Books {
        &mut self.books
    }

    /// How many wait, and how many permits are out.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.books.waiting, self.books.held)
    }

    /// Permits of a key that are out.
    pub(crate) fn held(&self, key: &Arc<OwnKey>) -> u32 {
        self.lines.get(key).map_or(0, Line::held)
    }

    /// Gives a call a place in its line. Whether it may go is seen by [`Lines::step`] or
    /// [`Lines::stir`], of which one has to follow.
    pub(crate) fn enter(
        &mut self,
        key: &Arc<OwnKey>,
        mut wish: Wish,
        now: Instant,
    ) -> Result<Place, Kind> {
        if self.rules.patience == Patience::Now {
            wish.patience = Patience::Now;
        }
        if self.gate == Gate::Closed {
            return Err(Kind::Stopped);
        }
        if self.lines.len() >= self.rules.max_keys && !self.lines.contains_key(key) {
            return Err(Kind::Full);
        }
        self.entered = self.entered.saturating_add(1);
        let came = now.saturating_duration_since(self.born).as_micros();
        let head_start = wish.priority.levels().saturating_mul(self.rules.head_start);
        let turn = i64::try_from(came).unwrap_or(i64::MAX).saturating_sub(head_start);
        let place = Place { turn, number: self.entered };
        let line = self.lines.entry(Arc::clone(key)).or_insert_with(|| Line::new(Arc::clone(key)));
        let entered = line.enter(place, wish, &self.rules, &mut self.books, now);
        if entered.is_err() {
            self.tidy(key);
        }
        entered.map(|()| place)
    }

    /// The word that was left for a call.
    pub(crate) fn hear(&mut self, place: Place) -> Option<Outcome> {
        self.books.hear(place)
    }

    /// Whether word was left for a call.
    pub(crate) fn is_told(&self, place: Place) -> bool {
        self.books.has_told(place)
    }

    /// Keeps the waker of a call that waits.
    pub(crate) fn watch(&mut self, key: &Arc<OwnKey>, place: Place, waker: &Waker) -> Drive {
        let line = self.lines.get_mut(key);
        line.map_or(Drive::No, |line| line.watch(place, waker, &self.rules))
    }

    /// Whether somebody has to start the driver for a call that waits.
    pub(crate) fn drive(&mut self, key: &Arc<OwnKey>, place: Place) -> Drive {
        let line = self.lines.get_mut(key);
        line.map_or(Drive::No, |line| line.drive(place, &self.rules))
    }

    /// Makes the caller the driver of a line, unless there is one.
    pub(crate) fn start(&mut self, key: &Arc<OwnKey>) -> Drive {
        self.lines.get_mut(key).map_or(Drive::No, Line::start)
    }

    /// What a driver has to do.
    pub(crate) fn step(&mut self, key: &Arc<OwnKey>, looks: Looks<'_>, now: Instant) -> Step {
        self.on(key, |line, rules, books| line.step(looks, rules, books, now)).unwrap_or(Step::Over)
    }

    /// Takes the store's answer.
    pub(crate) fn answered(&mut self, key: &Arc<OwnKey>, answer: Answer, now: Instant) {
        self.on(key, |line, rules, books| line.answered(answer, rules, books, now));
    }

    /// Lets go who may, and wakes the driver if it has work.
    pub(crate) fn stir(&mut self, key: &Arc<OwnKey>, now: Instant) {
        self.on(key, |line, rules, books| line.stir(rules, books, now));
    }

    /// A call leaves: it has been dropped, or its time is up. What it was told and has not heard is
    /// returned.
    pub(crate) fn leave(
        &mut self,
        key: &Arc<OwnKey>,
        place: Place,
        now: Instant,
    ) -> Option<Outcome> {
        let heard = self.books.hear(place);
        if heard.is_none() {
            self.on(key, |line, rules, books| line.leave(place, rules, books, now));
        }
        heard
    }

    /// A permit comes back.
    pub(crate) fn release(&mut self, key: &Arc<OwnKey>, now: Instant) {
        self.on(key, |line, rules, books| line.release(rules, books, now));
    }

    /// The one who had the turn has gone on.
    pub(crate) fn pass_on(&mut self, key: &Arc<OwnKey>, now: Instant) {
        self.on(key, |line, rules, books| line.pass_on(rules, books, now));
    }

    /// Something was given back to the store.
    pub(crate) fn forgive(&mut self, key: &Arc<OwnKey>, now: Instant) {
        self.on(key, |line, rules, books| line.forgive(rules, books, now));
    }

    /// The driver of a line is gone before its time.
    pub(crate) fn driver_gone(&mut self, key: &Arc<OwnKey>) {
        self.on(key, |line, _, books| line.driver_gone(books));
    }

    /// The earliest instant at which a call goes, as its line stands.
    pub(crate) fn due(&self, key: &Arc<OwnKey>, place: Place, now: Instant) -> Option<Instant> {
        self.lines.get(key)?.due(place, &self.rules, now)
    }

    /// Changes how many permits of each key may be out.
    pub(crate) fn set_max_in_flight(&mut self, most: Option<u32>, now: Instant) {
        self.rules.max_in_flight = most;
        let Lines { lines, rules, books, .. } = self;
        for line in lines.values_mut() {
            line.stir(rules, books, now);
        }
    }

    /// Takes no more calls.
    pub(crate) fn close(&mut self) {
        self.gate = Gate::Closed;
    }

    /// Ends all that wait.
    pub(crate) fn clear(&mut self, now: Instant) {
        let Lines { lines, rules, books, .. } = self;
        lines.retain(|_, line| {
            line.clear(rules, books, now);
            !line.is_idle()
        });
    }

    /// Whether no call is accepted, none waits and none is underway.
    pub(crate) fn is_drained(&self) -> bool {
        self.gate == Gate::Closed && self.books.waiting == 0 && self.books.held == 0
    }

    fn on<T>(
        &mut self,
        key: &Arc<OwnKey>,
        act: impl FnOnce(&mut Line, &Rules, &mut Books) -> T,
    ) -> Option<T> {
        let line = self.lines.get_mut(key)?;
        let out = act(line, &self.rules, &mut self.books);
        self.tidy(key);
        Some(out)
    }

    fn tidy(&mut self, key: &Arc<OwnKey>) {
        if self.lines.get(key).is_some_and(Line::is_idle) {
            self.lines.remove(key);
        }
    }
}
