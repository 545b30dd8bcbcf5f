//! One line: who of the calls of one key may go, and who has to be woken for it.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_core::algorithm::Patience;
use tollgate_core::{Held, Span, StoreError};

use super::ask::{Distance, Paid};
use super::books::Books;
use super::event::News;
use super::forecast;
use super::lease::{Keep, Lease};
use super::queue::{Entered, Entry, Queue};
use super::rules::Rules;
use super::step::{Lacks, Looks, Start, Step, Worker};
use super::wish::{Answer, Outcome, Place, Question, Wants, Wish};
use crate::error::Kind;
use crate::key::OwnKey;

/// The calls of one key: those that wait, and the permits that are out.
///
/// Every method leaves it so that nobody waits who may go without a store being asked, and that the
/// driver is awake if the store is to be asked for the first.
#[derive(Debug)]
pub(crate) struct Line {
    key: Arc<OwnKey>,
    queue: Queue,
    held: u32,
    turn: Turn,
    asking: Asking,
    /// The store's last refusal, and until when it holds.
    refused: Option<(Question, Instant)>,
    driver: Worker,
    /// Permits shared with other processes, and who speaks for them.
    lease: Lease,
    keeper: Worker,
}

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
    /// It has not answered. The call it is asked for may have left, and something may have been given
    /// back meanwhile.
    Asked(Question, Since),
    /// It has charged, and the call may go at that instant.
    Charged(Question, Paid, Instant),
    /// What it has charged for nobody is on its way back. Asked before that is there, it would count
    /// the next one behind it.
    Returning,
}

