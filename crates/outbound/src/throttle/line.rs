//! One line: who of the calls of one key may go, and who has to be woken for it.
//!
//! Calls come and leave here; [`asking`] has the store asked for the first, [`room`] counts permits, also
//! those shared with other processes, [`due`] tells when a call goes.

mod asking;
mod due;
mod room;

use std::sync::Arc;
use std::task::Waker;

use tokio::time::Instant;
use tollgate_core::Span;
use tollgate_core::algorithm::Patience;

use super::books::Books;
use super::event::News;
use super::lease::Lease;
use super::paid::Paid;
use super::queue::{Entered, Entry, Queue};
use super::rules::Rules;
use super::step::{Lacks, Start, Worker};
use super::wish::{Answer, Outcome, Place, Question, Wants, Wish};
use crate::error::Kind;
use crate::key::OwnKey;
use asking::{Asking, Since, needs_store};

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

    /// Gives a call its place, or says why it has none; or lets it go, if nobody waits and it may go at
    /// once. Else a look at what there is to do has to follow.
    pub(crate) fn enter(
        &mut self,
        place: Place,
        wish: Wish,
        rules: &Rules,
        books: &mut Books,
    ) -> Result<Option<Outcome>, Kind> {
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
        let answer = match self.pass(&wish, rules, books) {
            Some(Answer::Passes { wait, paid, .. }) if wait.is_zero() => {
                self.go(rules, books);
                books.news(|| News::Goes(Arc::clone(&self.key), Span::ZERO));
                return Ok(Some(Outcome::Goes(paid)));
            }
            answer => answer.map(|answer| (Question::of(place, &wish), answer)),
        };
        match self.queue.enter(place, Entry { wish, waker: None }, rules.bound) {
            Entered::Yes => books.stats.waiting = books.stats.waiting.saturating_add(1),
            Entered::No => return Err(Kind::Full),
            Entered::Instead(old, gone) => {
                books.stats.waiting = books.stats.waiting.saturating_add(1);
                self.tell(old, gone, Outcome::Ends(Kind::Displaced), rules, books);
                self.hand_on(rules, books);
            }
        }
        if let Some((question, answer)) = answer {
            self.asking = Asking::Asked(question, Since::Nothing);
            self.answered(answer, rules, books);
        }
        Ok(None)
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

    /// Ends everyone who waits.
    pub(crate) fn clear(&mut self, rules: &Rules, books: &mut Books) {
        while let Some(place) = self.queue.any() {
            self.end(place, Outcome::Ends(Kind::Stopped), rules, books);
        }
        self.hand_on(rules, books);
        self.stir(rules, books);
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

    fn grant(&mut self, place: Place, paid: Paid, rules: &Rules, books: &mut Books) {
        self.go(rules, books);
        self.end(place, Outcome::Goes(paid), rules, books);
    }

    /// A permit goes out.
    fn go(&mut self, rules: &Rules, books: &mut Books) {
        self.held = self.held.saturating_add(1);
        books.stats.in_flight = books.stats.in_flight.saturating_add(1);
        self.rouse_keeper(rules, books);
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
}
