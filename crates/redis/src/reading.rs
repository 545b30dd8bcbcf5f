//! What a server read, and what follows from it by the same rules.
//!
//! The server tells the instant and every state as it was; the rules are pure, so all else (who
//! refused, for how long, what is left, what was written) is worked out here and cannot differ from
//! what the server did.

use tollgate_core::algorithm::{Moment, Patience, Rule, Ruling, State, Step, WordRule};
use tollgate_core::charge::{Outcome, passes};
use tollgate_core::{Answer, Charge, Decision, Effect, Limit, Mode, Tick};

use crate::request::{Entry, Question};

/// What one reply tells: when, and what was kept of each entry.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) now: Tick,
    kept: Vec<Kept>,
    /// How many values were no states.
    pub(crate) unread: u64,
}

/// What was kept of an entry's key.
#[derive(Clone, Copy, Debug)]
enum Kept {
    Words(State),
    /// A log, summed up for the cost that was asked.
    Log {
        state: State,
        wait: u64,
        shift: u64,
    },
}

impl Reading {
    /// Reads a reply; `None` if it is none to this question.
    pub(crate) fn of(
        question: &Question,
        charges: &[Charge<'_, '_>],
        reply: &[u8],
    ) -> Option<Reading> {
        let mut rest = reply;
        let now = Tick::from_micros(whole(take(&mut rest)?)?);
        let mut kept = Vec::with_capacity(question.entries.len());
        for entry in &question.entries {
            kept.push(match charges.get(entry.charge)?.limit.rule() {
                Rule::Words(rule) => Kept::Words(state(rule, &mut rest)?),
                Rule::Log(_) => {
                    let mut next = || whole(take(&mut rest)?);
                    Kept::Log { state: State(next()?, next()?), wait: next()?, shift: next()? }
                }
            });
        }
        let unread = if rest.is_empty() { 0 } else { whole(take(&mut rest)?)? };
        rest.is_empty().then_some(Reading { now, kept, unread })
    }

    /// The decision that the server made.
    pub(crate) fn decide<'l>(
        &self,
        question: &Question,
        mode: Mode,
        charges: &[Charge<'l, '_>],
    ) -> Decision<'l> {
        let take = (mode == Mode::UpTo).then(|| self.take(question, charges));
        let asked: Vec<Asked<'_>> = (question.entries.iter().zip(&self.kept))
            .filter_map(|(entry, kept)| {
                let charge = charges.get(entry.charge)?;
                Some(Asked::new(
                    entry,
                    kept,
                    charge,
                    charge.limit.moment(self.now, &charge.key),
                    take,
                ))
            })
            .collect();
        let asked_of = |index: usize| asked.get((*question.entry_of.get(index)?)?);
        let never = Step { ruling: Ruling::Never, next: State::FRESH };
        let step = |index: usize, charge: &Charge<'_, '_>| {
            asked_of(index).map_or(never, |asked| asked.step(charge.limit, charge.patience))
        };
        let all_pass =
            passes(charges.iter().enumerate().map(|(i, c)| (c.effect, step(i, c).ruling)));
        let left = left_of(&asked, all_pass);
        let answers = charges.iter().enumerate().map(|(index, charge)| {
            let Charge { limit, effect, .. } = *charge;
            let (cost, step) = (take.unwrap_or(charge.cost), step(index, charge));
            let before = asked_of(index).map_or(State::FRESH, |asked| asked.before);
            let outcome = Outcome::of(Mode::Charge, all_pass, cost, before, &step);
            let charged = mode != Mode::Peek && outcome == Outcome::Charged;
            let cell = asked_of(index).map(|asked| asked.entry.cell);
            let left = cell.and_then(|cell| left.get(cell).copied().flatten()).unwrap_or(before);
            let at = limit.moment(self.now, &charge.key);
            let verdict = limit.verdict(step.ruling, self.now);
            Answer::new(
                limit,
                effect,
                verdict,
                if charged { cost } else { 0 },
                left,
                (self.now, at),
            )
        });
        let granted = take.or_else(|| charges.iter().map(|charge| charge.cost).min()).unwrap_or(0);
        Decision::new(answers.collect(), granted)
    }

    /// How much every enforcing limit has left of what is wanted; 1 when that is nothing.
    fn take(&self, question: &Question, charges: &[Charge<'_, '_>]) -> u64 {
        let wanted = charges.iter().map(|charge| charge.cost).min().unwrap_or(0);
        let hopeless = (charges.iter().zip(&question.entry_of))
            .any(|(charge, entry)| charge.effect == Effect::Enforce && entry.is_none());
        let enforcing = question.entries.iter().zip(&self.kept);
        let rooms =
            enforcing.filter(|(entry, _)| entry.effect == Effect::Enforce).map(|(entry, kept)| {
                let Some(charge) = charges.get(entry.charge) else { return 0 };
                let at = charge.limit.moment(self.now, &charge.key);
                kept.room(charge.limit, at, entry.patience).checked_div(entry.count).unwrap_or(0)
            });
        let room = if hopeless { 0 } else { rooms.min().unwrap_or(wanted) };
        if wanted > 0 { wanted.min(room).max(1) } else { 0 }
    }
}

