//! What the shared store is to reach.

use super::added::REDIS;
use super::callers::{DECISION, PING};
use super::flood::LIMIT;
use super::lanes::{READS, WRITES};
use super::page::Page;
use crate::layers::BARE;

/// The heaviest that a key of a rule with one string is to be, in bytes.
pub const HEAVIEST: f64 = 104.0;

/// A target and what was found.
pub struct Target {
    /// What is compared.
    pub what: &'static str,
    /// Where it is to lie.
    pub bound: Bound,
    /// What it is; `None` when this run did not measure it.
    pub found: Option<f64>,
    /// What the same is for a script that reads and writes, and works nothing out.
    pub least: Option<f64>,
}

impl Target {
    fn least(self, least: Option<f64>) -> Target {
        Target { least, ..self }
    }
}

/// On which side of a number.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// There or above.
    Least(f64),
    /// There or below.
    Most(f64),
}

impl Bound {
    /// How it is written, and the number.
    pub fn sign(self) -> (&'static str, f64) {
        match self {
            Bound::Least(goal) => ("≥", goal),
            Bound::Most(goal) => ("≤", goal),
        }
    }

    /// Whether a number lies there.
    pub fn holds(self, found: f64) -> bool {
        match self {
            Bound::Least(goal) => found >= goal,
            Bound::Most(goal) => found <= goal,
        }
    }
}

/// Every target. Ratios are decisions per second of the server's time, in pipelines.
pub fn of(page: &Page) -> Vec<Target> {
    use Bound::{Least, Most};
    let ratio = |name, other| page.contest.ratio(name, other);
    let tutorial = "tutorial's token bucket";
    let alone = page.waits.iter().find(|waits| waits.callers == 1);
    let strings = ["token bucket", "fixed window", "sliding window"];
    let heaviest = page.weights.iter().filter(|w| w.grown.is_some() && strings.contains(&w.rule));
    let gateway = page.in_the_gateway.as_ref();
    let target = |what, bound, found| Target { what, bound, found, least: None };
    vec![
        target("token bucket / INCR", Least(0.22), ratio("token bucket", "INCR"))
            .least(ratio(WRITES, "INCR")),
        target("its refusal / INCR", Least(0.40), ratio("token bucket, refusing", "INCR"))
            .least(ratio(READS, "INCR")),
        target(
            "token bucket / tutorial's token bucket",
            Least(1.5),
            ratio("token bucket", tutorial),
        )
        .least(ratio(WRITES, tutorial)),
        target(
            "sliding window / tutorial's token bucket",
            Least(1.2),
            ratio("sliding window", tutorial),
        )
        .least(ratio(WRITES, tutorial)),
        target(
            "server time of three limits / one",
            Most(1.8),
            ratio("token bucket", "three token buckets"),
        ),
        target(
            "one caller, half-way wait / PING",
            Most(1.12),
            alone.map(|waits| waits.ratio(DECISION, PING)),
        ),
        target(
            "bytes per key of one string, a client of 13 characters",
            Most(HEAVIEST),
            heaviest.map(|weight| weight.usage).max_by(f64::total_cmp),
        ),
        target(
            "hot key with leases of 10 % / exact, decisions a second",
            Least(20.0),
            Some(page.hot.ratio()),
        ),
        target(
            "calls a second of a flooded key, limit 10/s",
            Most(2.0 * f64::from(LIMIT) + 11.0),
            Some(page.flood.calls),
        ),
        target(
            "added by a limit in the gateway at p99, ms",
            Most(5.0),
            gateway.map(|waits| waits.excess(REDIS, BARE, 99) / 1e3),
        ),
    ]
}
