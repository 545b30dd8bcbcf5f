//! The findings about the shared store as one page of tables.

use std::fmt::{self, Display};
use std::time::Duration;

use super::added::{self, MEMORY, REDIS};
use super::callers::{self, Waits};
use super::contest::{Contest, Sent};
use super::drive::{Bench, CONNECTIONS};
use super::flood::{self, Flood, LIMIT};
use super::hot::{self, Hot};
use super::lanes::lanes;
use super::targets::{self, HEAVIEST};
use super::weight::{self, Weight};
use crate::layers::BARE;
use crate::machine;
use crate::report::figure;

/// All that was measured on one server.
pub struct Page {
    machine: String,
    /// The commands and scripts in turn.
    pub contest: Contest,
    /// Callers of the store.
    pub waits: Vec<Waits>,
    /// Keys.
    pub weights: Vec<Weight>,
    in_the_layer: Vec<Waits>,
    /// Requests to the gateway, if it could be asked.
    pub in_the_gateway: Option<Waits>,
    /// One key flooded.
    pub flood: Flood,
    /// One key asked about by everyone.
    pub hot: Hot,
}

/// How often contenders take turns, and how long a turn is.
const ROUNDS: usize = 7;
const TURN: Duration = Duration::from_millis(400);

/// The contest of a few only, for a closer look; of all whose name begins so.
pub fn look(names: &[&str]) -> String {
    let lanes =
        lanes().into_iter().filter(|lane| names.iter().any(|name| lane.name.starts_with(name)));
    let lanes: Vec<_> = lanes.collect();
    table(&Contest::run(&mut Bench::start(), &lanes, ROUNDS, TURN))
}

impl Page {
    /// Measures everything; the gateway by its program.
    pub fn gather(gateway: Option<&str>) -> Page {
        // Before this process is moved to one core.
        let (machine, load) = (machine::description(), machine::load());
        let mut bench = Bench::start();
        let info = |bench: &mut Bench, field| {
            let info = bench.order(&["INFO", "server"]);
            let value = info.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
            value.to_owned()
        };
        let machine = format!(
            "{machine}; Redis {}; commit {}; load of the machine when it began {load}",
            info(&mut bench, "redis_version:"),
            machine::commit(),
        );
        let weights = weight::weigh(&mut bench);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("the machine has timers and sockets");
        let flood = runtime.block_on(flood::flood(&mut bench, Duration::from_secs(5)));
        let hot = runtime.block_on(hot::hot(&mut bench, ROUNDS, TURN));
        let waits = runtime.block_on(callers::waits(&mut bench, ROUNDS, TURN));
        let in_the_layer = runtime.block_on(added::in_the_layer(&mut bench, ROUNDS, TURN));
        let in_the_gateway = gateway.and_then(|program| {
            let span = Duration::from_secs(2);
            runtime.block_on(added::in_the_gateway(&mut bench, program, ROUNDS, span))
        });
        let contest = Contest::run(&mut bench, &lanes(), ROUNDS, TURN);
        Page { machine, contest, waits, weights, in_the_layer, in_the_gateway, flood, hot }
    }
}

impl Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Measured on: {}.\n", self.machine)?;
        self.write_targets(f)?;
        writeln!(
            f,
            "\n### One server, {CONNECTIONS} connections, in pipelines of 16 and unpipelined\n"
        )?;
        writeln!(f, "{}", table(&self.contest))?;
        self.write_waits(f)?;
        self.write_weights(f)?;
        self.write_added(f)?;
        let Flood { asked, passed, calls } = &self.flood;
        writeln!(f, "\n### One key flooded, limit {LIMIT}/s: per second\n")?;
        writeln!(f, "| asked | passed | calls of the server |\n|---|---|---|")?;
        writeln!(f, "| {} | {} | {} |", figure(*asked), figure(*passed), figure(*calls))?;
        let [exact, leased] = self.hot.rates().map(|rate| figure(rate / 1e3));
        let (callers, limit, lease) = (hot::CALLERS, hot::LIMIT, hot::LEASE);
        writeln!(
            f,
            "\n### One hot key, {callers} callers, limit {limit}/s: thousand decisions per second\n"
        )?;
        writeln!(f, "| exact | {lease} % leased | ratio |\n|---|---|---|")?;
        writeln!(f, "| {exact} | {leased} | {} |", figure(self.hot.ratio()))
    }
}

