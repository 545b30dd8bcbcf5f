//! The sliding log: two rings live through one history, one in Rust and one in Lua, and every answer
//! is compared.

use tollgate_conformance::{Form, Random};
use tollgate_core::Limit;
use tollgate_core::algorithm::twin::{double, numbers};
use tollgate_core::algorithm::{
    Charged, Log, Moment, Patience, Rule, Ruling, SlidingLog, State, Step,
};

use super::Run;
use super::batch::{Batch, Difference, Tally};
use super::machine::Program;
use super::words::{LAST, instant};

/// Keeps a ring as a store would: times less a base, the oldest at the head, and no more reads than
/// a binary search needs.
const DRIVER: &str = r#"
local most, reads = 9007199254740992, 0
local times, sums, head, n, base, before = {}, {}, 0, 0, 0, 0
local function at(i)
  reads = reads + 1
  if reads > 200 or not (i >= 0 and i < n and i % 1 == 0) then error('no entry, or too many') end
  return times[head + i] + base, sums[head + i]
end
local function give(now, charged, left, actual, limit, window)
  local index, change, gone = log_give(at, n, before, now, charged, left, actual, limit, window)
  if not index then return end
  for i = head + index, head + n - 1 do sums[i] = sums[i] + change end
  if gone then
    for i = head + index, head + n - 2 do times[i], sums[i] = times[i + 1], sums[i + 1] end
    n = n - 1
  end
end
local function answer(anew, act, now, cost, limit, window, far, charged, left, actual)
  if anew == 1 then times, sums, head, n, base, before = {}, {}, 0, 0, 0, 0 end
  reads = 0
  local passes, a, b, first, rest, wait, shift = log_ask(at, n, before, now, cost, limit, window, far)
  if reads > 4 * math.log(n + 2) / math.log(2) + 4 then error(n .. ' entries took reads: ' .. reads) end
  local room = log_room(a, b, 0, now, 0, limit, window, far)
  local reset = log_reset(a, b, 0, now, 0, limit, window, far)
  if reset > most then reset = most end
  if act == 2 then
    give(now, charged, left, actual, limit, window)
  elseif act == 1 and passes then
    local index, time, sum = log_record(n, a, b, rest, now, cost)
    if first == n then base = 0 end
    if time - base >= most then -- The clock has stepped back and forth by centuries.
      for e = head + first, head + n - 1 do times[e] = times[e] + base end
      base = 0
    end
    times[head + index], sums[head + index] = time - base, sum
    n, head, before = index + 1 - first, head + first, rest
  elseif act == 1 then
    base = base - shift
  end
  return passes == true and 1 or passes == false and 0, a, b, wait, shift, room, reset
end
"#;

/// Compares at least as many records as wanted.
pub fn compare(run: Run<'_>) -> Result<Tally, Difference> {
    let answers = &[("ask", 5), ("room", 1), ("reset", 1)];
    let program = Program { rule: "log", driver: DRIVER.to_owned(), asked: 10, answers };
    let mut batch = Batch::new(program, run)?;
    let mut random = Random::of(run.seed);
    let mut tally = Tally::default();
    while tally.records < run.records {
        History::begin(&mut random).run(&mut batch, &mut tally);
        batch.compare_if_full()?;
    }
    batch.compare()?;
    Ok(tally)
}

/// One key under one limit, now and then changed.
struct History<'r> {
    random: &'r mut Random,
    limit: Limit,
    log: Log,
    now: u64,
    /// What was charged and may be given back.
    charged: Vec<Charged>,
    /// Whether Lua has still to be told that a history begins.
    anew: bool,
}

/// What is done once an answer was compared.
#[derive(Clone, Copy, PartialEq)]
enum Act {
    Nothing,
    Write,
    Give(Charged, u64),
}

