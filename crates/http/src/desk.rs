//! Decisions for the tests of answers: rules of two words applied by hand, no store.

use tollgate_core::algorithm::{Patience, Rule, State};
use tollgate_core::{Answer, Charge, Decision, Effect, Key, Limit, Quota, Tick};

/// Limits, each with one key's state.
pub(crate) struct Desk {
    limits: Vec<(Limit, Effect, State)>,
    now: Tick,
}

impl Desk {
    /// Limits as name and quota, at `now` in µs; a name behind a `~` is that of a shadow limit.
    pub(crate) fn new(now: u64, limits: &[(&str, &str)]) -> Desk {
        let limits = limits.iter().map(|(name, quota)| {
            let effect = if name.starts_with('~') { Effect::Shadow } else { Effect::Enforce };
            let quota: Quota = quota.parse().unwrap();
            (Limit::new(name.trim_start_matches('~'), quota).unwrap(), effect)
        });
        Desk::of(now, limits)
    }

    pub(crate) fn of(now: u64, limits: impl IntoIterator<Item = (Limit, Effect)>) -> Desk {
        let limits = limits.into_iter().map(|(limit, effect)| (limit, effect, State::FRESH));
        Desk { limits: limits.collect(), now: Tick::from_micros(now) }
    }

    pub(crate) fn advance(&mut self, micros: u64) {
        self.now = Tick::from_micros(self.now.as_micros() + micros);
    }

    /// Charges each limit on its own, so that a test can spend one and not another.
    pub(crate) fn charge(&mut self, costs: &[u64]) -> Decision<'_> {
        let now = self.now;
        let answers = self.limits.iter_mut().zip(costs).map(|((limit, effect, state), cost)| {
            let charge = Charge { effect: *effect, ..Charge::new(limit, "k").cost(*cost) };
            let at = limit.moment(now, &Key::from("k"));
            let Rule::Words(rule) = limit.rule() else { panic!("a rule of two words") };
            let step = rule.ask(*state, at, *cost, Patience::Now);
            *state = step.next;
            let verdict = limit.verdict(step.ruling, now);
            let charged = if verdict.passes() { *cost } else { 0 };
            Answer::new(charge.limit, *effect, verdict, charged, *state, (now, at))
        });
        Decision::new(answers.collect(), 1)
    }
}
