//! One window after another: what was admitted in the present one.

use tollgate_core::Anchor;
use tollgate_core::algorithm::Patience;

use super::{Admitted, Oracle, Terms, wide};

/// A fixed window.
#[derive(Debug)]
pub struct OneWindow {
    terms: Terms,
    anchor: Anchor,
    /// The first tick of the window that was charged last.
    begin: i128,
    count: u128,
}

impl OneWindow {
    fn end(&self) -> i128 {
        self.begin + wide(self.terms.period)
    }

    fn counts(&self, now: u64) -> u128 {
        if i128::from(now) < self.end() { self.count } else { 0 }
    }

    fn begin_at(&self, now: u64) -> i128 {
        match self.anchor {
            Anchor::FirstHit => now.into(),
            // The laws draw none: a test of its own holds a store to a count per window.
            Anchor::Calendar(_) => panic!("a calendar is not judged in ticks"),
            Anchor::Clock | Anchor::Spread => {
                let into = (u128::from(now) + self.terms.phase) % self.terms.period;
                i128::from(now) - wide(into)
            }
        }
    }
}

impl Oracle for OneWindow {
    fn fresh(terms: Terms, anchor: Option<Anchor>) -> OneWindow {
        let anchor = anchor.expect("a fixed window says where it begins");
        OneWindow { terms, anchor, begin: 0, count: 0 }
    }

    fn allows(&self, now: u64, cost: u64, _: Patience) -> bool {
        self.counts(now) + u128::from(cost) <= self.terms.amount
    }

    fn owes(&self, now: u64) -> bool {
        self.counts(now) > 0
    }

    fn admit(&mut self, now: u64, cost: u64, id: u64) -> Admitted {
        if self.counts(now) == 0 {
            (self.begin, self.count) = (self.begin_at(now), 0);
        }
        self.count += u128::from(cost);
        Admitted { cost, time: self.begin, owed: 0, id, terms: self.terms }
    }

    fn replace(&mut self, _: u64, charge: &Admitted, actual: u64) -> bool {
        let mattered = charge.time == self.begin && self.count > 0;
        if mattered {
            self.count = replaced(self.count, charge.cost, actual, 2 * self.terms.amount);
        }
        mattered
    }

    fn is_far_ahead(&self, now: u64) -> bool {
        self.count > 0 && self.begin - i128::from(now) > wide(self.terms.far)
    }

    fn re_anchor(&mut self, now: u64) {
        self.begin = self.begin_at(now);
    }

    fn change(&mut self, terms: Terms) {
        self.terms = terms;
    }
}

/// A count after one of its charges was replaced: never below zero, and never raised above `most`.
pub(super) fn replaced(count: u128, cost: u64, actual: u64, most: u128) -> u128 {
    let gross = count + u128::from(actual);
    gross.saturating_sub(cost.into()).min(count.max(most))
}
