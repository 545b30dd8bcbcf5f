//! What a key weighs in the server.

use tollgate_core::{Algorithm, Anchor, Charge, Limit, Quota, Span};
use tollgate_redis::{Prefix, sent};

use super::drive::Bench;
use super::lanes::limit;

/// What a key of a rule weighs.
pub struct Weight {
    /// The rule.
    pub rule: &'static str,
    /// How the client is named, and how many bytes its key has.
    pub client: String,
    /// Bytes of the key.
    pub key: usize,
    /// Bytes as `MEMORY USAGE` counts them.
    pub usage: f64,
    /// Bytes by which the server grew, for each of many keys; none if only one was asked.
    pub grown: Option<f64>,
}

/// How many keys are filled in to see how the server grows.
const MANY: u64 = 100_000;

/// Weighs keys of every rule.
pub fn weigh(bench: &mut Bench) -> Vec<Weight> {
    let quota = |most| Quota::new(most, Span::HOUR).expect("it is a quota");
    let one = [
        ("token bucket", limit("api", quota(1_000), Algorithm::TokenBucket)),
        ("fixed window", limit("api", quota(1_000), Algorithm::FixedWindow(Anchor::Spread))),
        ("sliding window", limit("api", quota(1_000), Algorithm::SlidingWindow)),
    ];
    let mut weights = Vec::new();
    for (rule, limit) in &one {
        weights.push(weigh_rule(bench, rule, limit, 1, MANY));
    }
    for (rule, most) in [
        ("sliding log of 60, full", 60),
        ("sliding log of 1,000, full", 1_000),
        ("sliding log of 10,000, full", 10_000),
    ] {
        // Counted in microseconds, so that no two charges share an entry.
        let quota = Quota::new(most, Span::MINUTE).expect("it is a quota");
        let limit = limit("log", quota, Algorithm::SlidingLog);
        weights.push(weigh_rule(bench, rule, &limit, most, MANY / most));
    }
    let [(rule, bucket), ..] = &one;
    for length in 1..=48 {
        let client = "c".repeat(length);
        let weight = weigh_client(bench, rule, bucket, &client, 1);
        // One row for every step.
        if weights.last().is_none_or(|last| last.usage != weight.usage) {
            weights.push(weight);
        }
    }
    weights.push(weigh_client(bench, rule, bucket, &"c".repeat(48), 1));
    weights
}

/// The heaviest key that weighs at most so much as a string, in bytes of its name.
pub fn longest_key(weights: &[Weight], most: f64) -> Option<usize> {
    let heavier = weights.iter().filter(|weight| weight.grown.is_none() && weight.usage > most);
    heavier.map(|weight| weight.key - 1).min()
}

fn weigh_rule(
    bench: &mut Bench,
    rule: &'static str,
    limit: &Limit,
    charges: u64,
    keys: u64,
) -> Weight {
    let weight = weigh_client(bench, rule, limit, "api_key:10000", charges);
    let before = bench.info("memory", "used_memory");
    for _ in 0..charges {
        let commands = (0..keys).map(|n| command(limit, &format!("api_key:{}", n + 20_000)));
        bench.send_all(&commands.collect::<Vec<_>>());
    }
    let grown = (bench.info("memory", "used_memory") - before) / keys as f64;
    Weight { grown: Some(grown), ..weight }
}

fn weigh_client(
    bench: &mut Bench,
    rule: &'static str,
    limit: &Limit,
    client: &str,
    charges: u64,
) -> Weight {
    bench.order(&["FLUSHALL"]);
    let [script, _] = sent(&Prefix::default(), &[Charge::new(limit, client.as_bytes())]);
    bench.send_all(&[script]);
    for _ in 1..charges {
        bench.send_all(&[command(limit, client)]);
    }
    let key = bench.order(&["RANDOMKEY"]);
    let usage = bench.order(&["MEMORY", "USAGE", &key]).parse().expect("a number of bytes");
    Weight { rule, client: client.to_owned(), key: key.len(), usage, grown: None }
}

fn command(limit: &Limit, client: &str) -> Vec<u8> {
    let [_, by_hash] = sent(&Prefix::default(), &[Charge::new(limit, client.as_bytes())]);
    by_hash
}
