//! The findings about proxies as tables.

use std::fmt::{self, Display};
use std::time::Duration;

use super::contenders::{self, Contender};
use super::load::{self, CONNECTIONS, KEYS, Ran};
use super::upstream;
use crate::machine;
use crate::shared::drive::pin_this;

/// How often contenders take turns, and how long a turn is.
const ROUNDS: usize = 9;
const TURN: Duration = Duration::from_millis(1_500);

/// All that was measured.
pub struct Page {
    machine: String,
    /// Of each contender its name and rounds, as it was first.
    rows: Vec<(&'static str, Vec<Ran>)>,
    /// Processor time of a new connection with one request, in microseconds: in clear and by TLS.
    greetings: [f64; 2],
}

/// What is to be reached: a figure of one contender beside that of another, at least or at most.
struct Target {
    what: &'static str,
    of: &'static str,
    beside: &'static str,
    bound: Bound,
}

#[derive(Clone, Copy)]
enum Bound {
    /// Answers per second, at least so many times.
    Rate(f64),
    /// Processor time per answer, at most so many times.
    Micros(f64),
}

const TARGETS: [Target; 3] = [
    Target {
        what: "answers per second, three limits",
        of: "tollgate, three limits",
        beside: "nginx, limit_req",
        bound: Bound::Rate(0.95),
    },
    Target {
        what: "processor time per answer, three limits over none",
        of: "tollgate, three limits",
        beside: "tollgate",
        bound: Bound::Micros(1.03),
    },
    Target {
        what: "refusals per second",
        of: "tollgate refuses",
        beside: "nginx refuses",
        bound: Bound::Rate(1.05),
    },
];

impl Page {
    /// Measures everything; `gateway` is the program of ours.
    pub fn gather(gateway: &str) -> Page {
        let machine = format!(
            "{}; {}; {}; commit {}; load of the machine when it began {}",
            machine::description(),
            machine::version("nginx", &["-v"]),
            machine::version("haproxy", &["-v"]),
            machine::commit(),
            machine::load(),
        );
        pin_this();
        let upstream = upstream::start().expect("a service can be started");
        let contenders = contenders::start(gateway, upstream);
        let requests = load::requests();
        let run = |contender: &Contender, span| {
            let Contender { program, address, wire, status, .. } = contender;
            load::ask(program, *address, wire, &requests, *status, span)
        };
        let mut rows: Vec<_> = contenders.iter().map(|c| (c.name, Vec::new())).collect();
        // The first answers fill tables and pools; one request a day passes where all are refused.
        for contender in &contenders {
            contender.warm_up(&requests);
        }
        for _ in 0..ROUNDS {
            for (contender, (_, rounds)) in contenders.iter().zip(&mut rows) {
                rounds.push(run(contender, TURN));
            }
        }
        let greet = |name: &str| {
            let contender = contenders.iter().find(|contender| contender.name == name);
            let Contender { program, address, wire, .. } = contender.expect("it takes part");
            load::greet(program, *address, wire, &requests)
        };
        let greetings = [greet("tollgate, three limits"), greet("tollgate, three limits, TLS")];
        Page { machine, rows, greetings }
    }

    fn rounds(&self, name: &str) -> &[Ran] {
        let row = self.rows.iter().find(|(other, _)| *other == name);
        row.map(|(_, rounds)| rounds.as_slice()).unwrap_or_default()
    }

    /// The median of a figure over the rounds.
    fn median(&self, name: &str, figure: impl Fn(&Ran) -> f64) -> f64 {
        median(self.rounds(name).iter().map(figure).collect())
    }

    /// The median over the rounds of one contender's figure beside another's of the same round.
    fn ratio(&self, of: &str, beside: &str, figure: impl Fn(&Ran) -> f64) -> f64 {
        let pairs = self.rounds(of).iter().zip(self.rounds(beside));
        median(pairs.map(|(of, beside)| figure(of) / figure(beside)).collect())
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Measured on: {}.\n", self.machine)?;
        writeln!(f, "| {ROUNDS} rounds in turn, medians of their ratios | target | found | |")?;
        writeln!(f, "|---|---|---|---|")?;
        for Target { what, of, beside, bound } in &TARGETS {
            let (target, found, met) = match bound {
                Bound::Rate(least) => {
                    let found = self.ratio(of, beside, |ran| ran.rate);
                    (format!("≥ {least}"), found, found >= *least)
                }
                Bound::Micros(most) => {
                    let found = self.ratio(of, beside, |ran| ran.micros);
                    (format!("≤ {most}"), found, found <= *most)
                }
            };
            let met = if met { "met" } else { "**missed**" };
            writeln!(f, "| {what}: {of} / {beside} | {target} | {found:.2} | {met} |")?;
        }
        writeln!(
            f,
            "\n{CONNECTIONS} connections kept alive, {KEYS} API keys, answers of 13 bytes:\n"
        )?;
        writeln!(
            f,
            "| | answers/s | µs of processor | p50 ms | p99 ms | answers/s beside nginx |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for (name, _) in &self.rows {
            let nginx = if name.ends_with("refuses") { "nginx refuses" } else { "nginx" };
            writeln!(
                f,
                "| {name} | {:.0} | {:.1} | {:.2} | {:.2} | {:.2} |",
                self.median(name, |ran| ran.rate),
                self.median(name, |ran| ran.micros),
                self.median(name, |ran| ran.waits[0] / 1e3),
                self.median(name, |ran| ran.waits[1] / 1e3),
                self.ratio(name, nginx, |ran| ran.rate),
            )?;
        }
        let [clear, tls] = self.greetings;
        writeln!(
            f,
            "\nA new connection with one request costs the gateway {clear:.0} µs of processor time in \
             clear and {tls:.0} µs by TLS."
        )
    }
}