/// An entry, with what it is asked.
struct Asked<'q> {
    entry: &'q Entry,
    kept: &'q Kept,
    at: Moment,
    before: State,
    own: u64,
    total: u64,
    /// What becomes of the entry as a whole.
    step: Step,
}

impl<'q> Asked<'q> {
    fn new(
        entry: &'q Entry,
        kept: &'q Kept,
        charge: &Charge<'_, '_>,
        at: Moment,
        take: Option<u64>,
    ) -> Asked<'q> {
        let (own, total) = match take {
            Some(take) => (entry.own_count.saturating_mul(take), entry.count.saturating_mul(take)),
            None => (entry.own, entry.total),
        };
        let before = match kept {
            Kept::Words(state) | Kept::Log { state, .. } => *state,
        };
        let step = Step { ruling: Ruling::Allow, next: before };
        let asked = Asked { entry, kept, at, before, own, total, step };
        Asked { step: asked.step(charge.limit, entry.patience), ..asked }
    }

    fn step(&self, limit: &Limit, patience: Patience) -> Step {
        match (limit.rule(), self.kept) {
            (Rule::Words(rule), _) => rule.ask(self.before, self.at, self.total, patience),
            (Rule::Log(_), Kept::Log { wait, shift, .. }) => {
                logged(limit.capacity(), self.before, self.at, self.total, (*wait, *shift))
            }
            // A reply is read by the rule.
            (Rule::Log(_), Kept::Words(_)) => self.step,
        }
    }
}

/// What the log that a server keeps says of a charge.
fn logged(most: u64, state: State, at: Moment, cost: u64, (wait, shift): (u64, u64)) -> Step {
    let State(count, newest) = state;
    if cost == 0 {
        Step { ruling: Ruling::Allow, next: state }
    } else if cost > most {
        Step { ruling: Ruling::Never, next: state }
    } else if count.saturating_add(cost) <= most {
        let next = State(count.saturating_add(cost), newest.max(at.now));
        Step { ruling: Ruling::Allow, next }
    } else {
        Step { ruling: Ruling::Deny(wait), next: State(count, newest.saturating_sub(shift)) }
    }
}

/// What is left of each key that was written, or, for a peek, would be. Of one key the last charge
/// stands, before a clock that is put right.
fn left_of(asked: &[Asked<'_>], all_pass: bool) -> Vec<Option<State>> {
    let cells = asked.iter().map(|asked| asked.entry.cell).max();
    let mut left = vec![None; cells.map_or(0, |last| last.saturating_add(1))];
    for asked in asked {
        let Some(left) = left.get_mut(asked.entry.cell) else { continue };
        let passes = asked.step.ruling.passes();
        let changes = asked.own > 0 && asked.step.next != asked.before;
        if changes && (passes && all_pass || !passes && left.is_none()) {
            *left = Some(asked.step.next);
        }
    }
    left
}

impl Kept {
    fn room(&self, limit: &Limit, at: Moment, patience: Patience) -> u64 {
        match (limit.rule(), self) {
            (Rule::Words(rule), Kept::Words(state)) => rule.room(*state, at, patience),
            (_, Kept::Log { state, .. }) => limit.capacity().saturating_sub(state.0),
            (Rule::Log(_), Kept::Words(_)) => 0,
        }
    }
}

/// The next double.
fn take(rest: &mut &[u8]) -> Option<f64> {
    let (bytes, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(f64::from_le_bytes(*bytes))
}

/// The next state of a rule that keeps two words.
fn state(rule: &WordRule, rest: &mut &[u8]) -> Option<State> {
    let first = whole(take(rest)?)?;
    if !matches!(rule, WordRule::Sliding(_)) {
        return Some(State(first, whole(take(rest)?)?));
    }
    let (counts, after) = rest.split_first_chunk::<8>()?;
    *rest = after;
    let (prev, cur) = counts.split_first_chunk::<4>()?;
    let prev = u64::from(u32::from_le_bytes(*prev));
    Some(State(first, prev << 32 | u64::from(u32::from_le_bytes(cur.try_into().ok()?))))
}

/// A double that holds a whole number up to 2^53, waits beyond that as 2^53.
fn whole(double: f64) -> Option<u64> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    let fits = double >= 0.0 && double.trunc() == double;
    #[expect(clippy::as_conversions, reason = "a whole number from 0 to 2^53")]
    fits.then(|| double.min(MOST) as u64)
}
