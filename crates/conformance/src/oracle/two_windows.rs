//! Two windows as exact fractions.

use tollgate_core::Anchor;
use tollgate_core::algorithm::Patience;

use super::window::replaced;
use super::{Admitted, Oracle, Terms, wide};

/// A sliding window counter.
#[derive(Debug)]
pub struct TwoWindows {
    terms: Terms,
    /// The first tick of the window that was charged last.
    begin: i128,
    before: u128,
    count: u128,
}

impl TwoWindows {
    fn begin_at(&self, now: u64) -> i128 {
        i128::from(now) - i128::from(now).rem_euclid(wide(self.terms.period))
    }

    /// The present window's first tick, the count of the one before it and its own.
    fn at(&self, now: u64) -> (i128, u128, u128) {
        let begin = self.begin_at(now);
        let width = wide(self.terms.period);
        if self.before + self.count == 0 || begin > self.begin + width {
            (begin, 0, 0)
        } else if begin == self.begin + width {
            (begin, self.count, 0)
        } else {
            (self.begin, self.before, self.count)
        }
    }
}

impl Oracle for TwoWindows {
    fn fresh(terms: Terms, _: Option<Anchor>) -> TwoWindows {
        TwoWindows { terms, begin: 0, before: 0, count: 0 }
    }

    fn allows(&self, now: u64, cost: u64, _: Patience) -> bool {
        let (begin, before, count) = self.at(now);
        let width = wide(self.terms.period);
        let out_of_sight = (i128::from(now) - begin).max(0);
        // Multiplied by the width: what of the earlier window is in sight, and what may be.
        let in_sight = wide(before.min(2 * self.terms.amount)) * (width - out_of_sight);
        in_sight <= (wide(self.terms.amount) - wide(count) - i128::from(cost)) * width
    }

    fn owes(&self, now: u64) -> bool {
        let (_, before, count) = self.at(now);
        before + count > 0
    }

    fn admit(&mut self, now: u64, cost: u64, id: u64) -> Admitted {
        (self.begin, self.before, self.count) = self.at(now);
        self.count += u128::from(cost);
        Admitted { cost, time: self.begin, owed: 0, id, terms: self.terms }
    }

    fn replace(&mut self, now: u64, charge: &Admitted, actual: u64) -> bool {
        let (begin, mut before, mut count) = self.at(now);
        let charged = if charge.time == begin {
            &mut count
        } else if charge.time + wide(self.terms.period) == begin {
            &mut before
        } else {
            return false;
        };
        if *charged == 0 {
            return false;
        }
        *charged = replaced(*charged, charge.cost, actual, 2 * self.terms.amount);
        (self.begin, self.before, self.count) = (begin, before, count);
        true
    }

    fn is_far_ahead(&self, now: u64) -> bool {
        self.owes(now) && self.begin - i128::from(now) > wide(self.terms.far)
    }

    fn re_anchor(&mut self, now: u64) {
        self.begin = self.begin_at(now);
    }

    fn change(&mut self, terms: Terms) {
        self.terms = terms;
    }
}
