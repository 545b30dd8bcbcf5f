//! Runs the suite: `tollgate-bench quick|full [LOG OF THE INSTRUCTION COUNTS]`; or one race, for a
//! closer look: `tollgate-bench look KEYS CONTENDER…`; or the shared store: `tollgate-bench redis
//! [PROGRAM OF THE GATEWAY]`, of which `tollgate-bench redis look CONTENDER…` shows a part.

use std::env;
use std::fs;
use std::net::Ipv6Addr;
use std::process::ExitCode;

use tollgate_bench::defence::Defence;
use tollgate_bench::memory::{Resident, fill};
use tollgate_bench::outbound::{Outbound, waiters};
use tollgate_bench::peers::Burst;
use tollgate_bench::proxies;
use tollgate_bench::replay::Replays;
use tollgate_bench::report::Report;
use tollgate_bench::rules::Rules;
use tollgate_bench::shared::page::{self, Page};
use tollgate_bench::suite::{Extent, Findings, look, plain_lane, string_lane};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["quick", ref rest @ ..] => run(Extent::Quick, rest),
        ["full", ref rest @ ..] => run(Extent::Full, rest),
        ["look", keys, ref names @ ..] => match keys.parse() {
            Ok(keys) => println!("{}", look(names, keys).summary()),
            Err(_) => return USAGE,
        },
        ["redis", "look", ref names @ ..] => println!("{}", page::look(names)),
        ["redis"] => println!("{}", Page::gather(None)),
        ["redis", gateway] => println!("{}", Page::gather(Some(gateway))),
        ["proxies", gateway] => println!("{}", proxies::page::Page::gather(gateway)),
        ["replay", gateway] => match Replays::gather(gateway) {
            Ok(replays) => println!("{replays}"),
            Err(error) => {
                eprintln!("{error}");
                return USAGE;
            }
        },
        ["layers", gateway] => match Defence::gather(gateway) {
            Some(defence) => println!("{defence}"),
            None => {
                eprintln!(
                    "{gateway} does not serve: build it with `cargo build --release -p tollgate-gateway`"
                );
                return USAGE;
            }
        },
        ["outbound"] => println!("{}", Outbound::gather()),
        ["outbound", "waiters", name, calls] => {
            let calls = calls.parse().ok();
            return calls.and_then(|calls| waiters::child(name, calls)).map_or(USAGE, |()| DONE);
        }
        ["rules"] => println!("{}", Rules::gather()),
        ["weigh", lane, kind, keys] => return weigh(lane, kind, keys).map_or(USAGE, |()| DONE),
        _ => return USAGE,
    }
    DONE
}

const DONE: ExitCode = ExitCode::SUCCESS;
/// The arguments say nothing that can be done.
const USAGE: ExitCode = ExitCode::FAILURE;

fn run(extent: Extent, logs: &[&str]) {
    let mut findings = Findings::gather(extent);
    for log in logs {
        findings.count(&fs::read_to_string(log).expect("the log of the counts can be read"));
    }
    println!("{}", Report(&findings));
}

/// The child's part of [`tollgate_bench::memory::weigh`].
fn weigh(lane: &str, kind: &str, keys: &str) -> Option<()> {
    let keys = keys.parse().ok()?;
    let before = Resident::read();
    match kind {
        "string" => fill(&*string_lane(lane, keys, Burst::Endless)?.limiter, keys, before),
        "u64" => fill(&*plain_lane::<u64>(lane, keys)?.limiter, keys, before),
        "IPv6" => fill(&*plain_lane::<Ipv6Addr>(lane, keys)?.limiter, keys, before),
        _ => return None,
    }
    Some(())
}
