//! The scenarios: who is asked what.

use std::hash::Hash;
use std::net::Ipv6Addr;
use std::time::Duration;

use crate::Lane;
use crate::floor::Floor;
use crate::layers;
use crate::memory::{Weight, weigh};
use crate::ours::{AsKey, Batched, Tollgate, Unkeyed};
use crate::pauses::{self, Pause};
use crate::peers::{
    Burst, Governor, GovernorDirect, LeakyBucket, Limitador, RateLimit, Throttlecrab,
};
use crate::race::{Answer, Callers, Effort, Race};
use crate::workload::{Kind, Order, sequence};

/// How tables call Tollgate.
pub const OURS: &str = "tollgate";

/// Decisions per run of `benches/instructions.rs`.
pub const COUNTED_CALLS: usize = 10_000;

/// The keyed contenders over string keys, in the order of tables.
pub const STRING_LANES: [&str; 6] =
    ["floor", "governor", "governor + ahash", "throttlecrab", "limitador", OURS];

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Up to a million keys, a few minutes.
    Quick,
    /// Up to ten million keys.
    Full,
}

impl Extent {
    fn effort(self) -> Effort {
        match self {
            Extent::Quick => Effort { rounds: 11, lap: Duration::from_millis(10) },
            Extent::Full => Effort { rounds: 21, lap: Duration::from_millis(20) },
        }
    }

    fn sizes(self) -> &'static [(&'static str, u64)] {
        const SIZES: [(&str, u64); 4] =
            [("1 k", 1_000), ("100 k", 100_000), ("1 M", 1_000_000), ("10 M", 10_000_000)];
        match self {
            Extent::Quick => &SIZES[..3],
            Extent::Full => &SIZES,
        }
    }

    fn most_keys(self) -> u64 {
        self.sizes().last().map_or(0, |(_, keys)| *keys)
    }
}

