//! Compares the Lua of one rule, or of all, with the Rust in as many records as wanted.
//!
//! `twins RECORDS [RULE [SEED [SERVER]]]`; a rule is `bucket`, `fixed`, `sliding`, `log` or `all`, and a
//! server `redis` or `valkey`: one is started, and its Lua runs instead of the embedded one.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    unreachable_pub,
    dead_code,
    reason = "a difference ends it by a panic, and its parts are a test's"
)]

#[path = "../tests/twins/compare.rs"]
mod compare;

use std::process::ExitCode;

use tollgate_servers::Server;

use compare::{RULES, Run, compare};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let records = arguments.next().and_then(|text| text.replace('_', "").parse().ok());
    let rule = arguments.next().filter(|rule| rule != "all");
    let seed = arguments.next().map_or(Some(0), |text| text.parse().ok());
    let builder = match arguments.next().as_deref() {
        None => Some(None),
        Some("redis") => Some(Some(Server::redis())),
        Some("valkey") => Some(Some(Server::valkey())),
        Some(_) => None,
    };
    let (Some(records), Some(seed), Some(builder)) = (records, seed, builder) else {
        eprintln!("usage: twins RECORDS [RULE [SEED [SERVER]]]");
        return ExitCode::from(2);
    };
    let server = builder.map(|builder| builder.start());
    let run = Run { seed, server: server.as_ref(), ..Run::of(records) };
    let place = server.as_ref().map(|server| version(server) + " ").unwrap_or_default();
    for named in RULES.into_iter().filter(|(name, _)| rule.as_ref().is_none_or(|r| r == name)) {
        let (name, _) = named;
        let compared = compare(named, run);
        let tally = compared.unwrap_or_else(|difference| panic!("{place}{name}: {difference:#?}"));
        println!(
            "{place}{name}: seed={seed} records={} differences=0 passed={} denied={} never={} \
             re-anchored={} given={} settled-up={}",
            tally.records,
            tally.passed,
            tally.denied,
            tally.never,
            tally.re_anchored,
            tally.given,
            tally.settled_up,
        );
    }
    ExitCode::SUCCESS
}

/// What a server calls itself: `valkey 9.1.2`. Valkey also names the Redis that it stands in for.
fn version(server: &Server) -> String {
    let info = server.command(&["INFO", "server"]).text();
    let told = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("_version:"));
        line.map(|version| format!("{name} {}", version.trim()))
    };
    told("valkey").or_else(|| told("redis")).unwrap()
}
