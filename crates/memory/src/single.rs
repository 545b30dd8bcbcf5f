//! One limit without a key: no table and no hash, one bucket under its own version word.

use std::fmt;

use tollgate_core::algorithm::{
    Log, Moment, Patience, Rule, Ruling, SlidingLog, State, Step, WordRule,
};
use tollgate_core::charge::Outcome;
use tollgate_core::{Answer, Clock, Decision, Effect, Key, Limit, Mode, Receipt, Receipts, Tick};

use crate::bucket::{Bucket, Control};
use crate::clock::SystemClock;
use crate::memory::Time;
use crate::sync::{self, Mutex, whole};

/// What stands for the key where one is asked for: in receipts, and in where windows begin.
const KEY: Key<'static> = Key::Bytes(b"");

/// One limit that all callers share: calls to an upstream, lines of a log, a job of one's own.
///
/// It asks the same rules as [`Memory`](crate::Memory) and tells the same decisions, at about half the
/// cost: where there is no key nothing has to be looked up, forgotten or bounded. Refusals write
/// nothing. Share it by reference or in an `Arc`.
///
/// ```
/// use tollgate_core::Limit;
/// use tollgate_memory::Single;
/// let upstream = Single::new(Limit::new("upstream", "6/minute burst 3".parse()?)?);
/// assert!(upstream.check().is_allowed());
/// assert_eq!(upstream.peek(2).remaining(), 0); // as if charged, but nothing is
/// assert_eq!(upstream.take_up_to(10).granted(), 2);
/// assert!(upstream.check().retry_after().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A cost that is only known afterwards is charged as an estimate and settled with its receipts:
///
/// ```
/// # use tollgate_core::Limit;
/// # use tollgate_memory::Single;
/// let tokens = Single::new(Limit::new("tokens", "1000/day".parse()?)?);
/// let (decision, receipts) = tokens.charge(800);
/// assert_eq!(decision.remaining(), 200);
/// tokens.settle(receipts, 300);
/// assert_eq!(tokens.peek(0).remaining(), 700);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Single {
    time: Time,
    limit: Limit,
    phase: u64,
    /// The state of a rule that keeps two words, in the bucket's first cell.
    words: Bucket,
    /// The state of a sliding log; empty, and off the heap, under any other rule.
    log: Mutex<Log>,
}

/// What is told of a charge.
struct Told {
    ruling: Ruling,
    /// What was asked, in an "up to" what was found of it.
    cost: u64,
    charged: u64,
    left: State,
}

impl Single {
    /// A limit by the machine's clock, with nothing used.
    #[must_use]
    pub fn new(limit: Limit) -> Single {
        Single::by(Time::System(SystemClock::new()), limit)
    }

    /// A limit by another clock.
    #[must_use]
    pub fn with_clock(limit: Limit, clock: impl Clock + 'static) -> Single {
        Single::by(Time::Given(Box::new(clock)), limit)
    }

    fn by(time: Time, limit: Limit) -> Single {
        let phase = limit.phase(&KEY);
        Single { time, limit, phase, words: Bucket::default(), log: Mutex::default() }
    }

