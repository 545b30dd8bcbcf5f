//! Several charges that write nothing: what attackers cause, and are to cost little more than one.
//!
//! Every entry is read and every rule asked, and nothing is kept but what the answers need.

use tollgate_core::algorithm::{Moment, Rule, Step};
use tollgate_core::charge::{Outcome, passes};
use tollgate_core::{Answer, Charge, Decision, Few, Mode, Tick};

use crate::fingerprint::Fingerprint;
use crate::memory::Memory;
use crate::table::View;

/// One charge as its rule has judged it, by what stands in the table.
struct Look<'t> {
    key: Fingerprint,
    view: View<'t>,
    at: Moment,
    step: Step,
}

impl Memory {
    /// Tells what becomes of charges of different keys if nothing is to be written; `None` if
    /// something is, or only locks can tell. No key may be blocked.
    #[inline(never)]
    pub(super) fn refuse<'l, const N: usize>(
        &self,
        now: Tick,
        charges: &[Charge<'l, '_>; N],
    ) -> Option<Decision<'l>> {
        const { assert!(N <= 4, "a decision keeps four answers in place") };
        let looks = charges.each_ref().map(|charge| self.look_at(now, charge));
        let rulings = looks.iter().flatten().zip(charges);
        let all_pass = passes(rulings.map(|(look, charge)| (charge.effect, look.step.ruling)));
        let mut answers = [const { None }; 4];
        for (nth, (look, charge)) in looks.iter().zip(charges).enumerate() {
            let Charge { limit, cost, effect, .. } = *charge;
            let Look { key, view, at, step } = look.as_ref()?;
            // Charges of one key would have to be added up.
            if looks.iter().take(nth).flatten().any(|other| other.key == *key) {
                return None;
            }
            let state = view.state();
            if Outcome::of(Mode::Charge, all_pass, cost, state, step) != Outcome::Kept {
                return None;
            }
            let verdict = limit.verdict(step.ruling, now);
            if let Some(answer) = answers.get_mut(nth) {
                *answer = Some(Answer::new(limit, effect, verdict, 0, state, (now, *at)));
            }
        }
        // All entries stood as they were read at one moment: when the last of them had been.
        if !looks.iter().flatten().all(|look| look.view.still()) {
            return None;
        }
        let granted = charges.iter().map(|charge| charge.cost).min().unwrap_or(0);
        Some(Decision::new(Few::up_to_four(answers), granted))
    }

    fn look_at(&self, now: Tick, charge: &Charge<'_, '_>) -> Option<Look<'_>> {
        let Charge { limit, key, cost, patience, .. } = charge;
        let Rule::Words(rule) = limit.rule() else { return None };
        let at = limit.moment(now, key);
        let key = self.fingerprint(limit, key);
        let view = self.table.view(key);
        let step = rule.ask(view.state(), at, *cost, *patience);
        Some(Look { key, view, at, step })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]
mod tests {
    use tollgate_core::{Limit, ManualClock, Span};

    use super::*;

    /// All that a decision says.
    fn said(decision: &Decision<'_>) -> impl PartialEq + std::fmt::Debug + use<> {
        let of = |answer: &Answer<'_>| {
            let figures = (answer.remaining(), answer.reset_after(), answer.charged());
            (answer.limit().name().to_owned(), answer.verdict(), answer.effect(), figures)
        };
        (decision.is_denied(), decision.granted(), decision.answers().map(of).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_refused_at_sight_is_refused_under_locks_in_the_same_words() {
        let rates = ["3/minute", "5/hour burst 2", "40/minute"];
        let limits = rates.map(|rate| Limit::new(rate, rate.parse().unwrap()).unwrap());
        let start = Tick::EPOCH.after(Span::HOUR);
        let memory = Memory::builder().clock(ManualClock::at(start)).build().unwrap();
        let (mut refused, mut passed) = (0, 0);
        for step in 0..2_000_u64 {
            let now = start.after(Span::from_millis(step * 700));
            let key = step * step % 7;
            let mut charges = [(&limits[0], key), (&limits[1], key / 2), (&limits[2], 9)]
                .map(|(limit, key)| Charge::new(limit, key).cost(step % 4));
            if step % 5 == 0 {
                charges[1] = charges[1].shadow();
            }
            let at_sight = memory.refuse(now, &charges).map(|decision| said(&decision));
            let locked = memory.decide_slots(now, Mode::Charge, &charges);
            let writes = locked.is_allowed() && step % 4 > 0;
            assert_eq!(at_sight, (!writes).then(|| said(&locked)), "step {step}");
            *(if writes { &mut passed } else { &mut refused }) += 1;
        }
        assert!(refused > 100 && passed > 100, "{refused} refused, {passed} passed");
    }

    #[test]
    fn charges_of_one_key_are_left_to_who_adds_them_up() {
        let limit = Limit::new("hour", "3/hour".parse().unwrap()).unwrap();
        let (memory, now) = (Memory::new(), Tick::EPOCH.after(Span::HOUR));
        let charges = [2, 2].map(|cost| Charge::new(&limit, "ann").cost(cost));
        assert!(memory.refuse(now, &charges).is_none());
        assert!(memory.decide_at(now, Mode::Charge, &charges).is_denied());
    }
}