/// Whether something was given back since a question was asked, so that a refusal need not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    Nothing,
    GivenBack,
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
            driver: Worker::default(),
            lease: Lease::default(),
            keeper: Worker::default(),
        }
    }

    /// Whether nothing would be lost with it.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
            && self.held == 0
            && matches!(self.asking, Asking::Nobody)
            && self.driver.is_absent()
            && self.keeper.is_absent()
    }

    /// Gives a call its place, or says why it has none. A look at what there is to do has to follow.
    pub(crate) fn enter(
        &mut self,
        place: Place,
        wish: Wish,
        rules: &Rules,
        books: &mut Books,
    ) -> Result<(), Kind> {
        if wish.patience == Patience::Now && !self.is_open(rules, books) {
            return Err(Kind::Busy(self.refused_for(books)));
        }
        if let Some(deadline) = wish.deadline
            && matches!(wish.wants, Wants::Own)
            && let Some(cost) = self.queue.cost_with_last(place, wish.cost)
            && self.earliest(cost, rules, books).is_some_and(|earliest| earliest > deadline)
        {
            return Err(Kind::Late);
        }
        match self.queue.enter(place, Entry { wish, waker: None }, rules.bound) {
            Entered::Yes => books.stats.waiting = books.stats.waiting.saturating_add(1),
            Entered::No => return Err(Kind::Full),
            Entered::Instead(old, gone) => {
                books.stats.waiting = books.stats.waiting.saturating_add(1);
                self.tell(old, gone, Outcome::Ends(Kind::Displaced), rules, books);
                self.hand_on(rules, books);
            }
        }
        Ok(())
    }

    /// Keeps the waker of a call that waits, and says which tasks the line lacks for it.
    pub(crate) fn watch(&mut self, place: Place, waker: &Waker, rules: &Rules) -> Lacks {
        if let Some(entry) = self.queue.get_mut(place) {
            match &mut entry.waker {
                Some(old) => old.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
        self.lacks(place, rules)
    }

    /// Which tasks the line lacks for a call that waits.
    pub(crate) fn lacks(&mut self, place: Place, rules: &Rules) -> Lacks {
        let lacking = |worker: &Worker, needed: bool| match needed && worker.is_absent() {
            true => Start::Yes,
            false => Start::No,
        };
        let Some(entry) = self.queue.get_mut(place) else { return Lacks::NOTHING };
        Lacks {
            driver: lacking(&self.driver, needs_store(&entry.wish, rules)),
            keeper: lacking(&self.keeper, rules.sharing.is_some()),
        }
    }

    /// Makes the caller the driver, unless there is one or nothing to do.
    pub(crate) fn start_driver(&mut self) -> Start {
        if self.queue.is_empty() { Start::No } else { self.driver.start() }
    }

    /// Makes the caller the keeper of shared permits, unless there is one or nothing to do.
    pub(crate) fn start_keeper(&mut self) -> Start {
        if self.queue.is_empty() { Start::No } else { self.keeper.start() }
    }

    /// A call leaves before its turn.
    pub(crate) fn leave(&mut self, place: Place, rules: &Rules, books: &mut Books) {
        if self.queue.remove(place, rules.bound).is_some() {
            books.stats.waiting = books.stats.waiting.saturating_sub(1);
            self.hand_on(rules, books);
        }
        self.stir(rules, books);
    }

    /// A permit comes back.
    pub(crate) fn release(&mut self, rules: &Rules, books: &mut Books) {
        self.held = self.held.saturating_sub(1);
        books.stats.in_flight = books.stats.in_flight.saturating_sub(1);
        books.news(|| News::Freed(Arc::clone(&self.key)));
        self.stir(rules, books);
    }

    /// The one who had the turn has gone on; it keeps its permit.
    pub(crate) fn pass_on(&mut self, rules: &Rules, books: &mut Books) {
        self.turn = Turn::Free;
        self.stir(rules, books);
    }

    /// Something was given back to the store, so that its last refusal may hold no longer.
    pub(crate) fn forgive(&mut self, rules: &Rules, books: &mut Books) {
        self.refused = None;
        match &mut self.asking {
            Asking::Asked(_, since) => *since = Since::GivenBack,
            Asking::Returning => self.asking = Asking::Nobody,
            Asking::Nobody | Asking::Charged(..) => {}
        }
        self.stir(rules, books);
    }

    /// Ends everyone who waits.
    pub(crate) fn clear(&mut self, rules: &Rules, books: &mut Books) {
        while let Some(place) = self.queue.any() {
            self.end(place, Outcome::Ends(Kind::Stopped), rules, books);
        }
        self.hand_on(rules, books);
        self.stir(rules, books);
    }

    /// Lets go who may go without the store, and wakes whoever has something to do.
    pub(crate) fn stir(&mut self, rules: &Rules, books: &mut Books) {
        self.let_go(rules, books);
        if self.has_work(rules, books) {
            books.effects.wakes.extend(self.driver.wake());
        }
        self.rouse_keeper(rules, books);
    }

    /// What there is to do. The store's answer has to follow where it is to be asked.
    pub(crate) fn step(&mut self, looks: Looks<'_>, rules: &Rules, books: &mut Books) -> Step {
        let step = loop {
            self.let_go(rules, books);
            match &self.asking {
                Asking::Asked(..) | Asking::Returning => break Step::Parked,
                Asking::Charged(_, _, due) if *due > books.now => break Step::At(*due),
                Asking::Charged(..) => {
                    self.grant_charged(rules, books);
                    continue;
                }
                Asking::Nobody => {}
            }
            let Some((place, wish)) = self.queue.first() else { break Step::Over };
            if self.turn == Turn::Taken || !self.has_room(rules, books) {
                break Step::Parked;
            }
            match &self.refused {
                Some((refused, until)) if *until > books.now && refused.covers(wish) => {
                    match too_late(wish, *until, books.now) {
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
                    self.asking = Asking::Asked(question.clone(), Since::Nothing);
                    break Step::Ask(question);
                }
            }
        };
        if let Looks::Driver(waker) = looks {
            match step {
                Step::Over => self.driver = Worker::Absent,
                Step::At(due) => self.driver.sleeps(waker, Some(due)),
                Step::Parked => self.driver.sleeps(waker, None),
                // It looks again once the store has answered.
                Step::Ask(_) | Step::More => {}
            }
        }
        self.rouse_keeper(rules, books);
        step
    }

    /// Takes the store's answer to what [`Line::step`] asked.
    pub(crate) fn answered(&mut self, answer: Answer, rules: &Rules, books: &mut Books) {
        let (question, since) = match std::mem::replace(&mut self.asking, Asking::Nobody) {
            Asking::Asked(question, since) => (question, since),
            other => {
                self.asking = other;
                return;
            }
        };
        match answer {
            Answer::Passes(wait, paid) => {
                self.asking = Asking::Charged(question, paid, books.after(wait));
                self.hand_on(rules, books);
            }
            Answer::Denied(_) if since == Since::GivenBack => {}
            Answer::Denied(span) => self.refused = Some((question, books.after(span))),
            Answer::Failed(why) => self.end(question.place, Outcome::Ends(why), rules, books),
        }
        self.stir(rules, books);
    }

    /// The driver is gone before its time: whoever is polled next starts another.
    pub(crate) fn driver_gone(&mut self, books: &mut Books) {
        self.driver = Worker::Absent;
        if matches!(self.asking, Asking::Asked(..)) {
            self.asking = Asking::Nobody;
        }
        books.effects.wakes.extend(self.queue.take_wakers());
    }

    /// What the keeper of shared permits has to do.
    pub(crate) fn keep(&mut self, waker: &Waker, rules: &Rules, books: &mut Books) -> Keep {
        let Some(sharing) = &rules.sharing else { return Keep::Over };
        let (in_use, wanted) = (self.in_use(), self.wanted(rules));
        let keep = self.lease.step(in_use, wanted, sharing.lease, books.now);
        match keep {
            Keep::Over => self.keeper = Worker::Absent,
            Keep::At(due) => self.keeper.sleeps(waker, Some(due)),
            Keep::Parked => self.keeper.sleeps(waker, None),
            Keep::Say(_) => {}
        }
        keep
    }

    /// Takes the answer to what the keeper said.
    pub(crate) fn kept(
        &mut self,
        answer: Result<Held, StoreError>,
        pause: Duration,
        rules: &Rules,
        books: &mut Books,
    ) {
        let Some(sharing) = &rules.sharing else { return };
        self.lease.answered(&answer, pause, sharing.lease, books.now);
        self.let_go(rules, books);
        while !self.has_room(rules, books)
            && let Some((place, wish)) = self.queue.first()
            && wish.patience == Patience::Now
        {
            let why = answer.as_ref().err().map_or(Kind::Busy(None), |e| Kind::Store(e.clone()));
            self.end(place, Outcome::Ends(why), rules, books);
        }
        self.stir(rules, books);
    }

    /// The keeper is gone before its time.
    pub(crate) fn keeper_gone(&mut self, books: &mut Books) {
        self.keeper = Worker::Absent;
        self.lease = Lease::default();
        books.effects.wakes.extend(self.queue.take_wakers());
    }

    /// The earliest instant at which the call of this place goes, as the line stands.
    pub(crate) fn due(&self, place: Place, rules: &Rules, books: &Books) -> Option<Instant> {
        match &self.asking {
            Asking::Charged(question, _, due) if question.place == place => Some(*due),
            _ => self.earliest(self.queue.cost_up_to(place), rules, books),
        }
    }

    /// When at the earliest the last of calls goes that cost so much, the first in the line among
    /// them. Nobody knows where nobody was refused, or a permit is missing.
    fn earliest(&self, cost: u128, rules: &Rules, books: &Books) -> Option<Instant> {
        let (refused, until) = self.refused.as_ref().filter(|(_, until)| *until > books.now)?;
        let (_, first) = self.queue.first()?;
        if !refused.covers(first) {
            return None;
        }
        let behind = cost.saturating_sub(first.cost.into());
        until.checked_add(forecast::later(rules.limits(), first.cost.into(), behind).into())
    }

    fn refused_for(&self, books: &Books) -> Option<Span> {
        let until = self.refused.as_ref()?.1;
        until.checked_duration_since(books.now).filter(|left| !left.is_zero()).map(Span::from)
    }

    /// Permits that are out, and the one that is kept for whom the store is asked.
    fn in_use(&self) -> u32 {
        let is_kept = matches!(self.asking, Asking::Asked(..) | Asking::Charged(..));
        self.held.saturating_add(u32::from(is_kept))
    }

    /// Permits that would be out if there were as many as one likes.
    fn wanted(&self, rules: &Rules) -> u32 {
        let most = rules.sharing.as_ref().map_or(u32::MAX, |sharing| sharing.most);
        let most = most.min(rules.max_in_flight.unwrap_or(u32::MAX)).max(self.in_use());
        let all = u32::try_from(self.queue.len()).unwrap_or(u32::MAX).saturating_add(self.held);
        all.max(self.in_use()).min(most)
    }

    /// Whether one more permit may go out.
    fn has_room(&self, rules: &Rules, books: &Books) -> bool {
        let in_use = self.in_use();
        rules.max_in_flight.is_none_or(|most| in_use < most)
            && (rules.sharing.is_none() || in_use < self.lease.cap(books.now))
    }

    /// Whether one who comes now might go at once.
    fn is_open(&self, rules: &Rules, books: &Books) -> bool {
        let in_use = self.in_use();
        self.queue.is_empty()
            && self.turn == Turn::Free
            && match &rules.sharing {
                None => self.has_room(rules, books),
                Some(sharing) => {
                    rules.max_in_flight.is_none_or(|most| in_use < most)
                        && (in_use < self.lease.cap(books.now)
                            || in_use < sharing.most && self.lease.may_grow(books.now))
                }
            }
    }

    /// Whether the driver would do anything if it looked now.
    fn has_work(&self, rules: &Rules, books: &Books) -> bool {
        let due = match &self.asking {
            Asking::Asked(..) | Asking::Returning => return false,
            Asking::Charged(_, _, due) => *due,
            Asking::Nobody => {
                let Some((_, wish)) = self.queue.first() else { return true };
                if self.turn == Turn::Taken || !self.has_room(rules, books) {
                    return false;
                }
                match &self.refused {
                    Some((refused, until)) if refused.covers(wish) => {
                        if too_late(wish, *until, books.now).is_some() {
                            return true;
                        }
                        *until
                    }
                    _ => return true,
                }
            }
        };
        due <= books.now || self.driver.sleeps_past(due)
    }

    fn rouse_keeper(&mut self, rules: &Rules, books: &mut Books) {
        if rules.sharing.is_some() && self.lease.is_news(self.wanted(rules)) {
            books.effects.wakes.extend(self.keeper.wake());
        }
    }

    /// Lets go who needs no store.
    fn let_go(&mut self, rules: &Rules, books: &mut Books) {
        while let (Turn::Free, Asking::Nobody) = (self.turn, &self.asking) {
            let Some((place, wish)) = self.queue.first() else { return };
            if needs_store(wish, rules) || !self.has_room(rules, books) {
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
            Asking::Charged(question, paid, _) if self.has_room(rules, books) => {
                self.grant(question.place, paid, rules, books);
            }
            // The number of permits was lowered after the question.
            Asking::Charged(_, paid, _) => self.give_back(paid, books),
            other => self.asking = other,
        }
    }

    fn give_back(&mut self, paid: Paid, books: &mut Books) {
        if !paid.is_nothing() {
            self.asking = Asking::Returning;
            books.effects.back.push((Arc::clone(&self.key), paid));
        }
    }

    fn grant(&mut self, place: Place, paid: Paid, rules: &Rules, books: &mut Books) {
        self.held = self.held.saturating_add(1);
        books.stats.in_flight = books.stats.in_flight.saturating_add(1);
        self.end(place, Outcome::Goes(paid), rules, books);
    }

    /// Takes a call out of the line, if it is there, and tells it why.
    fn end(&mut self, place: Place, outcome: Outcome, rules: &Rules, books: &mut Books) {
        if let Some(entry) = self.queue.remove(place, rules.bound) {
            self.tell(place, entry, outcome, rules, books);
        }
    }

    fn tell(&self, place: Place, entry: Entry, outcome: Outcome, rules: &Rules, books: &mut Books) {
        let head_start = entry.wish.priority.levels().saturating_mul(rules.head_start);
        let waited = books.since(place.turn.saturating_add(head_start));
        books.news(|| match &outcome {
            Outcome::Ends(why) => News::Ends(Arc::clone(&self.key), why.clone().into()),
            Outcome::Goes(_) => News::Goes(Arc::clone(&self.key), waited),
        });
        books.tell(place, entry, outcome);
    }

    /// What is charged for a call that has left belongs to the one that goes next, if it costs the
    /// same; else it is given back.
    fn hand_on(&mut self, rules: &Rules, books: &mut Books) {
        while let Asking::Charged(question, _, due) = &mut self.asking {
            let asked = self.queue.wish(question.place).map(|wish| (question.place, wish));
            let next = asked.or_else(|| self.queue.first().filter(|(_, wish)| question.fits(wish)));
            let Some((place, wish)) = next else { break };
            match too_late(wish, *due, books.now) {
                Some(why) => self.end(place, Outcome::Ends(why), rules, books),
                None => {
                    question.place = place;
                    return;
                }
            }
        }
        match std::mem::replace(&mut self.asking, Asking::Nobody) {
            Asking::Charged(_, paid, _) => self.give_back(paid, books),
            other => self.asking = other,
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
