//! One limit and one key through random operations, each held to the laws.

mod checks;

use tollgate_core::algorithm::{Charged, Moment, Patience, Ruling, Step};
use tollgate_core::{Algorithm, Anchor, Key, Limit, Tick, Verdict};

use super::held::Held;
use super::ledger::Ledger;
use super::{Form, Tally, draw};
use crate::oracle::{Admitted, Oracle, Terms};
use crate::random::Random;

/// Operations on one limit before another is drawn.
const LIFE: u64 = 256;

/// The last instant a clock shows, in microseconds.
const LAST: u64 = 1 << 53;

/// One limit and one key, from fresh.
pub(super) struct Life<'t, O> {
    form: Form,
    random: Random,
    tally: &'t mut Tally,
    narrated: bool,
    limit: Limit,
    terms: Terms,
    phase: u64,
    held: Held,
    oracle: O,
    ledger: Ledger,
    receipts: Vec<Paid>,
    /// The present, in microseconds.
    now: u64,
    /// Whether something was admitted since the quota changed.
    charged_since_change: bool,
    ids: u64,
    /// The time that the last charge counts at.
    latest: i128,
}

/// A receipt, as a store and as the model and the ledger keep it.
struct Paid {
    charged: Charged,
    admitted: Admitted,
    /// The place in the ledger, if it is still the same one.
    place: Option<usize>,
}

impl<'t, O: Oracle> Life<'t, O> {
    pub(super) fn begin(form: Form, seed: u64, tally: &'t mut Tally, narrated: bool) -> Self {
        let mut random = Random::of(seed);
        let limit = draw::limit(form, &mut random);
        let key = Key::Int(random.bits());
        let phase = limit.moment(Tick::EPOCH, &key).phase;
        let terms = Terms::of(&limit, phase);
        let instant = Tick::from_micros(random.of_any_size(53));
        let floor = instant.as_micros() / limit.resolution().micros();
        assert_eq!(limit.moment(instant, &key), Moment { now: floor, phase }, "ticks are floored");
        let period = limit.quota().period().as_micros();
        assert!(phase == 0 || form == Form::FixedSpread, "only a spread window has a phase");
        assert!(u128::from(phase) < terms.period, "a phase lies below the period");
        let now = match random.below(8) {
            0..2 => random.below(period.saturating_mul(2)),
            2 => LAST - random.below(period.saturating_mul(4).min(LAST)),
            _ => random.of_any_size(53),
        };
        Life {
            form,
            tally,
            narrated,
            terms,
            phase,
            held: Held::default(),
            oracle: O::fresh(terms, anchor_of(form)),
            ledger: Ledger::default(),
            receipts: Vec::new(),
            now,
            charged_since_change: true,
            ids: 0,
            latest: 0,
            random,
            limit,
        }
    }

    pub(super) fn run(mut self) {
        for _ in 0..LIFE {
            self.tally.operations += 1;
            match self.random.below(64) {
                0 => self.step_back(),
                1 => self.forget(),
                2 => self.change(),
                3..9 if !self.receipts.is_empty() => self.give(),
                _ => {
                    let gap = draw::gap(&self.limit, &mut self.random);
                    self.now = self.now.saturating_add(gap).min(LAST);
                    self.ask();
                }
            }
            self.check_standing();
        }
        self.close_ledger();
    }

    fn tick(&self) -> u64 {
        self.now / self.limit.resolution().micros()
    }

    fn moment(&self, now: u64) -> Moment {
        let now = now / self.limit.resolution().micros();
        Moment { now, phase: self.phase }
    }

    fn step_back(&mut self) {
        let back = draw::back(&self.limit, &mut self.random);
        self.now = self.now.saturating_sub(back);
        if self.form.is_windowed() {
            self.close_ledger();
        }
        if !self.oracle.owes(self.tick()) {
            self.begin_anew();
        }
        self.tell(format_args!("clock steps back by {back} us"));
    }

