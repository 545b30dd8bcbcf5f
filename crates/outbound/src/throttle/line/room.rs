//! How many permits of a line are out and how many more may go out, also where they are shared with
//! other processes.

use std::task::Waker;
use std::time::Duration;

use tollgate_core::algorithm::Patience;
use tollgate_core::{Held, StoreError};

use super::asking::Asking;
use super::{Line, Turn};
use crate::error::Kind;
use crate::throttle::books::Books;
use crate::throttle::lease::{Keep, Lease};
use crate::throttle::rules::Rules;
use crate::throttle::step::Worker;
use crate::throttle::wish::Outcome;

impl Line {
    /// Whether one more permit may go out.
    pub(super) fn has_room(&self, rules: &Rules, books: &Books) -> bool {
        let in_use = self.in_use();
        rules.max_in_flight.is_none_or(|most| in_use < most)
            && (rules.sharing.is_none() || in_use < self.lease.cap(books.now))
    }

    /// Whether one who comes now might go at once.
    pub(super) fn is_open(&self, rules: &Rules, books: &Books) -> bool {
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

    /// What the keeper of shared permits has to do.
    pub(crate) fn keep(&mut self, waker: &Waker, rules: &Rules, books: &mut Books) -> Keep {
        let Some(sharing) = &rules.sharing else { return Keep::Over };
        let (in_use, wanted) = (self.in_use(), self.wanted(rules));
        let keep = match self.lease.step(in_use, wanted, sharing.lease, books.now) {
            // Those who wait want one as soon as `max_in_flight` is raised.
            Keep::Over if !self.queue.is_empty() => Keep::Parked,
            keep => keep,
        };
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

    pub(super) fn rouse_keeper(&mut self, rules: &Rules, books: &mut Books) {
        if rules.sharing.is_none() {
            return;
        }
        let wanted = self.wanted(rules);
        let is_over = self.queue.is_empty() && wanted == 0 && self.lease.is_over(books.now);
        if is_over || self.lease.is_news(wanted) {
            books.effects.wakes.extend(self.keeper.wake());
        }
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
}
