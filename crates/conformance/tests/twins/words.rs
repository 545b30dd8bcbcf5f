//! The rules of few words: random states and histories, every word of every answer compared.

use tollgate_conformance::{Form, Random};
use tollgate_core::algorithm::twin::{double, numbers};
use tollgate_core::algorithm::{Charged, Moment, Patience, Rule, State, WordRule};
use tollgate_core::{Key, Limit, Tick};

use super::batch::{Batch, Difference, Tally};
use super::machine::Program;
use super::{NamedRule, Run};

/// The last instant and the largest word.
pub const LAST: u64 = 1 << 53;

/// What a charge, a preview and a refund of one record are answered.
const DRIVER: &str = r#"
local most = 9007199254740992
local function answer(a, b, c, now, phase, cost, p, q, r, s, u,
    charged, left_a, left_b, left_c, actual, then_rate, then_full, burst)
  local passes, x, y, z = RULE_ask(a, b, c, now, phase, cost, p, q, r, s, u)
  local room = RULE_room(a, b, c, now, phase, p, q, r, s, u)
  local reset = RULE_reset(a, b, c, now, phase, p, q, r, s, u)
  if reset > most then reset = most end
  return passes == true and 1 or passes == false and 0, x, y, z, room, reset, GIVE
end
"#;

const GIVE: &str = "RULE_give(a, b, c, now, phase, charged, left_a, left_b, left_c, actual, \
                    p, q, r, s, u)";

/// A bucket has to know the rate and the capacity of the time of the charge; its limit is the burst.
const GIVE_TO_BUCKET: &str = "RULE_give(a, b, c, now, phase, charged, left_a, left_b, left_c, \
                              then_rate, then_full, actual, p, q, burst, s, u)";

/// Compares at least as many records as wanted of the forms of one rule.
pub fn compare((rule, forms): NamedRule, run: Run<'_>) -> Result<Tally, Difference> {
    let give = if rule == "bucket" { GIVE_TO_BUCKET } else { GIVE };
    let driver = DRIVER.replace("GIVE", give).replace("RULE", rule);
    let answers = &[("ask", 4), ("room", 1), ("reset", 1), ("give", 3)];
    let mut batch = Batch::new(Program { rule, driver, asked: 19, answers }, run)?;
    let mut random = Random::of(run.seed);
    let mut tally = Tally::default();
    while tally.records < run.records {
        History::begin(*random.one_of(forms), &mut random).run(&mut batch, &mut tally);
        batch.compare_if_full()?;
    }
    batch.compare()?;
    Ok(tally)
}

/// One key under one limit, now and then changed.
struct History<'r> {
    form: Form,
    random: &'r mut Random,
    limit: Limit,
    then: Limit,
    state: State,
    now: u64,
    phase: u64,
    charged: Option<Charged>,
}

