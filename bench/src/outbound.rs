//! Calls to others that wait their turn, beside those who do the same: bottleneck from npm, the crate
//! leaky-bucket, and tokio's semaphore as the floor of what waiting costs.
//!
//! [`jobs`] is what a job costs, [`rate`] how much of a rate is reached and whether more passes,
//! [`waiters`] what many cost that wait on one key. [`bottleneck`] runs Node's side.

pub mod bottleneck;
pub mod jobs;
pub mod rate;
pub mod waiters;

use std::fmt::{self, Display};

use crate::machine;
use jobs::{Costs, Load};
use rate::Pace;
use waiters::{FEW, MANY, Waiters};

/// How tables call the contenders.
pub const SEMAPHORE: &str = "tokio's semaphore";
/// The crate.
pub const LEAKY_BUCKET: &str = "leaky-bucket";
/// The package of npm.
pub const BOTTLENECK: &str = "bottleneck";
/// A `Throttle`.
pub const TOLLGATE: &str = "tollgate";

/// All that was measured.
pub struct Outbound {
    machine: String,
    costs: Vec<(Load, Costs)>,
    paces: Vec<Pace>,
    waiters: Vec<Waiters>,
}

impl Outbound {
    /// Measures all of it. Bottleneck is to be installed already.
    pub fn gather() -> Outbound {
        let (about, commit, load) = (machine::description(), machine::commit(), machine::load());
        let node = machine::version("node", &["--version"]);
        let crowded = match load.parse::<f64>() {
            Ok(load) if load < 2.0 => "",
            _ => ", **so the figures are of no use but to show the shape**",
        };
        Outbound {
            machine: format!(
                "{about}; Node.js {node}; commit {commit}; load of the machine when it began {load}{crowded}"
            ),
            costs: Load::ALL.map(|load| (load, Costs::gather(load))).into(),
            paces: vec![rate::tollgate(), rate::leaky_bucket(), rate::bottleneck()],
            waiters: Waiters::gather(),
        }
    }

    fn targets(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| tollgate | target | found | |")?;
        writeln!(f, "|---|---|---|---|")?;
        let mut target = |what: &str, target: &str, found: String, met: bool| {
            let met = if met { "met" } else { "**missed**" };
            writeln!(f, "| {what} | {target} | {found} | {met} |")
        };
        for pace in self.paces.iter().filter(|pace| pace.name == TOLLGATE) {
            let share = pace.share();
            target(
                "share of the rate that is reached",
                "≥ 99.5 %",
                percent(share),
                share >= 0.995,
            )?;
            if let Some(over) = pace.charged_over {
                target(
                    "calls charged above the bound, of any span",
                    "0",
                    calls(over),
                    over <= 0.0,
                )?;
            }
        }
        for waiters in self.waiters.iter().filter(|waiters| waiters.name.starts_with(TOLLGATE)) {
            if let Some(growth) = waiters.growth() {
                let what = format!("{}: time of {MANY} waiters / {FEW}", waiters.name);
                target(&what, "≤ 15", format!("{growth:.1}"), growth <= 15.0)?;
            }
            if let Some(many) = &waiters.many {
                let what = format!("{}: bytes for each of {MANY} waiters", waiters.name);
                target(&what, "≤ 2048", format!("{:.0}", many.bytes), many.bytes <= 2048.0)?;
            }
        }
        Ok(())
    }
}

impl Display for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Measured on: {}.\n", self.machine)?;
        self.targets(f)?;
        writeln!(f, "\n### A job, where no limit is reached: ns\n")?;
        let names = [SEMAPHORE, LEAKY_BUCKET, BOTTLENECK, TOLLGATE];
        let ratios = [(TOLLGATE, SEMAPHORE), (TOLLGATE, LEAKY_BUCKET), (BOTTLENECK, TOLLGATE)];
        let heads = ratios.map(|(one, other)| format!("{one} / {other}"));
        writeln!(f, "| | | {} | {} |", names.join(" | "), heads.join(" | "))?;
        writeln!(f, "|---|---|{}", "---|".repeat(names.len() + ratios.len()))?;
        for (load, costs) in &self.costs {
            for (clock, of) in jobs::CLOCKS {
                let nanos =
                    names.map(|name| cell(costs.nanos(name, of), |nanos| format!("{nanos:.0}")));
                let ratios = ratios.map(|(one, other)| {
                    cell(costs.ratio(one, other, of), |ratio| format!("{ratio:.2}"))
                });
                writeln!(
                    f,
                    "| {load} | {clock} | {} | {} |",
                    nanos.join(" | "),
                    ratios.join(" | ")
                )?;
            }
        }
        writeln!(
            f,
            "\n### {}/s, burst {}, for {} s\n",
            rate::PER_SECOND,
            rate::BURST,
            rate::SECONDS
        )?;
        writeln!(f, "| | jobs | of the rate | above the bound: as charged | as the jobs began |")?;
        writeln!(f, "|---|---|---|---|---|")?;
        for pace in &self.paces {
            writeln!(
                f,
                "| {} | {} | {} | {} | {} |",
                pace.name,
                pace.jobs,
                percent(pace.share()),
                cell(pace.charged_over, calls),
                calls(pace.begun_over)
            )?;
        }
        writeln!(f, "\n### Waiting on one key\n")?;
        writeln!(
            f,
            "| | {FEW}: bytes each | s to let all go | {MANY}: bytes each | s | time / time |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for Waiters { name, few, many } in &self.waiters {
            let growth = Waiters { name, few: *few, many: *many }.growth();
            let bytes = |weight: &waiters::Weight| format!("{:.0}", weight.bytes);
            let seconds = |weight: &waiters::Weight| cell(weight.seconds, |s| format!("{s:.3}"));
            let [few, many] = [few, many]
                .map(|w| w.as_ref().map_or(" | ".into(), |w| bytes(w) + " | " + &seconds(w)));
            writeln!(f, "| {name} | {few} | {many} | {} |", cell(growth, |g| format!("{g:.1}")))?;
        }
        Ok(())
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Calls above a bound; none where it is not reached.
fn calls(over: f64) -> String {
    format!("{:.1}", over.max(0.0))
}

fn cell(value: Option<f64>, shown: impl FnOnce(f64) -> String) -> String {
    value.map_or(String::new(), shown)
}