impl<'r> History<'r> {
    fn begin(random: &'r mut Random) -> History<'r> {
        let limit = Form::SlidingLog.limit(random);
        let now = instant(random);
        History { random, limit, log: Log::default(), now, charged: Vec::new(), anew: true }
    }

    fn run(mut self, batch: &mut Batch, tally: &mut Tally) {
        let long = self.random.once_in(16);
        let steps = self.random.between(8, if long { 2_000 } else { 100 });
        for _ in 0..steps {
            self.advance();
            let cost = self.cost();
            let act = self.act();
            self.step(cost, act, batch, tally);
        }
        // Every wait there is tells every entry there is.
        for cost in 1..=self.limit.capacity().min(16) {
            self.step(cost, Act::Nothing, batch, tally);
        }
    }

    fn step(&mut self, cost: u64, act: Act, batch: &mut Batch, tally: &mut Tally) {
        let rule = self.rule();
        let at = Moment { now: self.now, phase: 0 };
        let State(count, newest) = rule.ask(&self.log, at, 0).next;
        let Step { ruling, next } = rule.ask(&self.log, at, cost);
        let (wait, shift) = match ruling {
            Ruling::Deny(wait) => (wait, newest - next.1),
            _ => (0, 0),
        };
        let (kind, charged, actual) = match act {
            Act::Nothing => (0, None, 0),
            Act::Write => (1, None, 0),
            Act::Give(charged, actual) => (2, Some(charged), actual),
        };
        let [limit, window, far, ..] = numbers(self.limit.rule(), Patience::Wait);
        let (charged_cost, left) = charged.map_or((0, 0), |c| (c.cost, c.left.1));
        let asked = [u64::from(self.anew), kind, at.now, cost, limit, window, far];
        let passes = u64::from(ruling.passes());
        let (room, reset) = (rule.room(&self.log, at), rule.reset_after(&self.log, at));
        batch.push(
            &[&asked.map(double), &[charged_cost, left, actual].map(double)],
            &[&[passes, count, newest, wait, shift, room, reset].map(double)],
        );
        self.anew = false;

        tally.records += 1;
        tally.count(ruling, shift > 0);
        match act {
            Act::Nothing => {}
            Act::Write if ruling.passes() => {
                rule.record(&mut self.log, at, cost);
                self.charged.push(Charged { cost, left: next, under: *self.limit.rule() });
            }
            Act::Write if shift > 0 => assert!(rule.re_anchor(&mut self.log, at)),
            Act::Write => {}
            Act::Give(charged, actual) => {
                let before = self.log.clone();
                rule.give(&mut self.log, at, &charged, actual);
                tally.count_given(before != self.log, actual > charged.cost);
            }
        }
    }

    fn rule(&self) -> SlidingLog {
        let Rule::Log(rule) = *self.limit.rule() else { panic!("a log") };
        rule
    }

    fn advance(&mut self) {
        let [limit, window, far, ..] = numbers(self.limit.rule(), Patience::Wait);
        let newest = self.rule().ask(&self.log, Moment { now: self.now, phase: 0 }, 0).next.1;
        let random = &mut *self.random;
        let ahead = |now: u64, ticks: u64| now.saturating_add(ticks).min(LAST);
        self.now = match random.below(64) {
            0..16 => self.now,
            16..32 => ahead(self.now, 1),
            32..44 => ahead(self.now, random.below(window / limit + 2)),
            44..52 => ahead(self.now, random.below(window)),
            52 => ahead(self.now, window),
            53 => ahead(newest, window).saturating_sub(random.below(2)),
            54 => ahead(self.now, random.of_any_size(53)),
            55 => self.now.saturating_sub(random.below(window)),
            56 => self.now.saturating_sub(random.below(far.saturating_mul(3))),
            57 => newest.saturating_sub(ahead(far, random.below(3))),
            58 => random.below(window),
            59 if random.once_in(8) => instant(random),
            _ => ahead(self.now, random.of_any_size(12)),
        };
        if random.once_in(64) {
            self.limit = Form::SlidingLog.changed(&self.limit, random);
        }
    }

    fn cost(&mut self) -> u64 {
        let room = self.rule().room(&self.log, Moment { now: self.now, phase: 0 });
        let (random, capacity) = (&mut *self.random, self.limit.capacity());
        let cost = match random.below(16) {
            0..10 => 1,
            10 => room,
            11 => room + 1,
            12 => random.between(1, capacity),
            13 => capacity + random.below(2),
            14 => random.of_any_size(64),
            _ => random.between(1, 3),
        };
        cost.max(1)
    }

    fn act(&mut self) -> Act {
        let random = &mut *self.random;
        match random.below(8) {
            0 => Act::Nothing,
            1 if !self.charged.is_empty() => {
                // The last, or any: also one that was given back, has left or was re-anchored.
                let last = self.charged.len() - 1;
                let recent = random.of_any_size(11).min(u64::try_from(last).unwrap());
                let charged = self.charged[last - usize::try_from(recent).unwrap()];
                let actual = match random.below(6) {
                    0..3 => 0,
                    3 => random.below(charged.cost),
                    4 => charged.cost + random.below(self.limit.capacity() * 3),
                    _ => random.of_any_size(64),
                };
                Act::Give(charged, actual)
            }
            _ => Act::Write,
        }
    }
}