    fn tell(&self, what: std::fmt::Arguments<'_>) {
        if self.narrated {
            println!("{:>16} us, tick {:>16}: {what}; {:?}", self.now, self.tick(), self.held);
        }
    }

    fn close_ledger(&mut self) {
        if let Some(broken) = self.ledger.broken(self.form, &self.terms) {
            panic!("the bound of {:?}: {broken}, {:?}", self.limit, self.ledger);
        }
        self.ledger.clear();
        self.receipts.iter_mut().for_each(|paid| paid.place = None);
    }

    /// History begins anew after a clock stepped back and nothing was owed, or what was owed was
    /// re-anchored: the bounds hold on either side, and a receipt from before no longer knows how
    /// long ago it was.
    fn begin_anew(&mut self) {
        self.close_ledger();
        self.receipts.clear();
    }

    /// Safe to forget once nothing is owed.
    fn forget(&mut self) {
        if self.held.reset_after(&self.limit, self.moment(self.now)) > 0 {
            return;
        }
        self.tally.forgotten += 1;
        self.tell(format_args!("forgotten"));
        self.held = Held::default();
        self.oracle = O::fresh(self.terms, anchor_of(self.form));
    }

    /// Another rate or burst, which keeps what is used.
    fn change(&mut self) {
        // A bucket's debt above twice the capacity is cut when it is read, and only a charge writes
        // that down: two changes without one between them have no single right answer.
        if !std::mem::take(&mut self.charged_since_change) {
            return;
        }
        self.close_ledger();
        // A receipt knows the quota it was charged under and the one of now, none between: raised and
        // lowered again while it is out, the quota hides that more has leaked away meanwhile.
        let now = *self.limit.rule();
        self.receipts.retain(|paid| paid.charged.under == now);
        self.limit = draw::changed(self.form, &self.limit, &mut self.random);
        self.terms = Terms::of(&self.limit, self.phase);
        self.oracle.change(self.terms);
        self.tell(format_args!("{:?}", self.limit));
    }

    /// Gives a charge back, or settles it.
    fn give(&mut self) {
        let count = u64::try_from(self.receipts.len()).unwrap_or(u64::MAX);
        let index = usize::try_from(self.random.below(count)).unwrap_or(0);
        let paid = self.receipts.swap_remove(index);
        let actual = match self.random.below(4) {
            0..2 => 0,
            2 => self.random.below(paid.admitted.cost),
            _ => self.random.of_any_size(64),
        };
        let before = self.held.clone();
        self.held.give(&self.limit, self.moment(self.now), &paid.charged, actual);
        let mattered = self.oracle.replace(self.tick(), &paid.admitted, actual);
        if mattered {
            self.tally.given += 1;
            self.ledger.lower(paid.place, actual, &self.terms);
        } else {
            assert!(self.held == before, "what no longer matters was given back: {:?}", self.limit);
        }
        self.tell(format_args!("{:?} settled at {actual}, mattered {mattered}", paid.charged));
        // The clock stands behind the last write and nothing is owed any more: as in a step back.
        let tick = i128::from(self.tick());
        let behind = tick < self.latest;
        self.latest = self.latest.max(tick);
        if behind && !self.oracle.owes(self.tick()) {
            self.begin_anew();
        }
    }

