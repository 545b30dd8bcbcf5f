//! One line: who of the calls of one key may go, and who has to be woken for it.

use std::sync::Arc;
use std::task::Waker;

use tokio::time::Instant;
use tollgate_core::Span;
use tollgate_core::algorithm::Patience;

use super::ask::{Distance, Paid};
use super::books::Books;
use super::forecast;
use super::queue::{Entered, Entry, Queue};
use super::rules::Rules;
use super::wish::{Answer, Outcome, Place, Question, Wants, Wish};
use crate::error::Kind;
use crate::key::OwnKey;

/// Whether one who had its turn here is on its way through other lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Free,
    Taken,
}

/// What the store was asked for the one that goes next.
#[derive(Debug)]
enum Asking {
    Nobody,
    /// It has not answered. The call it is asked for may have left.
    Asked(Question),
    /// It has charged, and the call may go at that instant.
    Charged(Question, Paid, Instant),
}

/// The task that asks the store for this line.
#[derive(Debug)]
enum Driver {
    Absent,
    /// It runs, and where it sleeps it has left a waker.
    Runs(Option<Waker>),
}

/// What the driver of a line has to do.
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

/// Whether a line needs a driver that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drive {
    Start,
    No,
}

/// The calls of one key: those that wait, and the permits that are out.
#[derive(Debug)]
pub(crate) struct Line {
    key: Arc<OwnKey>,
    queue: Queue,
    held: u32,
    turn: Turn,
    asking: Asking,
    /// The store's last refusal, and until when it holds.
    refused: Option<(Question, Instant)>,
    driver: Driver,
}

impl Line {
    pub(crate) fn new(key: Arc<OwnKey>) -> Line {
        Line {
            key,
            queue: Queue::default(),
            held: 0,
            turn: Turn::Free,
            asking: Asking::Nobody,
            refused: None,
            driver: Driver::Absent,
        }
    }

