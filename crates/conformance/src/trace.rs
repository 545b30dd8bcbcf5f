//! Traces: what was asked and what must be answered, a line each.
//!
//! ```text
//! # Anything after a hash is for people.
//! start 0
//! limit page sliding-window 100 per 60s
//! 0          page alice 100 charge  -> allow, 0 left
//! 59s999ms   page alice 1   charge  -> deny 601ms
//! 70s        page alice 100 refund  -> allow, 100 left
//! ```
//!
//! `start` is the instant of time 0, in microseconds since the epoch; without it, a midnight. A
//! `limit` has a name, an algorithm and a quota; the same name again is the same counter under
//! another quota. An algorithm is one of `token-bucket`, `fixed-window` (spread), `fixed-window:clock`,
//! `fixed-window:first-hit`, `sliding-window`, `sliding-log`, `leaky-bucket:5` (a queue of five) or
//! `leaky-bucket:2s` (no longer than two seconds). An operation is a time, a limit, a key, a cost, a
//! mode (`charge`, `peek`, `up-to`; `refund` and `settle` of the last charge of limit and key, told
//! where the key then stands), and the verdict.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use tollgate_core::{
    Algorithm, Anchor, Charge, Decision, Limit, ManualClock, Mode, Queue, Receipt, Span, Tick,
    Verdict,
};

use crate::subject::Subject;

/// Midnight, and so the start of a window of every length used.
const START: u64 = 20_000 * 86_400_000_000;

/// Runs every trace of this crate over a store; `make` builds an empty one on a clock.
///
/// # Panics
/// When an answer differs, naming the file and the line.
pub fn traces<S: Subject>(make: impl Fn(ManualClock) -> S) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
    let files = fs::read_dir(&folder).expect("the traces lie beside this crate's sources");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() > 10, "the traces are there: {paths:?}");
    for path in paths {
        eprintln!("{}", path.display());
        trace(&fs::read_to_string(&path).expect("a text"), &make);
    }
}

/// Runs a trace over a store; `make` builds an empty one on a clock.
///
/// # Panics
/// When an answer differs or a line cannot be read, naming the line.
pub fn trace<S: Subject>(text: &str, make: impl Fn(ManualClock) -> S) {
    let lines = || {
        let numbered = text.lines().zip(1..).map(|(line, number)| (words(line), number));
        numbered.filter(|(words, _)| !words.is_empty())
    };
    let start = lines().find_map(|(words, _)| match words[..] {
        ["start", micros] => Some(micros.parse().expect("a start in microseconds")),
        _ => None,
    });
    let start = Tick::from_micros(start.unwrap_or(START));
    let clock = ManualClock::at(start);
    let store = make(clock.clone());

    let limits: Vec<(Limit, usize)> = lines()
        .filter(|(words, _)| words[0] == "limit")
        .map(|(words, line)| (read_limit(&words, line), line))
        .collect();
    let mut receipts: HashMap<(&str, &str), Receipt<'_>> = HashMap::new();
    for (words, line) in lines().filter(|(words, _)| !matches!(words[0], "limit" | "start")) {
        let [time, name, key, cost, mode, "->", expected @ ..] = &words[..] else {
            panic!("line {line}: expected `time limit key cost mode -> verdict`");
        };
        let in_force = limits.iter().rev().find(|(l, at)| l.name() == *name && *at < line);
        let (limit, _) = in_force.unwrap_or_else(|| panic!("line {line}: no limit `{name}`"));
        let cost = cost.parse().unwrap_or_else(|_| panic!("line {line}: `{cost}` is no cost"));
        clock.set(start.after(read_time(time, line)));
        let ask = |mode, cost| store.decide(mode, &[Charge::new(limit, *key).cost(cost)]);
        let mut decision = match *mode {
            "charge" => ask(Mode::Charge, cost),
            "peek" => ask(Mode::Peek, cost),
            "up-to" => ask(Mode::UpTo, cost),
            "refund" | "settle" => {
                let receipt = receipts.remove(&(*name, *key));
                let receipt = receipt.unwrap_or_else(|| panic!("line {line}: nothing was charged"));
                store.give(receipt, if *mode == "refund" { 0 } else { cost });
                ask(Mode::Peek, 0)
            }
            other => panic!("line {line}: `{other}` is no mode"),
        };
        let expected = expected.join(" ");
        assert_eq!(told(&decision, expected.contains(" left")), expected, "line {line}");
        let receipt = decision.answers_mut().find_map(|answer| answer.take_receipt((*key).into()));
        receipts.extend(receipt.map(|receipt| ((*name, *key), receipt)));
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split('#').next().unwrap_or("").split_whitespace().collect()
}

fn told(decision: &Decision<'_>, with_remaining: bool) -> String {
    let mut text = match decision.verdict() {
        Verdict::Allow => "allow".to_owned(),
        Verdict::Wait(span) => format!("wait {span}"),
        Verdict::Deny(span) => format!("deny {span}"),
        Verdict::Never => "never".to_owned(),
    };
    if with_remaining {
        write!(text, ", {} left", decision.remaining()).expect("a string takes it");
    }
    text
}

fn read_time(text: &str, line: usize) -> Span {
    if text == "0" {
        return Span::ZERO;
    }
    text.parse().unwrap_or_else(|error| panic!("line {line}: {error}"))
}

fn read_limit(words: &[&str], line: usize) -> Limit {
    let [_, name, algorithm, quota @ ..] = words else {
        panic!("line {line}: expected `limit name algorithm quota`");
    };
    let quota = quota.join(" ").parse().unwrap_or_else(|error| panic!("line {line}: {error}"));
    let algorithm = match algorithm.split_once(':') {
        None => match *algorithm {
            "token-bucket" => Algorithm::TokenBucket,
            "fixed-window" => Algorithm::FixedWindow(Anchor::Spread),
            "sliding-window" => Algorithm::SlidingWindow,
            "sliding-log" => Algorithm::SlidingLog,
            other => panic!("line {line}: `{other}` is no algorithm"),
        },
        Some(("fixed-window", "clock")) => Algorithm::FixedWindow(Anchor::Clock),
        Some(("fixed-window", "first-hit")) => Algorithm::FixedWindow(Anchor::FirstHit),
        Some(("leaky-bucket", queue)) => Algorithm::LeakyBucket(match queue.parse() {
            Ok(length) => Queue::Length(length),
            Err(_) => Queue::MaxWait(read_time(queue, line)),
        }),
        Some(_) => panic!("line {line}: `{algorithm}` is no algorithm"),
    };
    let built = Limit::builder(name, quota).algorithm(algorithm).build();
    built.unwrap_or_else(|error| panic!("line {line}: {error}"))
}
