//! Decisions on string keys, for instruction counts and rough times.
//!
//! `decide KEYS ROUNDS [check|three|refuse|peek|sliding|each]`; the keys come in a scattered order.

use std::hint::black_box;
use std::sync::Arc;

use tollgate_core::{Algorithm, Charge, Clock, Limit, LimitError, Limiter, Mode};
use tollgate_memory::{Memory, SystemClock};

type Asked<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Asked<()> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().unwrap_or("1000".into()).parse()?;
    let rounds: usize = arguments.next().unwrap_or("1000".into()).parse()?;
    let what = arguments.next().unwrap_or("check".into());

    let names = scattered(count)?;
    let memory = Arc::new(Memory::builder().max_entries(20_000_000).build()?);
    let over = |limits: Vec<Limit>| Limiter::over(memory.clone(), limits);
    let one = || Ok::<_, LimitError>(over(vec![limit("a", "1000/day burst 10000000")?]));
    match &*what {
        "check" => run(&names, rounds, &one()?, |on, key| on.check(key).is_allowed()),
        "peek" => {
            let on = one()?;
            names.iter().for_each(|key| drop(on.check(key)));
            run(&names, rounds, &on, |on, key| on.peek(key, 1).is_allowed());
        }
        "refuse" => {
            let limits = vec![limit("a", "1/day")?];
            run(&names, rounds, &over(limits), |on, key| on.check(key).is_denied());
        }
        "sliding" => {
            let window = Limit::builder("a", "1000000/s".parse()?);
            let limits = vec![window.algorithm(Algorithm::SlidingWindow).build()?];
            run(&names, rounds, &over(limits), |on, key| on.check(key).is_allowed());
        }
        "three" => {
            let of = |name| limit(name, "1000/day burst 10000000");
            let limits = vec![of("a")?, of("b")?, of("c")?];
            run(&names, rounds, &over(limits), |on, key| on.check(key).is_allowed());
        }
        "each" => each(&names, rounds, &one()?),
        other => return Err(format!("expected a kind of decision, not `{other}`").into()),
    }
    println!("{:?}", memory.stats());
    Ok(())
}

fn limit(name: &str, quota: &str) -> Result<Limit, LimitError> {
    Limit::new(name, quota.parse().expect("a quota"))
}

fn scattered(count: usize) -> Asked<Vec<String>> {
    let mut names: Vec<String> = (0..count).map(|i| format!("api_key:{i:012}")).collect();
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    for i in (1..count).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        names.swap(i, usize::try_from(seed >> 33)? % (i + 1));
    }
    Ok(names)
}

/// Asks about every key in each round; how long the first and the last took.
fn run<T>(names: &[String], rounds: usize, on: &T, ask: impl Fn(&T, &str) -> bool) {
    let clock = SystemClock::new();
    for round in 0..=rounds {
        let start = clock.now();
        let as_expected: usize =
            names.iter().map(|key| usize::from(black_box(ask(on, black_box(key))))).sum();
        let nanos = clock.now().since(start).as_micros() * 1_000;
        if round == 0 || round == rounds {
            let each = u64::try_from(names.len()).map_or(0, |count| nanos / count);
            println!("round {round}: {each} ns per decision, {as_expected} as expected");
        }
    }
}

/// The same in batches of 64.
fn each(names: &[String], rounds: usize, on: &Limiter<Memory>) {
    let [limit] = on.limits() else { return };
    let batches: Vec<Vec<Charge<'_, '_>>> = names
        .chunks(64)
        .map(|batch| batch.iter().map(|key| Charge::new(limit, key)).collect())
        .collect();
    for _ in 0..=rounds {
        for batch in &batches {
            on.store().decide_each(Mode::Charge, black_box(batch), |decision| {
                black_box(decision.is_allowed());
            });
        }
    }
}
