//! Rules against the exact models of the conformance crate: any legal limit, any run of operations.

#![no_main]

mod legal;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use tollgate_conformance::oracle::{
    Admitted, Arrivals, Entries, OneWindow, Oracle, Terms, TwoWindows,
};
use tollgate_core::algorithm::{Charged, Log, Moment, Patience, Rule, Ruling, State, Step};
use tollgate_core::{Algorithm, Anchor, Key, Limit, Tick};

use legal::{Length, limit};

/// The last instant a clock shows, in microseconds.
const LAST: u64 = 1 << 53;

#[derive(Arbitrary, Debug)]
enum Operation {
    Ask { gap: Length, cost: Length, patience: bool },
    StepBack(Length),
    Give { nth: u8, actual: Length },
}

fuzz_target!(|bytes: &[u8]| {
    let mut u = Unstructured::new(bytes);
    let Ok(Some(limit)) = limit("fuzz", &mut u) else { return };
    let Ok(start) = u.arbitrary::<Length>() else { return };
    let operations = u.arbitrary_iter::<Operation>().into_iter().flatten().flatten();
    let start = start.with(1_700_000_000_000_000).min(LAST);
    match limit.algorithm() {
        Algorithm::TokenBucket | Algorithm::LeakyBucket(_) => {
            Life::<Arrivals>::new(&limit, start, None).run(operations);
        }
        Algorithm::FixedWindow(anchor) => {
            Life::<OneWindow>::new(&limit, start, Some(anchor)).run(operations);
        }
        Algorithm::SlidingWindow => Life::<TwoWindows>::new(&limit, start, None).run(operations),
        Algorithm::SlidingLog => Life::<Entries>::new(&limit, start, None).run(operations),
        other => panic!("no model for a {other}"),
    }
});

/// One key of one limit, as a store keeps it and as the model does.
struct Life<'l, O> {
    limit: &'l Limit,
    key: Key<'static>,
    now: u64,
    words: State,
    log: Log,
    model: O,
    paid: Vec<(Charged, Admitted)>,
    ids: u64,
    /// When the model's last charge counts.
    latest: i128,
}

impl<'l, O: Oracle> Life<'l, O> {
    fn new(limit: &'l Limit, now: u64, anchor: Option<Anchor>) -> Self {
        let key = Key::Int(7);
        let terms = Terms::of(limit, limit.moment(Tick::EPOCH, &key).phase);
        let model = O::fresh(terms, anchor);
        let (words, log, paid) = (State::FRESH, Log::default(), Vec::new());
        Life { limit, key, now, words, log, model, paid, ids: 0, latest: 0 }
    }

    fn run(mut self, operations: impl Iterator<Item = Operation>) {
        let period = self.limit.quota().period().as_micros();
        for operation in operations.take(512) {
            match operation {
                Operation::Ask { gap, cost, patience } => {
                    self.now = self.now.saturating_add(gap.with(period)).min(LAST);
                    let patience = if patience { Patience::Wait } else { Patience::Now };
                    self.ask(cost.with(self.limit.capacity()), patience);
                }
                Operation::StepBack(back) => self.now = self.now.saturating_sub(back.with(period)),
                Operation::Give { nth, actual } if !self.paid.is_empty() => {
                    let nth = usize::from(nth) % self.paid.len();
                    self.give(nth, actual);
                }
                Operation::Give { .. } => {}
            }
            self.check_standing();
        }
    }

    fn moment(&self) -> Moment {
        self.limit.moment(Tick::from_micros(self.now), &self.key)
    }

    fn step(&self, cost: u64, patience: Patience) -> Step {
        match self.limit.rule() {
            Rule::Words(rule) => rule.ask(self.words, self.moment(), cost, patience),
            Rule::Log(rule) => rule.ask(&self.log, self.moment(), cost),
        }
    }

    fn ask(&mut self, cost: u64, patience: Patience) {
        let at = self.moment();
        let step = self.step(cost, patience);
        let allows = cost == 0 || self.model.allows(at.now, cost, patience);
        assert_eq!(
            step.ruling.passes(),
            allows,
            "cost {cost} at {at:?}: {step:?}, {:?}",
            self.limit
        );
        match step.ruling {
            Ruling::Allow | Ruling::Wait(_) if cost == 0 => {}
            Ruling::Allow | Ruling::Wait(_) => {
                let admitted = self.model.admit(at.now, cost, self.ids);
                self.ids += 1;
                // After the clock stepped back past a key that owes nothing, instants come again, and
                // a receipt from the first time round is taken for one of the second.
                if admitted.time < std::mem::replace(&mut self.latest, admitted.time) {
                    self.paid.clear();
                }
                match self.limit.rule() {
                    Rule::Words(_) => self.words = step.next,
                    Rule::Log(rule) => rule.record(&mut self.log, at, cost),
                }
                self.paid
                    .push((Charged { cost, left: step.next, under: *self.limit.rule() }, admitted));
            }
            Ruling::Never => assert!(patience == Patience::Now || cost > self.limit.capacity()),
            Ruling::Deny(wait) => {
                if self.model.is_far_ahead(at.now) {
                    self.re_anchor(at, step);
                } else if let Rule::Words(_) = self.limit.rule() {
                    assert_eq!(
                        step.next, self.words,
                        "a refusal changed a budget: {:?}",
                        self.limit
                    );
                }
                let then = at.now.saturating_add(wait);
                assert!(
                    self.model.allows(then, cost, patience),
                    "refused after {wait}: {:?}",
                    self.limit
                );
                let early = wait > 0 && self.model.allows(then - 1, cost, patience);
                assert!(!early, "a wait of {wait} is too long: {:?}", self.limit);
            }
        }
    }

    fn re_anchor(&mut self, at: Moment, step: Step) {
        match self.limit.rule() {
            Rule::Words(_) => self.words = step.next,
            Rule::Log(rule) => {
                rule.re_anchor(&mut self.log, at);
            }
        }
        self.model.re_anchor(at.now);
        self.paid.clear();
    }

    fn give(&mut self, nth: usize, actual: Length) {
        let at = self.moment();
        let (charged, admitted) = self.paid[nth];
        let actual = actual.with(charged.cost);
        match self.limit.rule() {
            Rule::Words(rule) => self.words = rule.give(self.words, at, &charged, actual),
            Rule::Log(rule) => rule.give(&mut self.log, at, &charged, actual),
        }
        self.model.replace(at.now, &admitted, actual);
        self.paid.remove(nth);
    }

    /// What is told of the key: exactly so much room, and exactly so long until nothing is owed.
    fn check_standing(&self) {
        let at = self.moment();
        let (room, reset) = match self.limit.rule() {
            Rule::Words(rule) => {
                (rule.room(self.words, at, Patience::Wait), rule.reset_after(self.words, at))
            }
            Rule::Log(rule) => (rule.room(&self.log, at), rule.reset_after(&self.log, at)),
        };
        let allows = |cost| self.model.allows(at.now, cost, Patience::Wait);
        assert!(room <= self.limit.capacity(), "{room} left of {:?}", self.limit);
        assert!(room == 0 || allows(room), "{room} left, and does not pass: {:?}", self.limit);
        assert!(room == self.limit.capacity() || !allows(room + 1), "more than {room} left");
        let then = at.now.saturating_add(reset);
        assert!(!self.model.owes(then), "owes after {reset}: {:?}", self.limit);
        assert!(reset == 0 || self.model.owes(then - 1), "{reset} is too long: {:?}", self.limit);
    }
}