    /// The limit.
    #[must_use]
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// Charges 1.
    #[inline]
    pub fn check(&self) -> Decision<'_> {
        self.decide_at(self.time.now(), Mode::Charge, 1)
    }

    /// Charges `cost`; 0 always passes, more than the capacity never does.
    #[inline]
    pub fn check_n(&self, cost: u64) -> Decision<'_> {
        self.decide_at(self.time.now(), Mode::Charge, cost)
    }

    /// What charging `cost` would be told; nothing is written.
    #[inline]
    pub fn peek(&self, cost: u64) -> Decision<'_> {
        self.decide_at(self.time.now(), Mode::Peek, cost)
    }

    /// Charges as much of `most` as is left; [`Decision::granted`] says how much that was.
    #[inline]
    pub fn take_up_to(&self, most: u64) -> Decision<'_> {
        self.decide_at(self.time.now(), Mode::UpTo, most)
    }

    /// Charges `cost` and keeps the receipt, to give the charge back or settle it later.
    #[inline]
    pub fn charge(&self, cost: u64) -> (Decision<'_>, Receipts<'_>) {
        Receipts::split(self.check_n(cost), KEY)
    }

    /// Gives a whole charge back.
    pub fn refund(&self, receipts: Receipts<'_>) {
        self.settle(receipts, 0);
    }

    /// Replaces an estimated cost by the actual one, which may be higher. Receipts of other limits
    /// change nothing here.
    pub fn settle(&self, receipts: Receipts<'_>, actual: u64) {
        let now = self.time.now();
        let own = |receipt: &Receipt<'_>| std::ptr::eq(receipt.limit(), &self.limit);
        receipts.into_iter().filter(own).for_each(|receipt| self.give(now, &receipt, actual));
    }

    /// Decides as of `now` instead of by the clock, for replays and tests.
    // Always: a caller that reads the verdict alone pays for making nothing else.
    #[inline(always)]
    pub fn decide_at(&self, now: Tick, mode: Mode, cost: u64) -> Decision<'_> {
        let at = self.limit.moment_of(now, self.phase);
        let told = self.glance(mode, at, cost);
        let told = told.unwrap_or_else(|| self.decide_with_care(mode, at, cost));
        let Told { ruling, cost, charged, left } = told;
        let verdict = self.limit.verdict(ruling, now);
        let answer = Answer::new(&self.limit, Effect::Enforce, verdict, charged, left, (now, at));
        Decision::of_one(answer, cost)
    }

    /// What nearly every call is: one look at the state, and one exchange if the charge passes at
    /// once; else nothing is written. `None` for all else, and when another writer is at work.
    #[inline(always)]
    fn glance(&self, mode: Mode, at: Moment, cost: u64) -> Option<Told> {
        let Rule::Words(rule) = self.limit.rule() else { return None };
        let (seen, state) = self.look()?;
        if mode == Mode::Charge
            && let Some(left) = rule.admit(state, at, cost)
        {
            let allowed = Told { ruling: Ruling::Allow, cost, charged: cost, left };
            return self.commit(seen, left).then_some(allowed);
        }
        if mode == Mode::UpTo {
            return None;
        }
        let Step { ruling, next } = rule.ask(state, at, cost, Patience::Wait);
        let writes = mode == Mode::Charge && next != state;
        (!writes).then_some(Told { ruling, cost, charged: 0, left: next })
    }

    #[cold]
    #[inline(never)]
    fn decide_with_care(&self, mode: Mode, at: Moment, cost: u64) -> Told {
        match self.limit.rule() {
            Rule::Words(rule) => self.decide_words(rule, mode, at, cost),
            Rule::Log(rule) => self.decide_log(rule, mode, at, cost),
        }
    }

    fn decide_words(&self, rule: &WordRule, mode: Mode, at: Moment, cost: u64) -> Told {
        let mut contention = sync::Patience::default();
        loop {
            let Some((seen, state)) = self.look() else {
                contention.pause();
                continue;
            };
            let cost = up_to(mode, cost, || rule.room(state, at, Patience::Wait));
            let step = rule.ask(state, at, cost, Patience::Wait);
            let outcome = Outcome::of(Mode::Charge, step.ruling.passes(), cost, state, &step);
            let writes = mode != Mode::Peek && outcome != Outcome::Kept;
            if writes && !self.commit(seen, step.next) {
                contention.give_way();
                continue;
            }
            return told(mode, cost, state, step.next, step.ruling, outcome);
        }
    }

    fn decide_log(&self, rule: &SlidingLog, mode: Mode, at: Moment, cost: u64) -> Told {
        let mut log = whole(self.log.lock());
        let before = rule.ask(&log, at, 0).next;
        let cost = up_to(mode, cost, || rule.room(&log, at));
        let step = rule.ask(&log, at, cost);
        let outcome = Outcome::of(Mode::Charge, step.ruling.passes(), cost, before, &step);
        match outcome {
            _ if mode == Mode::Peek => {}
            Outcome::Charged => rule.record(&mut log, at, cost),
            Outcome::ReAnchored => drop(rule.re_anchor(&mut log, at)),
            Outcome::Kept => {}
        }
        told(mode, cost, before, step.next, step.ruling, outcome)
    }

    fn give(&self, now: Tick, receipt: &Receipt<'_>, actual: u64) {
        let (at, charged) = (self.limit.moment_of(now, self.phase), receipt.charged());
        let rule = match self.limit.rule() {
            Rule::Words(rule) => rule,
            Rule::Log(rule) => {
                let mut log = whole(self.log.lock());
                return rule.give(&mut log, at, &charged, actual);
            }
        };
        let mut contention = sync::Patience::default();
        loop {
            if let Some((seen, state)) = self.look() {
                let next = rule.give(state, at, &charged, actual);
                if next == state || self.commit(seen, next) {
                    return;
                }
            }
            contention.pause();
        }
    }

    /// The state and the version it belongs to, unless a writer is at work.
    #[inline(always)]
    fn look(&self) -> Option<(Control, State)> {
        let seen = self.words.quiet()?;
        let [cell, ..] = self.words.cells();
        let (state, _) = cell.state();
        self.words.still(seen).then_some((seen, state))
    }

    /// Writes a state decided on a look, if nothing was written since.
    #[inline(always)]
    fn commit(&self, seen: Control, next: State) -> bool {
        let Some(mut lock) = self.words.lock(seen) else { return false };
        let [cell, ..] = self.words.cells();
        lock.write(cell, next, 0);
        true
    }
}

impl fmt::Debug for Single {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Single").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// The cost to ask with: of "up to" what there is room for, or 1, so that a refusal tells how long
/// until 1 passes.
fn up_to(mode: Mode, cost: u64, room: impl FnOnce() -> u64) -> u64 {
    if mode == Mode::UpTo && cost > 0 { cost.min(room()).max(1) } else { cost }
}

fn told(
    mode: Mode,
    cost: u64,
    before: State,
    next: State,
    ruling: Ruling,
    outcome: Outcome,
) -> Told {
    let left = if outcome == Outcome::Kept { before } else { next };
    let charged = if mode != Mode::Peek && outcome == Outcome::Charged { cost } else { 0 };
    Told { ruling, cost, charged, left }
}