/// Everything that was measured in one run.
#[derive(Default)]
pub struct Findings {
    /// Time, by scenario.
    pub races: Vec<(String, Race)>,
    /// Bytes per key, by key kind, size and contender.
    pub weights: Vec<(String, &'static str, Weight)>,
    /// The longest calls, by contender and what was done; several runs each.
    pub pauses: Vec<(&'static str, Vec<Pause>)>,
    /// Instructions per decision, by contender.
    pub instructions: Vec<(String, f64)>,
}

impl Findings {
    /// Runs every scenario of `extent`.
    pub fn gather(extent: Extent) -> Findings {
        let mut findings = Findings::default();
        findings.time(extent);
        findings.weigh(extent);
        findings.watch(extent);
        findings
    }

    /// The race of a scenario.
    pub fn race(&self, scenario: &str) -> Option<&Race> {
        self.races.iter().find(|(name, _)| name == scenario).map(|(_, race)| race)
    }

    /// Reads the log of `benches/instructions.rs`; what the bare loop costs is taken off.
    pub fn count(&mut self, log: &str) {
        let mut name = None;
        let mut counts = Vec::new();
        for line in log.lines() {
            if let Some((function, case)) = line.split_once(":(").filter(|_| line.contains("::")) {
                let keys = if function.contains("no_key") { ", no key" } else { "" };
                name = case.split('"').nth(1).map(|case| format!("{case}{keys}"));
            } else if let Some(count) = line.trim().strip_prefix("Instructions:") {
                let count = count.split('|').next().and_then(|count| count.trim().parse().ok());
                counts.extend(name.take().zip(count));
            }
        }
        let of = |name| counts.iter().find(|(n, _)| n == name).map_or(0, |(_, count)| *count);
        let nothing: u64 = of("nothing");
        let per_call = |count: u64| count.saturating_sub(nothing) as f64 / COUNTED_CALLS as f64;
        let counts = counts.into_iter().filter(|(name, _)| name != "nothing");
        self.instructions.extend(counts.map(|(name, count)| (name, per_call(count))));
    }

    /// A contender's instructions per decision.
    pub fn instructions_of(&self, name: &str) -> Option<f64> {
        self.instructions.iter().find(|(n, _)| n == name).map(|(_, count)| *count)
    }

    fn time(&mut self, extent: Extent) {
        let one = |lanes: &_, keys, order| run(lanes, keys, order, Callers::One, extent);
        let two = |lanes: &_, keys, order| run(lanes, keys, order, Callers::Two, extent);
        for (size, keys) in extent.sizes() {
            let lanes = string_lanes(*keys, Burst::Endless);
            self.add(format!("string, {size}"), one(&lanes, *keys, Order::Uniform));
            if *keys == 1_000_000 {
                self.add("string, 1 M zipf", one(&lanes, *keys, Order::Zipf));
                self.add("string, 1 M, two callers", two(&lanes, *keys, Order::Uniform));
            }
            if *keys == 1_000 {
                self.add("string, hot key, two callers", two(&lanes, 1, Order::Hot));
            }
        }
        for (size, keys) in extent.sizes() {
            self.add(format!("u64, {size}"), run_plain::<u64>(*keys, extent));
            self.add(format!("IPv6, {size}"), run_plain::<Ipv6Addr>(*keys, extent));
        }
        let refused = string_lanes(1, Burst::One);
        self.add("refusal, hot key", one(&refused, 1, Order::Hot));
        self.add("refusal, hot key, two callers", two(&refused, 1, Order::Hot));
        for (scenario, burst) in [("no key", Burst::Endless), ("refusal, no key", Burst::One)] {
            let lanes = unkeyed(burst);
            self.add(scenario, run(&lanes, 1, Order::Hot, Callers::One, extent));
            self.add(
                format!("{scenario}, two callers"),
                run(&lanes, 1, Order::Hot, Callers::Two, extent),
            );
        }
        for (size, keys) in [("1 k", 1_000), ("1 M", 1_000_000)] {
            let lanes = variants(keys);
            self.add(format!("variants, {size}"), one(&lanes, keys, Order::Uniform));
        }
        for (scenario, burst) in [("request", Burst::Endless), ("refusal, request", Burst::One)] {
            let lanes = layers::lanes(burst);
            fill(&lanes, 1_000);
            self.add(scenario, run(&lanes, 1_000, Order::Uniform, Callers::One, extent));
        }
    }

    fn add(&mut self, scenario: impl Into<String>, race: Race) {
        let scenario = scenario.into();
        let answer =
            if scenario.starts_with("refusal") { Answer::Refused } else { Answer::Allowed };
        let otherwise = race.otherwise(answer, layers::BARE);
        assert!(otherwise.is_empty(), "{scenario}: {otherwise:?} were not always {answer:?}");
        eprintln!("{scenario}: {}", race.summary());
        self.races.push((scenario, race));
    }

    fn weigh(&mut self, extent: Extent) {
        for (size, keys) in extent.sizes().iter().filter(|(_, keys)| *keys >= 1_000_000) {
            for lane in STRING_LANES {
                // Ten million counters of limitador do not fit into this machine's memory.
                if lane == "limitador" && *keys > 1_000_000 {
                    continue;
                }
                let weight = weigh(lane, "string", *keys).expect("the child weighs");
                eprintln!("{lane}, {size}: {weight:?}");
                self.weights.push((format!("string, {size}"), lane, weight));
            }
            for kind in ["u64", "IPv6"] {
                for lane in ["governor", OURS] {
                    let weight = weigh(lane, kind, *keys).expect("the child weighs");
                    self.weights.push((format!("{kind}, {size}"), lane, weight));
                }
            }
        }
    }

    fn watch(&mut self, extent: Extent) {
        let keys = extent.most_keys();
        let mut add = |name, run: &dyn Fn() -> Pause| {
            let runs: Vec<_> = (0..5).map(|_| run()).collect();
            eprintln!("{name}: {runs:?}");
            self.pauses.push((name, runs));
        };
        add("governor, inserting", &|| inserting("governor", keys));
        add("throttlecrab, inserting", &|| inserting("throttlecrab", keys));
        add("tollgate, inserting", &|| inserting(OURS, keys));
        add("governor, retain_recent beside a caller", &|| pauses::retaining(keys));
        add("tollgate, sweeping", &|| pauses::sweeping(keys));
    }
}

fn inserting(lane: &str, keys: u64) -> Pause {
    let lane = string_lane(lane, keys, Burst::Endless).expect("a lane of that name");
    pauses::watch(&*lane.limiter, 0, keys)
}

/// A contender over string keys, by its name in tables.
pub fn string_lane(name: &str, keys: u64, burst: Burst) -> Option<Lane<'static, String>> {
    Some(match name {
        "floor" => Lane::new("floor", floor(keys, burst)),
        "governor" => Lane::new("governor", Governor::<String>::new(burst)),
        "governor + ahash" => {
            Lane::new("governor + ahash", Governor::<String, _>::with_ahash(burst))
        }
        "throttlecrab" => Lane::new("throttlecrab", Throttlecrab::new(burst)),
        "limitador" => Lane::new("limitador", Limitador::new(keys, burst)),
        OURS => Lane::new(OURS, Tollgate::new(keys, burst)),
        _ => return None,
    })
}

fn string_lanes(keys: u64, burst: Burst) -> Vec<Lane<'static, String>> {
    let fits = |name: &&str| *name != "limitador" || keys <= 1_000_000;
    let names = STRING_LANES.iter().copied().filter(fits);
    let lanes: Vec<_> = names.filter_map(|name| string_lane(name, keys, burst)).collect();
    fill(&lanes, keys);
    lanes
}