    /// Whether nothing would be lost with it.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
            && self.held == 0
            && matches!(self.asking, Asking::Nobody)
            && matches!(self.driver, Driver::Absent)
    }

    /// Permits that are out.
    pub(crate) fn held(&self) -> u32 {
        self.held
    }

    /// Gives a call its place, or says why it has none.
    pub(crate) fn enter(
        &mut self,
        place: Place,
        wish: Wish,
        rules: &Rules,
        books: &mut Books,
        now: Instant,
    ) -> Result<(), Kind> {
        let is_open = self.queue.is_empty() && self.turn == Turn::Free && self.has_room(rules);
        if wish.patience == Patience::Now && !is_open {
            return Err(Kind::Busy(self.refused_for(now)));
        }
        if let Some(deadline) = wish.deadline
            && let Some(cost) = self.queue.cost_with_last(place, wish.cost)
            && matches!(wish.wants, Wants::Own)
            && self.earliest(cost, rules, now).is_some_and(|earliest| earliest > deadline)
        {
            return Err(Kind::Late);
        }
        match self.queue.enter(place, Entry { wish, waker: None }, rules.bound) {
            Entered::Yes => books.waiting = books.waiting.saturating_add(1),
            Entered::Instead(old, gone) => {
                books.tell(old, gone.waker, Outcome::Ends(Kind::Displaced));
                self.hand_on(rules, books, now);
            }
            Entered::No => return Err(Kind::Full),
        }
        Ok(())
    }

    /// Keeps the waker of a call that waits, and says whether somebody has to start the driver for it.
    pub(crate) fn watch(&mut self, place: Place, waker: &Waker, rules: &Rules) -> Drive {
        let Some(entry) = self.queue.get_mut(place) else { return Drive::No };
        match &mut entry.waker {
            Some(old) => old.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        self.drive(place, rules)
    }

    /// Whether somebody has to start the driver for a call that waits.
    pub(crate) fn drive(&mut self, place: Place, rules: &Rules) -> Drive {
        match (&self.driver, self.queue.get_mut(place)) {
            (Driver::Absent, Some(entry)) if needs_store(&entry.wish, rules) => Drive::Start,
            _ => Drive::No,
        }
    }

    /// Makes the caller the driver, unless there is one or nothing to do.
    pub(crate) fn start(&mut self) -> Drive {
        if matches!(self.driver, Driver::Runs(_)) || self.queue.is_empty() {
            return Drive::No;
        }
        self.driver = Driver::Runs(None);
        Drive::Start
    }

    /// A call leaves before its turn.
    pub(crate) fn leave(&mut self, place: Place, rules: &Rules, books: &mut Books, now: Instant) {
        if self.queue.remove(place, rules.bound).is_some() {
            books.waiting = books.waiting.saturating_sub(1);
            self.hand_on(rules, books, now);
        }
        self.stir(rules, books, now);
    }

    /// A permit comes back.
    pub(crate) fn release(&mut self, rules: &Rules, books: &mut Books, now: Instant) {
        self.held = self.held.saturating_sub(1);
        books.held = books.held.saturating_sub(1);
        self.stir(rules, books, now);
    }

    /// The one who had the turn has gone on; it keeps its permit.
    pub(crate) fn pass_on(&mut self, rules: &Rules, books: &mut Books, now: Instant) {
        self.turn = Turn::Free;
        self.stir(rules, books, now);
    }

    /// Something was given back to the store, so that its last refusal may hold no longer.
    pub(crate) fn forgive(&mut self, rules: &Rules, books: &mut Books, now: Instant) {
        self.refused = None;
        self.stir(rules, books, now);
    }

    /// Ends everyone who waits.
    pub(crate) fn clear(&mut self, rules: &Rules, books: &mut Books, now: Instant) {
        while let Some(place) = self.queue.any() {
            self.end(place, Outcome::Ends(Kind::Stopped), rules, books);
        }
        self.hand_on(rules, books, now);
        self.stir(rules, books, now);
    }

    /// Lets go who may go without the store, and wakes the driver if it has something to do.
    ///
    /// After this nobody waits who could go at once, but for whom the store has to be asked.
    pub(crate) fn stir(&mut self, rules: &Rules, books: &mut Books, now: Instant) {
        self.let_go(rules, books);
        if self.has_work(rules, now)
            && let Driver::Runs(waker) = &mut self.driver
        {
            books.wakes.extend(waker.take());
        }
    }

    /// What there is to do for the line. The store's answer has to follow where it is to be asked.
    pub(crate) fn step(
        &mut self,
        looks: Looks<'_>,
        rules: &Rules,
        books: &mut Books,
        now: Instant,
    ) -> Step {
        let step = loop {
            self.let_go(rules, books);
            match &self.asking {
                Asking::Asked(_) => break Step::Parked,
                Asking::Charged(_, _, due) if *due > now => break Step::At(*due),
                Asking::Charged(..) => {
                    self.grant_charged(rules, books);
                    continue;
                }
                Asking::Nobody => {}
            }
            let Some((place, wish)) = self.queue.first() else { break Step::Over };
            if self.turn == Turn::Taken || !self.has_room(rules) {
                break Step::Parked;
            }
            match &self.refused {
                Some((refused, until)) if *until > now && refused.covers(wish) => {
                    match too_late(wish, *until, now) {
                        Some(why) => self.end(place, Outcome::Ends(why), rules, books),
                        None => break Step::At(*until),
                    }
                }
                _ if matches!(looks, Looks::Passer) && !is_local(wish, rules) => {
                    break Step::Parked;
                }
                _ => {
                    self.refused = None;
                    let question = Question::of(place, wish);
                    self.asking = Asking::Asked(question.clone());
                    break Step::Ask(question);
                }
            }
        };
        if let (Driver::Runs(kept), Looks::Driver(waker)) = (&mut self.driver, looks) {
            match (&step, kept) {
                (Step::Over, _) => self.driver = Driver::Absent,
                (_, Some(old)) => old.clone_from(waker),
                (_, none) => *none = Some(waker.clone()),
            }
        }
        step
    }

    /// Takes the store's answer to what [`Line::step`] asked.
    pub(crate) fn answered(
        &mut self,
        answer: Answer,
        rules: &Rules,
        books: &mut Books,
        now: Instant,
    ) {
        let Asking::Asked(question) = std::mem::replace(&mut self.asking, Asking::Nobody) else {
            return;
        };
        match answer {
            Answer::Passes(wait, paid) => {
                self.asking = Asking::Charged(question, paid, after(now, wait));
                self.hand_on(rules, books, now);
            }
            Answer::Denied(span) => self.refused = Some((question, after(now, span))),
            Answer::Failed(why) if self.queue.wish(question.place).is_some() => {
                self.end(question.place, Outcome::Ends(why), rules, books);
            }
            Answer::Failed(_) => {}
        }
        self.stir(rules, books, now);
    }

    /// The driver is gone before its time: whoever is polled next starts another.
    pub(crate) fn driver_gone(&mut self, books: &mut Books) {
        self.driver = Driver::Absent;
        if matches!(self.asking, Asking::Asked(_)) {
            self.asking = Asking::Nobody;
        }
        books.wakes.extend(self.queue.take_wakers());
    }

    /// The earliest instant at which the call of this place goes, as the line stands.
    pub(crate) fn due(&self, place: Place, rules: &Rules, now: Instant) -> Option<Instant> {
        match &self.asking {
            Asking::Charged(question, _, due) if question.place == place => Some(*due),
            _ => self.earliest(self.queue.cost_up_to(place), rules, now),
        }
    }

    /// When at the earliest the last of calls goes that cost so much, the first in the line among
    /// them. Nobody knows where nobody was refused, or a permit is missing.
    fn earliest(&self, cost: u128, rules: &Rules, now: Instant) -> Option<Instant> {
        let (refused, until) = self.refused.as_ref().filter(|(_, until)| *until > now)?;
        let (_, first) = self.queue.first()?;
        if !refused.covers(first) {
            return None;
        }
        let behind = cost.saturating_sub(first.cost.into());
        let later = forecast::later(rules.limits(), first.cost.into(), behind);
        Some(after(*until, later))
    }

    fn refused_for(&self, now: Instant) -> Option<Span> {
        let until = self.refused.as_ref()?.1;
        until.checked_duration_since(now).filter(|left| !left.is_zero()).map(Span::from)
    }

    /// Whether one more permit may go out.
    fn has_room(&self, rules: &Rules) -> bool {
        let reserved = u32::from(!matches!(self.asking, Asking::Nobody));
        rules.max_in_flight.is_none_or(|most| self.held.saturating_add(reserved) < most)
    }

    /// Whether the driver would do anything if it looked now.
    fn has_work(&self, rules: &Rules, now: Instant) -> bool {
        let (Asking::Nobody, Some((_, wish))) = (&self.asking, self.queue.first()) else {
            return self.queue.is_empty() && matches!(self.asking, Asking::Nobody);
        };
        if self.turn == Turn::Taken || !self.has_room(rules) {
            return false;
        }
        match &self.refused {
            Some((refused, until)) if *until > now && refused.covers(wish) => {
                too_late(wish, *until, now).is_some()
            }
            _ => true,
        }
    }

    /// Lets go who needs no store.
    fn let_go(&mut self, rules: &Rules, books: &mut Books) {
        while let (Turn::Free, Asking::Nobody) = (self.turn, &self.asking) {
            let Some((place, wish)) = self.queue.first() else { return };
            if needs_store(wish, rules) || !self.has_room(rules) {
                return;
            }
            if matches!(wish.wants, Wants::Turn) {
                self.turn = Turn::Taken;
            }
            self.grant(place, Paid::nothing(), rules, books);
        }
    }

    fn grant_charged(&mut self, rules: &Rules, books: &mut Books) {
        match std::mem::replace(&mut self.asking, Asking::Nobody) {
            Asking::Charged(question, paid, _) => self.grant(question.place, paid, rules, books),
            other => self.asking = other,
        }
    }

    fn grant(&mut self, place: Place, paid: Paid, rules: &Rules, books: &mut Books) {
        self.held = self.held.saturating_add(1);
        books.held = books.held.saturating_add(1);
        self.end(place, Outcome::Goes(paid), rules, books);
    }

    /// Takes a call out of the line and tells it why.
    fn end(&mut self, place: Place, outcome: Outcome, rules: &Rules, books: &mut Books) {
        if let Some(entry) = self.queue.remove(place, rules.bound) {
            books.waiting = books.waiting.saturating_sub(1);
            books.tell(place, entry.waker, outcome);
        }
    }

    /// What is charged for a call that has left belongs to the one that goes next, if it costs the
    /// same; else it is given back.
    fn hand_on(&mut self, rules: &Rules, books: &mut Books, now: Instant) {
        while let Asking::Charged(question, _, due) = &mut self.asking {
            let asked = self.queue.wish(question.place).map(|wish| (question.place, wish));
            let next = asked.or_else(|| self.queue.first().filter(|(_, wish)| question.fits(wish)));
            let Some((place, wish)) = next else { break };
            match too_late(wish, *due, now) {
                Some(why) => self.end(place, Outcome::Ends(why), rules, books),
                None => {
                    question.place = place;
                    return;
                }
            }
        }
        if let Asking::Charged(..) = &self.asking
            && let Asking::Charged(_, paid, _) = std::mem::replace(&mut self.asking, Asking::Nobody)
        {
            books.back.push((Arc::clone(&self.key), paid));
        }
    }
}

