//! The documented bounds, recounted from the list of what was admitted, net of what was given back.

use super::Form;
use crate::oracle::Terms;

/// What was admitted under one configuration and one run of the clock.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: Vec<Entry>,
    /// All that was given back, in 1/P token.
    given: i128,
    /// Whether anything was, also of charges that stand in no list any more.
    refunded: bool,
    /// Whether a wait was told for a cost that was settled lower since.
    settled_lower: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: i128,
    start: i128,
    gross: i128,
    net: i128,
}

impl Ledger {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.given = 0;
        self.refunded = false;
        self.settled_lower = false;
    }

    /// Takes down a charge admitted at `time` that starts at `start`, both in ticks; gives its place in
    /// the list. Times never fall.
    pub fn admit(&mut self, time: i128, start: i128, cost: u64) -> usize {
        self.entries.push(Entry { time, start, gross: cost.into(), net: cost.into() });
        self.entries.len() - 1
    }

    /// Takes down that a charge costs less. What it costs more is outside every bound.
    pub fn lower(&mut self, place: Option<usize>, actual: u64, terms: &Terms) {
        self.refunded = true;
        let Some(place) = place else { return };
        let entry = &mut self.entries[place];
        let less = (entry.net - i128::from(actual)).max(0);
        entry.net -= less;
        self.given += less * num(terms.period);
        self.settled_lower |= actual > 0 && less > 0;
    }

    /// What breaks a bound, if anything does.
    #[must_use]
    pub fn broken(&self, form: Form, terms: &Terms) -> Option<String> {
        let most = num(terms.amount);
        match form {
            Form::TokenBucket => self.curve(terms),
            Form::LeakyBucket => self.curve(terms).or_else(|| self.spacing(terms)),
            Form::FixedFirstHit if !self.refunded => self.spans(terms, 2 * most - 1),
            Form::FixedSpread | Form::FixedClock | Form::FixedFirstHit => {
                self.spans(terms, 2 * most)
            }
            Form::SlidingWindow => self.spans(terms, 2 * most - 1),
            Form::SlidingLog => self.spans(terms, most),
        }
    }

    /// Any span of t ticks: at most `B + R × t / P`, net; and in all, at most what was given back
    /// more.
    fn curve(&self, terms: &Terms) -> Option<String> {
        let (rate, unit, full) = (num(terms.amount), num(terms.period), num(terms.full));
        let (mut net, mut gross, mut least_net, mut least_gross) = (0, 0, i128::MAX, i128::MAX);
        for (place, entry) in self.entries.iter().enumerate() {
            least_net = least_net.min(net * unit - rate * entry.time);
            least_gross = least_gross.min(gross * unit - rate * entry.time);
            net += entry.net;
            gross += entry.gross;
            let over = net * unit - rate * entry.time - least_net - full;
            if over > 0 {
                return Some(format!("entry {place} passes the net bound by {over} / {unit}"));
            }
            let over = gross * unit - rate * entry.time - least_gross - full - self.given;
            if over > 0 {
                return Some(format!("entry {place} passes the gross bound by {over} / {unit}"));
            }
        }
        None
    }

    /// Starts: in any span at most the burst (or the one cost above it) and `R × t / P`; at burst 1
    /// never closer than `floor(cost × P / R)`.
    fn spacing(&self, terms: &Terms) -> Option<String> {
        if self.settled_lower {
            return None;
        }
        let (rate, unit, burst) = (num(terms.amount), num(terms.period), num(terms.burst));
        let (mut started, mut least, mut last) = (0, i128::MAX, None);
        for (place, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.net > 0) {
            let cost = entry.net * unit;
            least = least.min(started + cost.max(burst) - rate * entry.start);
            started += cost;
            let over = started - rate * (entry.start + 1) - least;
            if over > 0 {
                return Some(format!("entry {place} starts too early by {over} / {unit}"));
            }
            let least_gap = cost / rate;
            if let Some(before) =
                last.filter(|before| burst == unit && entry.start - before < least_gap)
            {
                let start = entry.start;
                return Some(format!(
                    "entry {place} starts at {start}, {before} + {least_gap} expected"
                ));
            }
            last = Some(entry.start);
        }
        None
    }

    /// Any span as long as the window admits at most `most`.
    fn spans(&self, terms: &Terms, most: i128) -> Option<String> {
        let width = num(terms.period);
        let (mut first, mut sum) = (0, 0);
        for (place, entry) in self.entries.iter().enumerate() {
            sum += entry.net;
            while self.entries[first].time <= entry.time - width {
                sum -= self.entries[first].net;
                first += 1;
            }
            if sum > most {
                return Some(format!(
                    "entry {place}: {sum} in one window's length, {most} at most"
                ));
            }
        }
        None
    }
}

fn num(number: u128) -> i128 {
    i128::try_from(number).expect("products of two numbers below 2^53")
}
