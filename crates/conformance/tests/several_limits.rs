//! The laws of several limits in one decision, over the reference store; others equal it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends by a panic")]

use tollgate_conformance::{Form, Random, Reference};
use tollgate_core::algorithm::Patience;
use tollgate_core::{
    Charge, Clock, Decision, Effect, Limit, LocalStore, ManualClock, Mode, Span, Tick, Verdict,
};

struct World {
    clock: ManualClock,
    store: Reference,
    limits: Vec<Limit>,
}

impl World {
    fn of(random: &mut Random) -> World {
        let clock = ManualClock::at(Tick::from_micros(random.between(1, 1 << 51)));
        let limit = |(nth, form): (usize, Form)| {
            let periods = ["s", "7s", "minute", "hour", "day", "1000000s"];
            let quota = format!("{}/{}", random.between(1, 9), random.one_of(&periods));
            let name = format!("limit-{nth}");
            let builder = Limit::builder(&name, quota.parse().unwrap());
            builder.algorithm(form.algorithm()).build().unwrap()
        };
        let limits = Form::ALL.into_iter().enumerate().map(limit).collect();
        World { store: Reference::new(clock.clone()), clock, limits }
    }

    /// One to four limits, at costs of their own or all at one.
    fn charges(&self, random: &mut Random) -> Vec<Charge<'_, 'static>> {
        let same = random.once_in(2).then(|| random.between(1, 6));
        let mut nth = random.below(7);
        (0..random.between(1, 4))
            .map(|_| {
                nth += 1;
                let limit = &self.limits[usize::try_from(nth % 7).unwrap()];
                let cost = same.unwrap_or_else(|| random.between(1, 3));
                let charge = Charge::new(limit, "k").cost(cost);
                if random.once_in(4) { charge.shadow() } else { charge }
            })
            .collect()
    }

    fn peek<'l>(&self, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        self.store.decide_now(Mode::Peek, charges)
    }

    fn left(&self, charge: &Charge<'_, '_>) -> u64 {
        self.peek(&[charge.cost(0)]).answers().map(tollgate_core::Answer::remaining).sum()
    }
}

fn run(seed: u64) {
    let mut random = Random::of(seed);
    let world = World::of(&mut random);
    for _ in 0..200 {
        world.clock.advance(match random.below(3) {
            0 => Span::ZERO,
            1 => Span::from_micros(random.of_any_size(24)),
            _ => Span::from_micros(random.of_any_size(38)),
        });
        let charges = world.charges(&mut random);
        let before: Vec<u64> = charges.iter().map(|charge| world.left(charge)).collect();
        let told = world.peek(&charges).verdict();
        let mode = if random.once_in(4) { Mode::UpTo } else { Mode::Charge };
        let decision = world.store.decide_now(mode, &charges);
        let after: Vec<u64> = charges.iter().map(|charge| world.left(charge)).collect();
        if mode == Mode::UpTo {
            check_up_to(&charges, &before, &decision);
        } else {
            assert_eq!(decision.verdict(), told, "a peek tells what the charge is told");
        }

        // All or none: each limit that passes loses its cost, or none loses anything.
        for ((charge, answer), (before, after)) in
            charges.iter().zip(decision.answers()).zip(before.iter().zip(&after))
        {
            let cost = if mode == Mode::UpTo { decision.granted() } else { charge.cost };
            let charged = decision.is_allowed() && answer.verdict().passes();
            let expected = if charged { cost } else { 0 };
            assert_eq!(before - after, expected, "{charge:?}");
            assert_eq!(answer.charged(), expected, "{charge:?}");
        }

        // The combined wait is exact: refused a microsecond earlier, allowed then.
        if let (Mode::Charge, Verdict::Deny(wait)) = (mode, decision.verdict()) {
            let now = world.clock.now();
            let at = |span| {
                world.clock.set(now.after(span));
                world.peek(&charges).is_allowed()
            };
            assert!(at(wait), "allowed after {wait}");
            assert!(!at(Span::from_micros(wait.as_micros() - 1)), "refused before {wait}");
            world.clock.set(now);
        }
    }
}

/// Grants the least that any enforcing limit has, at most what is wanted.
fn check_up_to(charges: &[Charge<'_, '_>], before: &[u64], decision: &Decision<'_>) {
    let wanted = charges.iter().map(|charge| charge.cost).min().unwrap();
    let enforcing = charges.iter().zip(before).filter(|(c, _)| c.effect == Effect::Enforce);
    let least = enforcing.map(|(_, left)| *left).min().unwrap_or(wanted);
    assert_eq!(decision.granted(), wanted.min(least), "{charges:?}");
    assert_eq!(decision.is_denied(), least == 0);
}

#[test]
fn several_limits_are_one_decision() {
    for seed in 0..400 {
        let broken = std::panic::catch_unwind(|| run(seed));
        assert!(broken.is_ok(), "seed {seed}, see above");
    }
}

#[test]
fn whoever_cannot_wait_is_refused_where_others_wait() {
    let mut random = Random::of(7);
    let world = World::of(&mut random);
    let queue = tollgate_core::Algorithm::LeakyBucket(tollgate_core::Queue::Length(3));
    let builder = Limit::builder("queue", "1/s".parse().unwrap());
    let limit = builder.algorithm(queue).build().unwrap();
    let charge = Charge::new(&limit, "k");
    let [first, second, third] = [charge, charge.at_once(), charge]
        .map(|c| world.store.decide_one(Mode::Charge, &c).verdict());
    assert_eq!(first, Verdict::Allow);
    assert_eq!(second, Verdict::Deny(Span::SECOND));
    assert_eq!(third, Verdict::Wait(Span::SECOND));
    assert_eq!(charge.at_once().patience, Patience::Now);
    assert_eq!(world.peek(&[charge.cost(5)]).verdict(), Verdict::Never);
    assert_eq!(world.peek(&[charge.cost(2).at_once()]).verdict(), Verdict::Never);
}