    fn ask(&mut self) {
        let (at, tick) = (self.moment(self.now), self.tick());
        let patience = if self.random.once_in(8) { Patience::Now } else { Patience::Wait };
        let room = self.held.room(&self.limit, at, patience);
        let cost = draw::cost(self.limit.capacity(), room, &mut self.random);
        let step = self.held.ask(&self.limit, at, cost, patience);
        let expected = cost == 0 || self.oracle.allows(tick, cost, patience);
        assert_eq!(
            step.ruling.passes(),
            expected,
            "{step:?} of cost {cost} at tick {tick}, the model says otherwise: {:?} {:?}",
            self.limit,
            self.held,
        );
        if self.random.once_in(8) {
            self.check_earlier(cost, patience, step);
        }
        self.tell(format_args!("cost {cost}, {patience:?}: {step:?}"));
        match step.ruling {
            Ruling::Allow | Ruling::Wait(_) if cost == 0 => self.check_unchanged(at, step),
            Ruling::Allow | Ruling::Wait(_) => self.passed(cost, patience, step),
            Ruling::Never => {
                self.tally.never += 1;
                let most = self.most(patience);
                assert!(u128::from(cost) > most, "never, though {cost} is within {most}");
                self.check_unchanged(at, step);
            }
            Ruling::Deny(wait) => self.denied(cost, patience, step, wait),
        }
    }

    /// The largest cost that can ever pass.
    fn most(&self, patience: Patience) -> u128 {
        match (self.form, patience) {
            (Form::LeakyBucket, Patience::Now) => self.terms.burst / self.terms.period,
            _ => self.limit.capacity().into(),
        }
    }

    fn passed(&mut self, cost: u64, patience: Patience, step: Step) {
        let (at, tick) = (self.moment(self.now), self.tick());
        self.tally.passed += 1;
        if self.random.once_in(8) {
            self.check_singles(cost, patience, step);
        }
        self.held.charge(&self.limit, at, cost, step);
        let admitted = self.oracle.admit(tick, cost, self.ids);
        if admitted.time < std::mem::replace(&mut self.latest, admitted.time) {
            self.begin_anew();
        }
        self.ids += 1;
        self.charged_since_change = true;
        let wait = match step.ruling {
            Ruling::Wait(wait) => wait,
            _ => 0,
        };
        self.check_start(tick, admitted.time, wait);
        let charged = Charged { cost, left: step.next, under: *self.limit.rule() };
        assert_eq!(self.held.summary(&self.limit, at), step.next, "the step tells what stands");
        if self.random.once_in(8) {
            self.check_refund_and_again(cost, patience, &charged);
        }
        let time = if self.form.is_windowed() { tick.into() } else { admitted.time };
        let place = self.ledger.admit(time, time + i128::from(wait), cost);
        if self.random.once_in(3) {
            self.receipts.push(Paid { charged, admitted, place: Some(place) });
        }
    }

    fn denied(&mut self, cost: u64, patience: Patience, step: Step, wait: u64) {
        let (at, tick) = (self.moment(self.now), self.tick());
        self.tally.denied += 1;
        let most = self.most(patience);
        assert!(u128::from(cost) <= most, "{cost} can never pass {most}");
        if self.oracle.is_far_ahead(tick) {
            let before = self.held.summary(&self.limit, at);
            self.held.re_anchor(&self.limit, at, step);
            self.oracle.re_anchor(tick);
            self.begin_anew();
            self.tally.re_anchored += u64::from(step.next != before);
            assert_eq!(self.held.summary(&self.limit, at), step.next, "the step tells what stands");
        } else {
            self.check_unchanged(at, step);
            assert!(wait > 0, "refused, and allowed at once");
        }
        // Exact wait, by the model and by the rule.
        let then = tick.saturating_add(wait);
        assert!(self.oracle.allows(then, cost, patience), "refused at the announced tick, {wait}");
        let minimal = wait == 0 || !self.oracle.allows(then - 1, cost, patience);
        assert!(minimal, "a wait of {wait} is a tick too long");
        let Verdict::Deny(span) = self.limit.verdict(step.ruling, Tick::from_micros(self.now))
        else {
            panic!("a refusal is told as one");
        };
        self.check_announced(cost, patience, wait, span);
    }
}

fn anchor_of(form: Form) -> Option<Anchor> {
    match form.algorithm() {
        Algorithm::FixedWindow(anchor) => Some(anchor),
        _ => None,
    }
}