fn table(contest: &Contest) -> String {
    let mut table = String::from(
        "| | k/s | server µs | / INCR | k/s alone | server µs | / INCR | passed |\n\
         |---|---|---|---|---|---|---|---|",
    );
    for found in &contest.0 {
        table += &format!("\n| {} |", found.name);
        for sent in [Sent::Pipelined, Sent::Alone] {
            let (rate, micros) = (found.rate(sent) / 1e3, found.micros(sent));
            let ratio =
                contest.incr().map(|incr| figure(found.per(incr, sent))).unwrap_or_default();
            table += &format!(" {} | {} | {ratio} |", figure(rate), figure(micros));
        }
        let passed = found.passed.map(|share| format!("{:.0} %", share * 100.0));
        table += &format!(" {} |", passed.unwrap_or_default());
    }
    table
}

impl Page {
    fn write_targets(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "### Targets on Redis\n\n| tollgate | target | found | | the least script |\n\
             |---|---|---|---|---|"
        )?;
        for target in targets::of(self) {
            let (sign, goal) = target.bound.sign();
            let (found, verdict) = match target.found {
                None => (String::new(), "not measured"),
                Some(found) if target.bound.holds(found) => (figure(found), "met"),
                Some(found) => (figure(found), "**missed**"),
            };
            let least = target.least.map(figure).unwrap_or_default();
            let goal = figure(goal);
            writeln!(f, "| {} | {sign} {goal} | {found} | {verdict} | {least} |", target.what)?;
        }
        Ok(())
    }

    fn write_waits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Through the store, one connection for all callers: µs\n")?;
        writeln!(f, "| callers | | k/s | p50 | p99 |\n|---|---|---|---|---|")?;
        for waits in &self.waits {
            for name in waits.names() {
                let [rate, half, most] =
                    [waits.rate(name) / 1e3, waits.micros(name, 50), waits.micros(name, 99)]
                        .map(figure);
                writeln!(f, "| {} | {name} | {rate} | {half} | {most} |", waits.callers)?;
            }
        }
        Ok(())
    }

    fn write_weights(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Bytes per key\n")?;
        writeln!(
            f,
            "| rule | client's name | key | `MEMORY USAGE` | server grows by |\n|---|---|---|---|---|"
        )?;
        for Weight { rule, client, key, usage, grown } in &self.weights {
            let client = if client.starts_with("cc") {
                format!("{} characters", client.len())
            } else {
                format!("`{client}`")
            };
            let grown = grown.map(figure).unwrap_or_default();
            writeln!(f, "| {rule} | {client} | {key} B | {usage} | {grown} |")?;
        }
        if let Some(longest) = weight::longest_key(&self.weights, HEAVIEST) {
            writeln!(
                f,
                "\n{HEAVIEST} bytes are enough for keys of up to {longest} bytes, prefix included."
            )?;
        }
        Ok(())
    }

    fn write_added(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Added to a request by a limit: µs\n")?;
        writeln!(f, "| where | | p50 | p99 | added at p50 | at p99 |\n|---|---|---|---|---|---|")?;
        let layer = self.in_the_layer.iter().map(|waits| ("tower layer", waits));
        for (place, waits) in
            layer.chain(self.in_the_gateway.iter().map(|waits| ("gateway", waits)))
        {
            for name in [BARE, MEMORY, REDIS] {
                let [half, most] = [50, 99].map(|percent| figure(waits.micros(name, percent)));
                let added = [50, 99].map(|percent| figure(waits.excess(name, BARE, percent)));
                let added = if name == BARE {
                    String::from("| |")
                } else {
                    format!("{} | {} |", added[0], added[1])
                };
                writeln!(
                    f,
                    "| {place}, {} callers | {name} | {half} | {most} | {added}",
                    waits.callers
                )?;
            }
        }
        Ok(())
    }
}
