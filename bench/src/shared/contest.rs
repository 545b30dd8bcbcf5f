//! Contenders in turn on one server: how many decisions a second, at what cost to the server.

use std::time::Duration;

use super::drive::{Bench, Ran};
use super::lanes::{Clients, INCR, Lane, WINDOW};
use crate::race::median;
use crate::workload::{Order, sequence};

/// How commands are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Sixteen at a time on each connection.
    Pipelined,
    /// Each after the answer to the one before.
    Alone,
}

impl Sent {
    fn depth(self) -> usize {
        match self {
            Sent::Pipelined => 16,
            Sent::Alone => 1,
        }
    }
}

/// What was found out about a contender.
pub struct Found {
    /// Who.
    pub name: &'static str,
    pipelined: Vec<Ran>,
    alone: Vec<Ran>,
    /// Which part of the calls passed, at worst; none if that was not looked at.
    pub passed: Option<f64>,
}

impl Found {
    /// The median commands per second.
    pub fn rate(&self, sent: Sent) -> f64 {
        median(self.runs(sent).iter().map(|ran| ran.rate).collect())
    }

    /// The median microseconds of the server's time per command.
    pub fn micros(&self, sent: Sent) -> f64 {
        median(self.runs(sent).iter().map(|ran| ran.micros).collect())
    }

    /// How many decisions this one makes in the server's time in which the other makes one: the
    /// median over the rounds.
    pub fn per(&self, other: &Found, sent: Sent) -> f64 {
        let runs = self.runs(sent).iter().zip(other.runs(sent));
        median(runs.map(|(ours, theirs)| theirs.micros / ours.micros).collect())
    }

    fn runs(&self, sent: Sent) -> &[Ran] {
        match sent {
            Sent::Pipelined => &self.pipelined,
            Sent::Alone => &self.alone,
        }
    }
}

/// All findings, in the contenders' order.
pub struct Contest(pub Vec<Found>);

impl Contest {
    /// Lets contenders take turns, each for so long and so often.
    pub fn run(bench: &mut Bench, lanes: &[Lane], rounds: usize, span: Duration) -> Contest {
        let new =
            |lane: &Lane| Found { name: lane.name, pipelined: vec![], alone: vec![], passed: None };
        let mut found: Vec<Found> = lanes.iter().map(new).collect();
        for sent in [Sent::Pipelined, Sent::Alone] {
            let ready: Vec<Ready<'_>> =
                lanes.iter().map(|lane| Ready::new(bench, lane, sent)).collect();
            for _ in 0..rounds {
                for (ready, found) in ready.iter().zip(&mut found) {
                    let (ran, passed) = ready.turn(bench, span);
                    found.passed =
                        passed.map(|new| found.passed.map_or(new, |old| farther(old, new)));
                    match sent {
                        Sent::Pipelined => found.pipelined.push(ran),
                        Sent::Alone => found.alone.push(ran),
                    }
                }
            }
        }
        Contest(found)
    }

    /// One contender's findings.
    pub fn of(&self, name: &str) -> Option<&Found> {
        self.0.iter().find(|found| found.name == name)
    }

    /// How often one decides in the server's time in which the other does once, pipelined.
    pub fn ratio(&self, name: &str, other: &str) -> Option<f64> {
        Some(self.of(name)?.per(self.of(other)?, Sent::Pipelined))
    }

    /// What everyone is compared with.
    pub fn incr(&self) -> Option<&Found> {
        self.of(INCR)
    }
}

/// Of two shares the one that is less all or nothing.
fn farther(a: f64, b: f64) -> f64 {
    let distance = |share: f64| (share - share.round()).abs();
    if distance(a) > distance(b) { a } else { b }
}

/// What a contender sends, as bytes.
struct Ready<'l> {
    lane: &'l Lane,
    depth: usize,
    commands: Vec<Vec<u8>>,
    batches: Vec<Vec<u8>>,
}

impl<'l> Ready<'l> {
    fn new(bench: &mut Bench, lane: &'l Lane, sent: Sent) -> Ready<'l> {
        let depth = sent.depth();
        let of = |clients| {
            let commands: Vec<Vec<u8>> = (0..clients).map(&lane.command).collect();
            let batches = batches(&commands, depth);
            Ready { lane, depth, commands, batches }
        };
        match lane.clients {
            Clients::Known(clients, _) => of(clients),
            Clients::Filling(limit) => {
                // As many as use four fifths of their limits if the server does nothing else: on a
                // machine that does, they use less.
                let filling = |micros: f64| {
                    (1e6 / micros * WINDOW as f64 / (0.8 * limit as f64)).ceil() as u64
                };
                let (first, _) = of(filling(15.0)).turn(bench, Duration::from_secs(WINDOW));
                of(filling(first.micros))
            }
        }
    }

    /// A turn on an empty server, and which part of the calls passed.
    fn turn(&self, bench: &mut Bench, span: Duration) -> (Ran, Option<f64>) {
        let Ready { lane, depth, commands, batches } = self;
        bench.order(&["FLUSHALL"]);
        bench.send_all(lane.script.as_slice());
        match lane.clients {
            Clients::Known(_, times) => (0..times).for_each(|_| bench.send_all(commands)),
            // For more than a window, so that as many leave as come.
            Clients::Filling(_) => {
                bench.drive(batches, *depth, Duration::from_millis(WINDOW * 1_100));
            }
        }
        bench.order(&["CONFIG", "RESETSTAT"]);
        let ran = bench.drive(batches, *depth, span);
        let passed = lane.passing.map(|(writes, commands)| {
            let written: f64 = commands.iter().map(|command| bench.calls_of(command)).sum();
            written / ran.calls as f64 / if writes > 0.0 { writes } else { 1.0 }
        });
        (ran, passed)
    }
}

/// Commands in an order that is the same in every run, so many at a time.
fn batches(commands: &[Vec<u8>], depth: usize) -> Vec<Vec<u8>> {
    let order = sequence::<u64>(Order::Uniform, commands.len() as u64, 1_024 * 16);
    let batch = |clients: &[u64]| -> Vec<u8> {
        clients.iter().flat_map(|client| commands[*client as usize].iter().copied()).collect()
    };
    order.chunks(depth).map(batch).collect()
}
