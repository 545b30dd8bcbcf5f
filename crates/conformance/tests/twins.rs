//! Lua = Rust: every rule answers alike, word for word, in both of its languages.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    unreachable_pub,
    reason = "a test ends by a panic, and its parts are read by one more program"
)]

#[path = "twins/compare.rs"]
mod compare;

use tollgate_core::algorithm::twin;
use tollgate_servers::Server;

use compare::{BUCKET, Change, FIXED, LOG, NamedRule, RULES, Run, SLIDING, compare};

/// With `cargo test --profile laws`, as fast as a release build.
const RECORDS: u64 = 10_000_000;

/// On each real server: the first of the same records.
const SERVED: u64 = 100_000;

fn hold(rule: NamedRule, run: Run<'_>) {
    let tally = compare(rule, run).unwrap_or_else(|difference| panic!("{difference:#?}"));
    println!("{rule:?}: {tally:?}");
    let reached = [tally.passed, tally.denied, tally.never, tally.re_anchored, tally.given];
    let many = run.records / 1_000;
    assert!(reached.iter().all(|n| *n > many), "all of it was reached: {tally:?}");
    assert!(tally.settled_up > many, "all of it was reached: {tally:?}");
}

#[test]
fn buckets_are_equal() {
    hold(BUCKET, Run::of(RECORDS));
}

#[test]
fn fixed_windows_are_equal() {
    hold(FIXED, Run::of(RECORDS));
}

#[test]
fn sliding_windows_are_equal() {
    hold(SLIDING, Run::of(RECORDS));
}

#[test]
fn sliding_logs_are_equal() {
    hold(LOG, Run::of(RECORDS));
}

#[test]
fn all_are_equal_on_a_real_redis() {
    hold_on(&Server::redis().start());
}

#[test]
fn all_are_equal_on_a_real_valkey() {
    hold_on(&Server::valkey().start());
}

fn hold_on(server: &Server) {
    for rule in RULES {
        hold(rule, Run { server: Some(server), ..Run::of(SERVED) });
    }
}

/// Whatever line of a twin is changed, it is noticed: else equality would say little.
#[test]
fn each_line_matters() {
    let (mut noticed, mut changed) = (0, 0);
    for (function, text) in twin::functions() {
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let changes = changes(function, line, start);
            let seen = changes.iter().filter(|change| differs(change)).count();
            let claims = changes.is_empty() || seen > 0 || SAME.contains(&line.trim());
            assert!(claims, "{function}: nothing notices a change of `{}`", line.trim());
            noticed += seen;
            changed += changes.len();
            start += line.len();
        }
    }
    println!("{noticed} of {changed} changes were noticed");
    assert!(noticed * 10 > changed * 9, "{noticed} of {changed} changes were noticed");
}

/// Lines that no answer depends on: cuts that keep numbers below 2^53, and a longer stride.
const SAME: [&str; 2] = [
    "if b > 2 * limit then b = 2 * limit end",
    "if high == n and 2 * low < middle then middle = 2 * low end",
];

/// What an operator or a number is changed to; a whole condition is also left out.
const CHANGES: [(&str, &str); 23] = [
    (" <= ", " < "),
    (" <= ", " > "),
    (" < ", " <= "),
    (" < ", " >= "),
    (" >= ", " > "),
    (" >= ", " < "),
    (" > ", " >= "),
    (" > ", " <= "),
    (" + ", " - "),
    (" - ", " + "),
    (" * ", " + "),
    (" / ", " * "),
    (" % ", " + "),
    (" == ", " ~= "),
    (" ~= ", " == "),
    (" and ", " or "),
    (" or ", " and "),
    (" 0", " 1"),
    (" 1", " 2"),
    ("2 * ", "3 * "),
    (" -", " "),
    ("true", "false"),
    ("false", "true"),
];

fn changes(function: &'static str, line: &'static str, start: usize) -> Vec<Change> {
    if line.trim().starts_with("--") || line.contains("function") {
        return Vec::new();
    }
    let of = |(right, wrong): (&'static str, &'static str)| {
        line.match_indices(right).map(move |(at, _)| {
            let piece = start + at..start + at + right.len();
            Change { function, piece, instead: wrong }
        })
    };
    let left_out = Change { function, piece: start..start + line.len(), instead: "" };
    let whole = line.trim().starts_with("if ") && line.trim().ends_with(" end");
    CHANGES.into_iter().flat_map(of).chain(whole.then_some(left_out)).collect()
}

/// Whether the changed twin answers otherwise than Rust, somewhere in few records.
fn differs(change: &Change) -> bool {
    const FEW: u64 = 40_000;
    let rule = match change.function.split('_').next().unwrap() {
        "bucket" => BUCKET,
        "fixed" | "replace" => FIXED,
        "sliding" => SLIDING,
        _ => LOG,
    };
    compare(rule, Run { change: Some(change), ..Run::of(FEW) }).is_err()
}
