//! What Tollgate is to reach, and whether it does.

use crate::layers::BARE;
use crate::suite::{Findings, OURS};

/// A figure out of the findings.
enum Figure {
    /// One contender's time over another's in one race, paired.
    Ratio { race: &'static str, of: &'static str, over: &'static str },
    /// Nanoseconds that a request behind Tollgate's layer takes longer, paired.
    Layer { race: &'static str },
    /// Tollgate's median time in one race over that in another.
    Across { race: &'static str, over: &'static str },
    /// Instructions per decision.
    Instructions,
    /// Bytes per key, settled.
    BytesPerKey { keys: &'static str },
    /// Milliseconds by which the longest call exceeds the longest gap of an empty loop, each in its
    /// least disturbed run: an interruption makes either longer, never shorter.
    Pause { what: &'static str },
}

/// One target: what, the figure and the most it may be.
struct Target(&'static str, Figure, f64);

const GOVERNOR: &str = "governor";
const AHASH: &str = "governor + ahash";
const FLOOR: &str = "floor";

const fn ours(race: &'static str, over: &'static str) -> Figure {
    Figure::Ratio { race, of: OURS, over }
}

const fn variant(race: &'static str, of: &'static str) -> Figure {
    Figure::Ratio { race, of, over: OURS }
}

const TARGETS: &[Target] = &[
    Target("1 k keys / governor", ours("string, 1 k", GOVERNOR), 0.5),
    Target("100 k keys / governor", ours("string, 100 k", GOVERNOR), 0.4),
    Target("1 M keys / governor", ours("string, 1 M", GOVERNOR), 0.35),
    Target("10 M keys / governor", ours("string, 10 M", GOVERNOR), 0.35),
    Target("1 k keys / governor + ahash", ours("string, 1 k", AHASH), 1.0),
    Target("100 k keys / governor + ahash", ours("string, 100 k", AHASH), 1.0),
    Target("1 M keys / governor + ahash", ours("string, 1 M", AHASH), 1.0),
    Target("10 M keys / governor + ahash", ours("string, 10 M", AHASH), 1.0),
    Target("1 M keys, zipf / governor + ahash", ours("string, 1 M zipf", AHASH), 1.0),
    Target(
        "1 M keys, two callers / governor + ahash",
        ours("string, 1 M, two callers", AHASH),
        1.0,
    ),
    Target("1 k keys / floor", ours("string, 1 k", FLOOR), 1.5),
    Target("100 k keys / floor", ours("string, 100 k", FLOOR), 1.5),
    Target("1 M keys / floor", ours("string, 1 M", FLOOR), 1.5),
    Target("10 M keys / floor", ours("string, 10 M", FLOOR), 1.5),
    Target("hot key, two callers / governor", ours("string, hot key, two callers", GOVERNOR), 0.5),
    Target(
        "refusals of a hot key, two callers / one",
        Figure::Across { race: "refusal, hot key, two callers", over: "refusal, hot key" },
        1.25,
    ),
    Target("no key / governor", ours("no key", GOVERNOR), 1.1),
    Target("batches of 16, 1 M keys / single calls", variant("variants, 1 M", "batch of 16"), 0.45),
    Target(
        "sliding window, 1 k keys / token bucket",
        variant("variants, 1 k", "sliding window"),
        1.3,
    ),
    Target(
        "sliding window, 1 M keys / token bucket",
        variant("variants, 1 M", "sliding window"),
        1.3,
    ),
    Target("three limits, 1 k keys / one", variant("variants, 1 k", "three limits"), 2.2),
    Target("three limits, 1 M keys / one", variant("variants, 1 M", "three limits"), 2.2),
    Target(
        "tower layer with headers, over the bare service, ns",
        Figure::Layer { race: "request" },
        250.0,
    ),
    Target(
        "its refusal with headers and body, over the bare service, ns",
        Figure::Layer { race: "refusal, request" },
        700.0,
    ),
    Target("instructions per decision, 1 k keys", Figure::Instructions, 130.0),
    Target("bytes per key, 10 M keys", Figure::BytesPerKey { keys: "string, 10 M" }, 40.0),
    Target(
        "longest insertion over the longest gap, ms",
        Figure::Pause { what: "tollgate, inserting" },
        1.0,
    ),
    Target(
        "longest call while sweeping over the longest gap, ms",
        Figure::Pause { what: "tollgate, sweeping" },
        1.0,
    ),
];

/// A target beside what was found.
pub struct Reached {
    /// What is compared.
    pub what: &'static str,
    /// The most it may be.
    pub most: f64,
    /// What it is; `None` when this run did not measure it.
    pub found: Option<f64>,
}

/// Every target beside what was found.
pub fn reached(findings: &Findings) -> Vec<Reached> {
    let reached = |Target(what, figure, most): &Target| Reached {
        what,
        most: *most,
        found: find(findings, figure),
    };
    TARGETS.iter().map(reached).collect()
}

fn find(findings: &Findings, figure: &Figure) -> Option<f64> {
    match figure {
        Figure::Ratio { race, of, over } => findings.race(race)?.ratio(of, over),
        Figure::Layer { race } => findings.race(race)?.excess(OURS, BARE),
        Figure::Across { race, over } => {
            Some(findings.race(race)?.nanos(OURS)? / findings.race(over)?.nanos(OURS)?)
        }
        Figure::Instructions => findings.instructions_of(OURS),
        Figure::BytesPerKey { keys } => {
            let mut weights = findings.weights.iter();
            weights.find(|(k, lane, _)| k == keys && *lane == OURS).map(|(_, _, w)| w.settled)
        }
        Figure::Pause { what } => {
            let (_, runs) = findings.pauses.iter().find(|(name, _)| name == what)?;
            let call = runs.iter().map(|pause| pause.call).min()?;
            let gap = runs.iter().map(|pause| pause.gap).min()?;
            Some((call.as_secs_f64() - gap.as_secs_f64()) * 1e3)
        }
    }
}
