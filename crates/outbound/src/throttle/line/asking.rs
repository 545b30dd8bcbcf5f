//! Asking the store for the first of a line: one question at a time, and what it has charged goes to
//! whoever goes next.

use std::sync::Arc;

use tokio::time::Instant;
use tollgate_core::Span;

use super::due::too_late;
use super::{Line, Turn};
use crate::error::Kind;
use crate::throttle::ask::ask_now;
use crate::throttle::books::Books;
use crate::throttle::paid::Paid;
use crate::throttle::part::Distance;
use crate::throttle::rules::Rules;
use crate::throttle::step::{Looks, Step, Worker};
use crate::throttle::wish::{Answer, Outcome, Place, Question, Wants, Wish};

/// What the store was asked for the one that goes next.
#[derive(Debug)]
pub(super) enum Asking {
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
pub(super) enum Since {
    Nothing,
    GivenBack,
}

/// What comes next in a line.
enum Next<'l> {
    /// Nothing before something happens.
    Nothing,
    /// Nothing before this instant.
    Sleep(Instant),
    /// Nobody waits.
    Over,
    /// The one that is charged for goes.
    Grant,
    /// The first does not wait so long.
    End(Place, Kind),
    /// The store is asked for the first.
    Ask(Place, &'l Wish),
}

impl Line {
    /// What there is to do. The store's answer has to follow where it is to be asked.
    pub(crate) fn step(&mut self, looks: Looks<'_>, rules: &Rules, books: &mut Books) -> Step {
        let step = loop {
            self.let_go(rules, books);
            match self.next(rules, books) {
                Next::Nothing => break Step::Parked,
                Next::Sleep(due) => break Step::At(due),
                Next::Over => break Step::Over,
                Next::Grant => self.grant_charged(rules, books),
                Next::End(place, why) => self.end(place, Outcome::Ends(why), rules, books),
                Next::Ask(_, wish) if matches!(looks, Looks::Passer) && !is_local(wish, rules) => {
                    break Step::Parked;
                }
                Next::Ask(place, wish) => {
                    let question = Question::of(place, wish);
                    self.refused = None;
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

    /// What a store in this process says of a call that comes when nobody waits and a permit is free;
    /// nothing, where it has to wait before it can be asked for.
    pub(super) fn pass(&self, wish: &Wish, rules: &Rules, books: &Books) -> Option<Answer> {
        let comes_first = matches!(wish.wants, Wants::Own)
            && matches!(self.asking, Asking::Nobody)
            && self.queue.is_empty()
            && self.turn == Turn::Free
            && self.has_room(rules, books);
        if !comes_first || self.refused_for(books).is_some() {
            return None;
        }
        if !needs_store(wish, rules) {
            let (wait, paid, again) = (Span::ZERO, Paid::nothing(), Span::ZERO);
            return Some(Answer::Passes { wait, paid, again });
        }
        let part = rules.part(&self.key).filter(|_| is_local(wish, rules))?;
        Some(ask_now(&[part], wish.cost, wish.patience))
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
            Answer::Passes { wait, paid, again } => {
                let is_refused = since == Since::Nothing && !again.is_zero();
                self.refused = is_refused.then(|| (question.clone(), books.after(again)));
                let paid = paid.on(question.terms.clone());
                self.asking = Asking::Charged(question, paid, books.after(wait));
                self.hand_on(rules, books);
            }
            Answer::Denied(_) if since == Since::GivenBack => {}
            Answer::Denied(span) => self.refused = Some((question, books.after(span))),
            Answer::Failed(why) => self.end(question.place, Outcome::Ends(why), rules, books),
        }
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

    /// The driver is gone before its time: whoever is polled next starts another.
    pub(crate) fn driver_gone(&mut self, books: &mut Books) {
        self.driver = Worker::Absent;
        if matches!(self.asking, Asking::Asked(..)) {
            self.asking = Asking::Nobody;
        }
        books.effects.wakes.extend(self.queue.take_wakers());
    }

    /// Lets go who may go without the store, and wakes whoever has something to do.
    pub(crate) fn stir(&mut self, rules: &Rules, books: &mut Books) {
        self.let_go(rules, books);
        if self.has_work(rules, books) {
            books.effects.wakes.extend(self.driver.wake());
        }
        self.rouse_keeper(rules, books);
    }

    /// Whether the driver would do anything if it looked now.
    fn has_work(&self, rules: &Rules, books: &Books) -> bool {
        match self.next(rules, books) {
            Next::Nothing => false,
            Next::Sleep(due) => self.driver.sleeps_past(due),
            Next::Over | Next::Grant | Next::End(..) | Next::Ask(..) => true,
        }
    }

    /// What comes next, where nobody waits who may go without the store.
    fn next(&self, rules: &Rules, books: &Books) -> Next<'_> {
        match &self.asking {
            Asking::Asked(..) | Asking::Returning => return Next::Nothing,
            Asking::Charged(_, _, due) if *due > books.now => return Next::Sleep(*due),
            Asking::Charged(..) => return Next::Grant,
            Asking::Nobody => {}
        }
        let Some((place, wish)) = self.queue.first() else { return Next::Over };
        if self.turn == Turn::Taken || !self.has_room(rules, books) {
            return Next::Nothing;
        }
        match &self.refused {
            Some((refused, until)) if *until > books.now && refused.covers(wish) => {
                match too_late(wish, *until, books.now) {
                    Some(why) => Next::End(place, why),
                    None => Next::Sleep(*until),
                }
            }
            _ => Next::Ask(place, wish),
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

    /// What is charged for a call that has left belongs to the one that goes next, if it costs the
    /// same; else it is given back.
    pub(super) fn hand_on(&mut self, rules: &Rules, books: &mut Books) {
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

    fn give_back(&mut self, paid: Paid, books: &mut Books) {
        if !paid.is_nothing() {
            self.asking = Asking::Returning;
            books.effects.back.push((Arc::clone(&self.key), paid));
        }
    }
}

/// Whether a store has to be asked before the call may go.
pub(super) fn needs_store(wish: &Wish, rules: &Rules) -> bool {
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
