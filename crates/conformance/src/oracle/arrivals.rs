//! Buckets by their arrival curve.
//!
//! A bucket of B tokens and rate R per P conforms if and only if from every admitted charge on, all
//! that was admitted since stays within `B + R × t / P`. In units of 1/P token, with `C` all that
//! ever arrived: `C − R × now − min over charges (C before it − R × its time) ≤ B × P`. One running
//! minimum stands for the whole list; nothing leaks and nothing is clamped.

use tollgate_core::Anchor;
use tollgate_core::algorithm::Patience;

use super::{Admitted, Oracle, Terms, wide};

/// A token bucket, or a queue.
#[derive(Debug)]
pub struct Arrivals {
    terms: Terms,
    /// All that ever arrived, in 1/P token.
    arrived: i128,
    /// The least of `arrived before − R × time` over all charges.
    least: i128,
    /// The latest time of a charge.
    last: i128,
}

impl Arrivals {
    fn served(&self, time: i128) -> i128 {
        wide(self.terms.amount) * time
    }

    /// What is owed, below zero when nothing was for a while.
    fn excess(&self, time: i128) -> i128 {
        self.arrived - self.served(time) - self.least
    }

    /// Whether the clock stepped back while nothing was owed: history then says nothing.
    fn is_over(&self, now: u64) -> bool {
        i128::from(now) < self.last && self.excess(self.last) <= 0
    }

    /// The time that counts: a clock that stepped back adds nothing while something is owed.
    fn present(&self, now: u64) -> i128 {
        if self.is_over(now) { now.into() } else { self.last.max(now.into()) }
    }

    /// What is owed, in 1/P token.
    fn owed(&self, now: u64) -> i128 {
        if self.is_over(now) { 0 } else { self.excess(self.present(now)).max(0) }
    }

    fn begin(&mut self, time: i128, owed: i128) {
        self.last = time;
        self.arrived = owed;
        self.least = -self.served(time);
    }

    fn arrive(&mut self, time: i128, units: i128) {
        self.last = time;
        self.least = self.least.min(self.arrived - self.served(time));
        self.arrived += units;
        self.least = self.least.min(self.arrived - self.served(time));
    }
}

impl Oracle for Arrivals {
    fn fresh(terms: Terms, _: Option<Anchor>) -> Arrivals {
        Arrivals { terms, arrived: 0, least: 0, last: 0 }
    }

    fn allows(&self, now: u64, cost: u64, patience: Patience) -> bool {
        let most = match patience {
            Patience::Wait => self.terms.full,
            Patience::Now => self.terms.burst,
        };
        let asked = i128::from(cost) * wide(self.terms.period);
        self.owed(now) + asked <= wide(most)
    }

    fn owes(&self, now: u64) -> bool {
        self.owed(now) > 0
    }

    fn admit(&mut self, now: u64, cost: u64, id: u64) -> Admitted {
        let time = self.present(now);
        if self.is_over(now) {
            self.begin(time, 0);
        }
        self.arrive(time, i128::from(cost) * wide(self.terms.period));
        Admitted { cost, time, owed: self.excess(time), id, terms: self.terms }
    }

    fn replace(&mut self, now: u64, charge: &Admitted, actual: u64) -> bool {
        let time = self.present(now);
        if self.is_over(now) {
            self.begin(time, 0);
        }
        let unit = wide(self.terms.period);
        let more = (i128::from(actual) - i128::from(charge.cost)) * unit;
        if more > 0 {
            let room = 2 * wide(self.terms.full) - self.owed(now);
            self.arrive(time, more.min(room));
            return true;
        }
        let then = &charge.terms;
        let lowered = self.terms.amount < then.amount || self.terms.full < then.full;
        let leaked = wide(self.terms.amount) * (time - charge.time);
        // A queue takes back only its last place: the line ends where this charge made it end.
        let is_queue = self.terms.full > self.terms.burst;
        let is_last = self.owed(now) + leaked == charge.owed;
        if lowered || time < charge.time || (is_queue && !is_last) {
            return false;
        }
        // As if the last in the queue had never come; of a bucket only what has not leaked since.
        let back = if is_queue { -more } else { (-more - leaked).max(0) };
        self.arrive(time, -back);
        true
    }

    fn is_far_ahead(&self, now: u64) -> bool {
        self.present(now) - i128::from(now) > wide(self.terms.far)
    }

    fn re_anchor(&mut self, now: u64) {
        let owed = self.excess(self.last);
        self.begin(now.into(), owed);
    }

    fn change(&mut self, terms: Terms) {
        let owed = self.excess(self.last).clamp(0, 2 * wide(terms.full));
        self.terms = terms;
        self.begin(self.last, owed);
    }

    fn starts(&self, now: u64) -> bool {
        self.owed(now) <= wide(self.terms.burst)
    }
}
