//! A plain list, counted anew each time.

use std::collections::VecDeque;

use tollgate_core::Anchor;
use tollgate_core::algorithm::Patience;

use super::{Admitted, Oracle, Terms, wide};

/// An exact log.
#[derive(Debug)]
pub struct Entries {
    terms: Terms,
    /// Time, cost and number of each charge, oldest first.
    list: VecDeque<(i128, u128, u64)>,
}

impl Entries {
    fn present(&self, now: u64) -> i128 {
        self.list.back().map_or(now.into(), |(time, ..)| i128::from(now).max(*time))
    }

    fn counting(&self, now: u64) -> impl Iterator<Item = &(i128, u128, u64)> {
        let gone = self.present(now) - wide(self.terms.period);
        self.list.iter().rev().take_while(move |(time, ..)| *time > gone)
    }

    fn count(&self, now: u64) -> u128 {
        self.counting(now).map(|(_, cost, _)| cost).sum()
    }
}

impl Oracle for Entries {
    fn fresh(terms: Terms, _: Option<Anchor>) -> Entries {
        Entries { terms, list: VecDeque::new() }
    }

    fn allows(&self, now: u64, cost: u64, _: Patience) -> bool {
        self.count(now) + u128::from(cost) <= self.terms.amount
    }

    fn owes(&self, now: u64) -> bool {
        self.counting(now).next().is_some()
    }

    fn admit(&mut self, now: u64, cost: u64, id: u64) -> Admitted {
        let time = self.present(now);
        let gone = time - wide(self.terms.period);
        self.list.retain(|(time, ..)| *time > gone);
        self.list.push_back((time, cost.into(), id));
        Admitted { cost, time, owed: 0, id, terms: self.terms }
    }

    fn replace(&mut self, now: u64, charge: &Admitted, actual: u64) -> bool {
        if !self.counting(now).any(|(_, _, id)| *id == charge.id) {
            return false;
        }
        let room = (2 * self.terms.amount).saturating_sub(self.count(now));
        let cost = u128::from(charge.cost);
        let settled = u128::from(actual).min(cost + room);
        self.list.retain_mut(|(_, cost, id)| {
            if *id == charge.id {
                *cost = settled;
            }
            *cost > 0
        });
        true
    }

    fn is_far_ahead(&self, now: u64) -> bool {
        self.present(now) - i128::from(now) > wide(self.terms.far)
    }

    fn re_anchor(&mut self, now: u64) {
        let back = self.present(now) - i128::from(now);
        // No time lies before the epoch.
        let oldest = self.counting(now).last().map_or(0, |(time, ..)| *time);
        self.list.iter_mut().for_each(|(time, ..)| *time -= back.min(oldest));
    }

    fn change(&mut self, terms: Terms) {
        self.terms = terms;
    }
}