impl<'r> History<'r> {
    fn begin(form: Form, random: &'r mut Random) -> History<'r> {
        let limit = form.limit(random);
        let now = instant(random);
        let key = Key::from(random.bits());
        let mut phase = limit.moment(Tick::EPOCH, &key).phase;
        if phase > 0 && random.once_in(4) {
            let window = numbers(limit.rule(), Patience::Now)[1];
            phase = *random.one_of(&[1, window - 1]) % window;
            if random.once_in(2) && window < 1 << 32 {
                // As a calendar shifts its windows.
                phase += window * random.below(20_000);
            }
        }
        let then = limit.clone();
        History { form, random, limit, then, state: State::FRESH, now, phase, charged: None }
    }

    fn run(mut self, batch: &mut Batch, tally: &mut Tally) {
        for _ in 0..self.random.between(8, 120) {
            self.step(batch, tally);
        }
    }

    fn step(&mut self, batch: &mut Batch, tally: &mut Tally) {
        self.advance();
        let Rule::Words(rule) = *self.limit.rule() else { panic!("a rule of words") };
        let at = Moment { now: self.now, phase: self.phase };
        let patience = *self.random.one_of(&[Patience::Wait, Patience::Now]);
        let room = rule.room(self.state, at, patience);
        let cost = self.cost(room);
        let step = rule.ask(self.state, at, cost, patience);
        let charged = self.receipt();
        let actual = self.actual(charged.cost, room);
        let given = rule.give(self.state, at, &charged, actual);

        let [_, _, burst, ..] = numbers(self.limit.rule(), Patience::Now);
        let [then_rate, _, _, then_full, _] = numbers(&charged.under, Patience::Now);
        let asked: [&[f64]; 6] = [
            &self.words(self.state),
            &[at.now, at.phase, cost].map(double),
            &numbers(self.limit.rule(), patience).map(double),
            &[double(charged.cost)],
            &self.words(charged.left),
            &[actual, then_rate, then_full, burst].map(double),
        ];
        let answered: [&[f64]; 4] = [
            &[if step.ruling.passes() { 1.0 } else { 0.0 }],
            &self.words(step.next),
            &[room, rule.reset_after(self.state, at)].map(double),
            &self.words(given),
        ];
        batch.push(&asked, &answered);

        tally.records += 1;
        tally.count(step.ruling, step.next != self.state && !step.ruling.passes());
        tally.count_given(given != self.state, actual > charged.cost);
        self.keep(rule, step.next, given, step.ruling.passes(), cost);
    }

    /// Time goes on, or back; now and then the limit changes, or the state is any that can be read.
    fn advance(&mut self) {
        let [rate, period, _, full, far] = numbers(self.limit.rule(), Patience::Wait);
        let span = match self.form {
            Form::TokenBucket | Form::LeakyBucket => full / rate.max(1),
            _ => period,
        };
        let random = &mut *self.random;
        let ahead = |now: u64, ticks: u64| now.saturating_add(ticks).min(LAST);
        self.now = match random.below(32) {
            0..8 => self.now,
            8..12 => ahead(self.now, 1),
            12..16 => ahead(self.now, random.below(span / 4 + 2)),
            16..20 => ahead(self.now, random.below(span.saturating_mul(2).max(1))),
            20 => ahead(self.now, span),
            21 => ahead(self.now, random.of_any_size(53)),
            22 => self.now.saturating_sub(1),
            23 => self.now.saturating_sub(random.below(span + 1)),
            24 => self.now.saturating_sub(random.below(far.saturating_mul(3))),
            25 => self.now.saturating_sub(ahead(far, random.below(3))),
            26 => instant(random),
            // Next to what the state says: its very tick, one window on, one of either beside it.
            27 | 28 => {
                let unit = if self.form == Form::FixedFirstHit { 1 } else { period };
                let tick = match self.form {
                    Form::TokenBucket | Form::LeakyBucket => self.state.1,
                    _ => self.state.0.saturating_mul(unit),
                };
                let near = ahead(tick, *random.one_of(&[0, 1, 2, period, 2 * period]));
                near.saturating_sub(*random.one_of(&[0, 1, 2, self.phase, far]))
            }
            _ => ahead(self.now, random.of_any_size(20)),
        };
        if random.once_in(24) {
            self.limit = self.form.changed(&self.limit, random);
        }
        if random.once_in(12) {
            self.state = self.any_state();
        }
    }

    /// Whole numbers that a store may hand over, written by a rule or by anyone.
    fn any_state(&mut self) -> State {
        let [limit, window, ..] = numbers(self.limit.rule(), Patience::Wait);
        let full = numbers(self.limit.rule(), Patience::Wait)[3];
        let (form, now) = (self.form, self.now);
        let mut word = |near: [u64; 3]| {
            let random = &mut *self.random;
            match random.below(4) {
                0 => *random.one_of(&[0, 1, LAST - 1, LAST]),
                1 => random.of_any_size(53),
                _ => {
                    let near = (*random.one_of(&near)).saturating_add(random.below(3));
                    near.saturating_sub(random.below(3)).min(LAST)
                }
            }
        };
        match form {
            Form::TokenBucket | Form::LeakyBucket => {
                State(word([full, 2 * full, full / 2]), word([now, now, now / 2]))
            }
            Form::FixedFirstHit => State(
                word([now, now.saturating_sub(window), now.saturating_add(window)]),
                word([limit, 2 * limit, 0]),
            ),
            Form::FixedSpread | Form::FixedClock => {
                let k = now / window;
                State(word([k, k + 1, k.saturating_sub(1)]), word([limit, 2 * limit, 0]))
            }
            _ => {
                let k = now / window;
                let mut count = || word([limit, 2 * limit, 0]).min((1 << 32) - 1);
                let counts = count() << 32 | count();
                State(word([k, k + 1, k.saturating_sub(1)]), counts)
            }
        }
    }

    /// From 1, since nothing else is asked of a twin.
    fn cost(&mut self, room: u64) -> u64 {
        let random = &mut *self.random;
        let capacity = self.limit.capacity();
        let cost = match random.below(16) {
            0..6 => 1,
            6..9 => random.between(1, 4),
            9 => capacity,
            10 => capacity + 1,
            11 => room,
            12 => room + 1,
            13 => random.between(1, capacity),
            14 => self.limit.capacity_at_once().saturating_add(random.below(2)),
            _ => random.of_any_size(64),
        };
        cost.max(1)
    }

    /// The last charge, or one that may have been made.
    fn receipt(&mut self) -> Charged {
        let then = numbers(self.then.rule(), Patience::Now);
        let random = &mut *self.random;
        if let Some(charged) = self.charged.filter(|_| !random.once_in(8)) {
            return charged;
        }
        let capacity = self.then.capacity();
        let most = if random.once_in(2) { capacity } else { capacity.min(4) };
        let cost = random.between(1, most);
        let left = match self.form {
            Form::TokenBucket | Form::LeakyBucket => {
                let debt = *random.one_of(&[self.state.0, then[3], then[3] / 2, cost * then[1]]);
                let last = self.now.min(self.state.1).saturating_sub(random.below(3));
                State(debt.min(then[3]), *random.one_of(&[last, self.state.1, self.now]))
            }
            _ => State((self.state.0 + random.below(3)).saturating_sub(1).min(LAST), 0),
        };
        Charged { cost, left, under: *self.then.rule() }
    }

    fn actual(&mut self, cost: u64, room: u64) -> u64 {
        let random = &mut *self.random;
        match random.below(8) {
            0..3 => 0,
            3 => random.below(cost),
            4 => cost + random.below(2),
            5 => cost.saturating_add(room) + random.below(3),
            6 => random.between(0, self.limit.capacity().saturating_mul(4)),
            _ => random.of_any_size(64),
        }
    }

    /// What becomes of the state, and of the receipt.
    fn keep(&mut self, rule: WordRule, next: State, given: State, passed: bool, cost: u64) {
        match self.random.below(8) {
            0 => {}
            1 if self.charged.is_some() => {
                self.state = given;
                self.charged = None;
            }
            _ => {
                self.state = next;
                if passed && self.random.once_in(2) {
                    self.charged = Some(Charged { cost, left: next, under: Rule::Words(rule) });
                    self.then = self.limit.clone();
                }
            }
        }
    }

    /// As Lua holds a state: the counts of two windows lie apart.
    fn words(&self, State(a, b): State) -> [f64; 3] {
        match self.form {
            Form::SlidingWindow => [double(a), double(b >> 32), double(b & 0xffff_ffff)],
            _ => [double(a), double(b), 0.0],
        }
    }
}

/// Today, the ends of time, or any instant.
pub fn instant(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => *random.one_of(&[0, 1, LAST - 1, LAST]),
        1 => random.of_any_size(53),
        2 => 1_800_000_000_000_000 + random.below(1 << 40),
        _ => 1_800_000_000 + random.below(1 << 20),
    }
}
