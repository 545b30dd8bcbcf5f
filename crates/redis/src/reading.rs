//! What servers read, and what follows from it by the same rules.
//!
//! A server tells the instant and every state as it was; the rules are pure, so all else (who refused,
//! for how long, what is left, what was written) is worked out here and cannot differ from what the
//! server did.

use redis::Value;
use tollgate_core::algorithm::{Moment, Patience, Rule, Ruling, State, Step, WordRule};
use tollgate_core::charge::{Outcome, passes};
use tollgate_core::{Answer, Charge, Decision, Effect, Limit, Mode, Span, Tick, Verdict};

use crate::request::{Entry, Question};

/// What was kept of an entry's key, and when it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    now: Tick,
    state: State,
    /// Of a log, summed up for the cost that was asked: how long from `asked` until that passes, and
    /// how far the clock is put right, both in ticks.
    log: Option<(u64, u64)>,
    asked: Tick,
}

/// What is known of each entry of a question.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    kept: Vec<Option<Kept>>,
    /// How many values were no states.
    pub(crate) unread: u64,
}

impl Reading {
    /// Nothing yet.
    pub(crate) fn new(question: &Question<'_, '_, '_>) -> Reading {
        Reading { kept: vec![None; question.entries.len()], unread: 0 }
    }

    /// Adds the reply about these entries; `None` if it is none.
    pub(crate) fn add(
        &mut self,
        question: &Question<'_, '_, '_>,
        entries: &[usize],
        reply: &[u8],
    ) -> Option<()> {
        let mut rest = reply;
        let now = Tick::from_micros(whole(&mut rest)?);
        for index in entries {
            let entry = question.entries.get(*index)?;
            let kept = match question.charge_of(entry)?.limit.rule() {
                Rule::Words(rule) => {
                    Kept { now, state: words(rule, &mut rest)?, log: None, asked: now }
                }
                Rule::Log(_) => {
                    let state = State(whole(&mut rest)?, whole(&mut rest)?);
                    Kept {
                        now,
                        state,
                        log: Some((whole(&mut rest)?, whole(&mut rest)?)),
                        asked: now,
                    }
                }
            };
            *self.kept.get_mut(*index)? = Some(kept);
        }
        if !rest.is_empty() {
            self.unread = self.unread.saturating_add(whole(&mut rest)?);
        }
        rest.is_empty().then_some(())
    }

    /// Knows nothing of these entries any more.
    pub(crate) fn forget(&mut self, entries: &[usize]) {
        for entry in entries {
            if let Some(kept) = self.kept.get_mut(*entry) {
                *kept = None;
            }
        }
    }

    /// The same some time later, if nothing else is charged.
    pub(crate) fn later(&self, elapsed: Span) -> Reading {
        let later = |kept: Kept| Kept { now: kept.now.after(elapsed), ..kept };
        let kept = self.kept.iter().map(|kept| kept.map(later));
        Reading { kept: kept.collect(), unread: 0 }
    }

    /// How much every enforcing limit has left of what is wanted; 1 when that is nothing.
    pub(crate) fn take(&self, question: &Question<'_, '_, '_>) -> u64 {
        let wanted = question.charges.iter().map(|charge| charge.cost).min().unwrap_or(0);
        let enforcing = question.entries.iter().zip(&self.kept);
        let rooms = enforcing.filter(|(entry, _)| entry.effect == Effect::Enforce);
        let room = rooms.filter_map(|(entry, kept)| {
            let (charge, kept) = (question.charge_of(entry)?, (*kept)?);
            kept.room(charge, entry.patience).checked_div(entry.count)
        });
        let room = if question.is_hopeless() { 0 } else { room.min().unwrap_or(wanted) };
        if wanted > 0 { wanted.min(room).max(1) } else { 0 }
    }

    /// Whether every enforcing charge that is known passes, each at its own cost or all at `take`.
    pub(crate) fn passes(&self, question: &Question<'_, '_, '_>, take: Option<u64>) -> bool {
        let all = 0..question.entries.len();
        !question.is_hopeless() && !all.into_iter().any(|entry| self.refuses(question, take, entry))
    }

    /// Whether an entry is known to refuse.
    pub(crate) fn refuses(
        &self,
        question: &Question<'_, '_, '_>,
        take: Option<u64>,
        entry: usize,
    ) -> bool {
        let (Some(entry), Some(Some(kept))) = (question.entries.get(entry), self.kept.get(entry))
        else {
            return false;
        };
        let asked = question.charge_of(entry).map(|charge| Asked::new(entry, *kept, charge, take));
        asked.is_some_and(|asked| !passes([(entry.effect, asked.step.ruling)]))
    }

