use tollgate_core::algorithm::{Log, Moment, Patience, Rule, State};
use tollgate_core::{Queue, Span};

use super::*;

/// Ticks of 1 µs per period.
const PERIOD: u64 = 8;
/// Far from the epoch, and not on an edge.
const START: u64 = 1_000 * PERIOD + 5;

fn spec(algorithm: Algorithm, amount: u64, burst: Option<u64>) -> LimitSpec {
    let quota = tollgate_core::Quota::new(amount, Span::from_micros(PERIOD)).unwrap();
    let quota = burst.map_or(Ok(quota), |burst| quota.with_burst(burst)).unwrap();
    LimitSpec::new(Limit::builder("a", quota).algorithm(algorithm).build().unwrap())
}

fn algorithms() -> Vec<LimitSpec> {
    let mut all = Vec::new();
    for amount in [1, 4, 7] {
        let windows = [
            Algorithm::FixedWindow(Anchor::Clock),
            Algorithm::FixedWindow(Anchor::FirstHit),
            Algorithm::SlidingWindow,
            Algorithm::SlidingLog,
        ];
        all.extend(windows.map(|window| spec(window, amount, None)));
        all.push(spec(Algorithm::TokenBucket, amount, None));
        all.push(spec(Algorithm::TokenBucket, amount, Some(3)));
        all.push(spec(Algorithm::LeakyBucket(Queue::Length(0)), amount, None));
    }
    all
}

/// What passes of as much as possible, in charges of 1, at each of these ticks.
fn admitted(limit: &Limit, times: &[u64]) -> Vec<u64> {
    let (mut state, mut log) = (State::FRESH, Log::default());
    let pass = |now: u64, state: &mut State, log: &mut Log| {
        let at = Moment { now, phase: 0 };
        match limit.rule() {
            Rule::Words(rule) => {
                let step = rule.ask(*state, at, 1, Patience::Wait);
                *state = if step.ruling.passes() { step.next } else { *state };
                step.ruling.passes()
            }
            Rule::Log(rule) => {
                let passes = rule.ask(log, at, 1).ruling.passes();
                if passes {
                    rule.record(log, at, 1);
                }
                passes
            }
        }
    };
    let at = |now: &u64| (0..).take_while(|_| pass(*now, &mut state, &mut log)).count();
    times.iter().map(at).map(|count| u64::try_from(count).unwrap()).collect()
}

/// Every way to spend a little, wait, and then spend whatever there is at each tick.
fn attacks() -> Vec<Vec<u64>> {
    let first = (0..2 * PERIOD).map(|wait| START + wait);
    first
        .flat_map(|from| (0..3 * PERIOD).map(move |pause| (from, pause)))
        .map(|(from, pause)| {
            let greedy = (0..3 * PERIOD).map(|tick| from + pause + tick);
            [from].into_iter().chain(greedy.filter(|now| *now > from)).collect()
        })
        .collect()
}

fn most_within(times: &[u64], counts: &[u64], span: u64) -> u64 {
    let within = |from: u64| {
        let inside = times.iter().zip(counts).filter(|(t, _)| (from..from + span).contains(*t));
        inside.map(|(_, count)| count).sum()
    };
    times.iter().map(|from| within(*from)).max().unwrap_or(0)
}

#[test]
fn no_attack_gets_more_than_the_worst_case() {
    for spec in algorithms() {
        let limit = &spec.limits()[0];
        let worst = Worst::of(&spec, limit);
        let mut most = (0, 0);
        for times in attacks() {
            let counts = admitted(limit, &times);
            most.0 = most.0.max(most_within(&times, &counts, PERIOD));
            most.1 = most.1.max(most_within(&times, &counts, 1));
        }
        let shown = format!("{} {}: {most:?} of {worst:?}", limit.algorithm(), limit.quota());
        assert!(most.0 <= worst.per_period && most.1 <= worst.at_once, "{shown}");
        assert!(2 * most.0 >= worst.per_period, "a worst case far from what happens: {shown}");
    }
}

#[test]
fn the_numbers_are_those_that_the_algorithms_state() {
    let worst = |algorithm, burst| {
        let spec = spec(algorithm, 4, burst);
        let worst = Worst::of(&spec, &spec.limits()[0]);
        (worst.per_period, worst.at_once)
    };
    assert_eq!(worst(Algorithm::TokenBucket, None), (8, 4));
    assert_eq!(worst(Algorithm::TokenBucket, Some(20)), (24, 20));
    assert_eq!(worst(Algorithm::LeakyBucket(Queue::Length(0)), None), (5, 1));
    assert_eq!(worst(Algorithm::FixedWindow(Anchor::Spread), None), (8, 8));
    assert_eq!(worst(Algorithm::FixedWindow(Anchor::FirstHit), None), (7, 7));
    assert_eq!(worst(Algorithm::SlidingWindow, None), (7, 4));
    assert_eq!(worst(Algorithm::SlidingLog, None), (4, 4));
    let never = spec(Algorithm::TokenBucket, 0, None);
    assert_eq!(Worst::of(&never, &never.limits()[0]), Worst { per_period: 0, at_once: 0 });
}