/// Whether a store has to be asked before the call may go.
fn needs_store(wish: &Wish, rules: &Rules) -> bool {
    match &wish.wants {
        Wants::Own => !rules.limits().is_empty(),
        Wants::All(terms) => !terms.is_empty(),
        Wants::Turn => false,
    }
}

/// Whether the stores that would be asked answer at once.
fn is_local(wish: &Wish, rules: &Rules) -> bool {
    match &wish.wants {
        Wants::Own => rules.distance == Distance::Here,
        Wants::All(terms) => terms.distance() == Distance::Here,
        Wants::Turn => true,
    }
}

/// Why a call does not wait until `due`, if it does not.
fn too_late(wish: &Wish, due: Instant, now: Instant) -> Option<Kind> {
    if due <= now {
        None
    } else if wish.patience == Patience::Now {
        Some(Kind::Busy(Some(due.saturating_duration_since(now).into())))
    } else {
        wish.deadline.filter(|deadline| *deadline < due).map(|_| Kind::Late)
    }
}

/// An instant so much later; a century where that is past what can be said.
fn after(now: Instant, span: Span) -> Instant {
    const CENTURY: std::time::Duration = std::time::Duration::from_secs(3_155_760_000);
    now.checked_add(span.into()).unwrap_or_else(|| now + CENTURY)
}