    /// The answers of those limits that are known, in the places of their charges, in a decision in
    /// which all pass or not.
    pub(crate) fn answers<'l>(
        &self,
        question: &Question<'_, 'l, '_>,
        mode: Mode,
        take: Option<u64>,
        all_pass: bool,
    ) -> Vec<Option<Answer<'l>>> {
        let asked: Vec<Option<Asked<'_>>> = (question.entries.iter().zip(&self.kept))
            .map(|(entry, kept)| {
                Some(Asked::new(entry, (*kept)?, question.charge_of(entry)?, take))
            })
            .collect();
        let left = left_of(&asked, all_pass);
        let latest = self.kept.iter().flatten().map(|kept| kept.now).max().unwrap_or(Tick::EPOCH);
        let answer = |charge: &Charge<'l, '_>, entry: Option<usize>| {
            let Charge { limit, effect, .. } = *charge;
            let Some(entry) = entry else {
                let at = (latest, limit.moment(latest, &charge.key));
                return Some(Answer::new(limit, effect, Verdict::Never, 0, State::FRESH, at));
            };
            let asked = asked.get(entry)?.as_ref()?;
            let Asked { entry, kept, at, .. } = asked;
            let step = asked.step(limit, charge.patience);
            let cost = take.unwrap_or(charge.cost);
            let outcome = Outcome::of(Mode::Charge, all_pass, cost, kept.state, &step);
            let charged = mode != Mode::Peek && outcome == Outcome::Charged;
            let left = left.get(entry.cell).copied().flatten().unwrap_or(kept.state);
            let verdict = limit.verdict(step.ruling, kept.now);
            let charged = if charged { cost } else { 0 };
            Some(Answer::new(limit, effect, verdict, charged, left, (kept.now, *at)))
        };
        let charges = question.charges.iter().zip(&question.entry_of);
        charges.map(|(charge, entry)| answer(charge, *entry)).collect()
    }

    /// The decision, when all is known.
    pub(crate) fn decide<'l>(
        &self,
        question: &Question<'_, 'l, '_>,
        mode: Mode,
        take: Option<u64>,
    ) -> Decision<'l> {
        let answers = self.answers(question, mode, take, self.passes(question, take));
        Decision::new(answers.into_iter().flatten().collect(), question.granted(take))
    }
}

/// An entry, with what it is asked.
struct Asked<'q> {
    entry: &'q Entry,
    kept: Kept,
    at: Moment,
    own: u64,
    total: u64,
    /// What becomes of the entry as a whole.
    step: Step,
}

impl<'q> Asked<'q> {
    fn new(entry: &'q Entry, kept: Kept, charge: &Charge<'_, '_>, take: Option<u64>) -> Asked<'q> {
        let at = charge.limit.moment(kept.now, &charge.key);
        let step = Step { ruling: Ruling::Allow, next: kept.state };
        let (own, total) = (entry.own(take), entry.total(take));
        let asked = Asked { entry, kept, at, own, total, step };
        Asked { step: asked.step(charge.limit, entry.patience), ..asked }
    }

    fn step(&self, limit: &Limit, patience: Patience) -> Step {
        match limit.rule() {
            Rule::Words(rule) => rule.ask(self.kept.state, self.at, self.total, patience),
            Rule::Log(_) => {
                let passed = self.at.now.saturating_sub(limit.moment_of(self.kept.asked, 0).now);
                self.kept.logged(limit.capacity(), self.at, self.total, passed)
            }
        }
    }
}

impl Kept {
    /// What a log says of the cost that was asked.
    fn logged(&self, most: u64, at: Moment, cost: u64, passed: u64) -> Step {
        let (State(count, newest), (wait, shift)) = (self.state, self.log.unwrap_or_default());
        let sum = count.saturating_add(cost);
        if cost == 0 {
            Step { ruling: Ruling::Allow, next: self.state }
        } else if cost > most {
            Step { ruling: Ruling::Never, next: self.state }
        } else if sum <= most {
            Step { ruling: Ruling::Allow, next: State(sum, newest.max(at.now)) }
        } else {
            let next = State(count, newest.saturating_sub(shift));
            Step { ruling: Ruling::Deny(wait.saturating_sub(passed)), next }
        }
    }

    fn room(&self, charge: &Charge<'_, '_>, patience: Patience) -> u64 {
        match charge.limit.rule() {
            Rule::Words(rule) => {
                rule.room(self.state, charge.limit.moment(self.now, &charge.key), patience)
            }
            Rule::Log(_) => charge.limit.capacity().saturating_sub(self.state.0),
        }
    }
}

/// The instant that a reply begins with.
pub(crate) fn instant(reply: &Value) -> Option<Tick> {
    match reply {
        Value::BulkString(bytes) => whole(&mut bytes.as_slice()).map(Tick::from_micros),
        _ => None,
    }
}

/// What is left of each key that was written, or, for a peek, would be. Of one key the last charge
/// stands, before a clock that is put right.
fn left_of(asked: &[Option<Asked<'_>>], all_pass: bool) -> Vec<Option<State>> {
    let cells = asked.iter().flatten().map(|asked| asked.entry.cell).max();
    let mut left = vec![None; cells.map_or(0, |last| last.saturating_add(1))];
    for asked in asked.iter().flatten() {
        let Some(left) = left.get_mut(asked.entry.cell) else { continue };
        let passes = asked.step.ruling.passes();
        let changes = asked.own > 0 && asked.step.next != asked.kept.state;
        if changes && (passes && all_pass || !passes && left.is_none()) {
            *left = Some(asked.step.next);
        }
    }
    left
}

/// The next eight bytes.
fn next(rest: &mut &[u8]) -> Option<[u8; 8]> {
    let (bytes, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*bytes)
}

/// The next double, which holds a whole number; waits beyond 2^53 as 2^53.
pub(crate) fn whole(rest: &mut &[u8]) -> Option<u64> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    let double = f64::from_le_bytes(next(rest)?);
    let fits = double >= 0.0 && double.trunc() == double;
    #[expect(clippy::as_conversions, reason = "a whole number from 0 to 2^53")]
    fits.then(|| double.min(MOST) as u64)
}

/// The next state of a rule that keeps two words.
fn words(rule: &WordRule, rest: &mut &[u8]) -> Option<State> {
    let first = whole(rest)?;
    if !matches!(rule, WordRule::Sliding(_)) {
        return Some(State(first, whole(rest)?));
    }
    let counts = u64::from_le_bytes(next(rest)?);
    // The previous count comes first, so it is the lower half of this little-endian word.
    Some(State(first, counts.rotate_left(32)))
}