/// A race of some contenders over `keys` string keys, for a closer look.
pub fn look(names: &[&str], keys: u64) -> Race {
    let mut lanes: Vec<_> =
        names.iter().filter_map(|name| string_lane(name, keys, Burst::Endless)).collect();
    fill(&lanes, keys);
    lanes.extend(variants(keys).into_iter().skip(1).filter(|lane| names.contains(&lane.name)));
    run(&lanes, keys, Order::Uniform, Callers::One, Extent::Full)
}

/// A contender over keys that are no text, by its name in tables.
pub fn plain_lane<K>(name: &str, keys: u64) -> Option<Lane<'static, K>>
where
    K: Kind + AsKey + Hash + Eq + 'static,
{
    Some(match name {
        "floor" => Lane::new("floor", floor(keys, Burst::Endless)),
        "governor" => Lane::new("governor", Governor::<K>::new(Burst::Endless)),
        "governor + ahash" => {
            Lane::new("governor + ahash", Governor::<K, _>::with_ahash(Burst::Endless))
        }
        OURS => Lane::new(OURS, Tollgate::new(keys, Burst::Endless)),
        _ => return None,
    })
}

fn run_plain<K: Kind + AsKey + Hash + Eq + 'static>(keys: u64, extent: Extent) -> Race {
    let lanes: Vec<Lane<'_, K>> =
        STRING_LANES.iter().filter_map(|name| plain_lane(name, keys)).collect();
    fill(&lanes, keys);
    run(&lanes, keys, Order::Uniform, Callers::One, extent)
}

/// The limiters without keys.
pub fn unkeyed(burst: Burst) -> Vec<Lane<'static, ()>> {
    let lanes = vec![
        Lane::new("governor", GovernorDirect::new(burst)),
        Lane::new("leaky-bucket", LeakyBucket::new(burst)),
        Lane::new("ratelimit", RateLimit::new(burst)),
        Lane::new(OURS, Unkeyed::new(burst)),
    ];
    fill(&lanes, 1);
    lanes
}

/// Tollgate asked in different ways.
pub fn variants(keys: u64) -> Vec<Lane<'static, String>> {
    let lanes = vec![
        Lane::new(OURS, Tollgate::new(keys, Burst::Endless)),
        Lane::new("three limits", Tollgate::three(keys, Burst::Endless)),
        Lane::new("sliding window", Tollgate::sliding(keys, Burst::Endless)),
        Lane::new("batch of 16", Batched(Tollgate::new(keys, Burst::Endless))),
    ];
    fill(&lanes, keys);
    lanes
}

fn floor(keys: u64, burst: Burst) -> Floor<foldhash::fast::RandomState> {
    const MINUTE_NANOS: u64 = 60_000_000_000;
    Floor::new(keys, MINUTE_NANOS, burst.amount().into())
}

/// Asks every contender once about every key.
fn fill<K: Kind>(lanes: &[Lane<'_, K>], keys: u64) {
    for lane in lanes {
        for n in 0..keys {
            lane.limiter.decide(&K::key(n));
        }
    }
}

fn run<K: Kind>(
    lanes: &[Lane<'_, K>],
    keys: u64,
    order: Order,
    callers: Callers,
    extent: Extent,
) -> Race {
    let calls = match order {
        // Long enough for two callers to meet, short enough that nobody's burst is used up.
        Order::Hot => 1 << 16,
        // Long enough that no predictor learns it, short enough to be made in seconds.
        Order::Uniform | Order::Zipf => (keys as usize).clamp(1 << 15, 4_000_000),
    };
    Race::run(lanes, &sequence(order, keys, calls), callers, extent.effort())
}
