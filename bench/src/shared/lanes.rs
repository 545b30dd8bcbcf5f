//! What is sent to the server, by contender.

use std::path::Path;
use std::process::Command;

use redis::{Cmd, Script, cmd};
use tollgate_core::{Algorithm, Anchor, Charge, Limit, Quota, Span};
use tollgate_redis::{Prefix, sent};

/// How tables call what the others are compared with.
pub const INCR: &str = "INCR";
/// And the least that a script does to refuse.
pub const READS: &str = "script of TIME and GET";
/// And to let pass.
pub const WRITES: &str = "script of TIME, GET and SET PX";
/// The sliding logs' window, in seconds: as long as a run, so that they are full when it begins.
pub const WINDOW: u64 = 1;

/// A contender.
pub struct Lane {
    /// How tables call it.
    pub name: &'static str,
    /// What makes the server know its script, if it has one.
    pub script: Option<Vec<u8>>,
    /// The command about the client of a number.
    pub command: Box<dyn Fn(u64) -> Vec<u8>>,
    /// How many clients there are.
    pub clients: Clients,
    /// Which commands the server does for a call that passes; none if that is not looked at.
    pub passing: Option<(f64, &'static [&'static str])>,
}

/// How many clients ask.
#[derive(Clone, Copy, Debug)]
pub enum Clients {
    /// So many, each of whom has asked this often when the run begins.
    Known(u64, u64),
    /// As many as use up about four fifths of their limit, which is this, while others leave: no more
    /// pass than the limit allows, and nearly all do.
    Filling(u64),
}

const SOME: Clients = Clients::Known(10_000, 1);

/// All contenders, in the order in which they take turns.
pub fn lanes() -> Vec<Lane> {
    let mut lanes = vec![
        plain("PING", |_| cmd("PING")),
        plain(INCR, |n| cmd("INCR").arg(key("i", n)).take()),
        plain("SET PX", |n| cmd("SET").arg(key("s", n)).arg(16).arg("PX").arg(60_000).take()),
        plain("GET", |n| cmd("GET").arg(key("s", n)).take()),
        scripted("empty script", "return 0", SOME, |n, call| call.arg(key("e", n)).take()),
        scripted(READS, READING, SOME, |n, call| {
            call.arg(key("l", n)).arg("0123456789abcdef").take()
        }),
        scripted(WRITES, WRITING, SOME, |n, call| {
            call.arg(key("l", n)).arg("0123456789abcdef").take()
        }),
    ];
    let endless = Quota::per_minute(1).with_burst(1_000_000).expect("it is a quota");
    let (spent, many) = (Quota::per_hour(1), Quota::per_minute(1_000_000));
    let bucket = |name, quota| limit(name, quota, Algorithm::TokenBucket);
    let three =
        ["second", "minute", "hour"].map(|name| limit(name, endless, Algorithm::TokenBucket));
    lanes.extend([
        ours("token bucket", [bucket("b", endless)], SOME, 1.0),
        ours("token bucket, refusing", [bucket("r", spent)], SOME, 0.0),
        ours("fixed window", [limit("f", many, Algorithm::FixedWindow(Anchor::Spread))], SOME, 1.0),
        ours("sliding window", [limit("s", many, Algorithm::SlidingWindow)], SOME, 1.0),
        ours("three token buckets", three, SOME, 3.0),
    ]);
    for (name, most) in [
        ("sliding log of 60", 60),
        ("sliding log of 1,000", 1_000),
        ("sliding log of 10,000", 10_000),
    ] {
        let quota = Quota::new(most, Span::from_millis(WINDOW * 1_000)).expect("it is a quota");
        let log = limit("l", quota, Algorithm::SlidingLog);
        lanes.push(ours(name, [log], Clients::Filling(most), 1.0));
    }
    let full = limit("m", Quota::per_hour(1_000), Algorithm::SlidingLog);
    lanes.push(ours("sliding log of 1,000, refusing", [full], Clients::Known(50, 1_000), 0.0));
    lanes.extend([
        sorted("the same log as a sorted set, 60", 60),
        sorted("the same log as a sorted set, 1,000", 1_000),
        sorted("the same log as a sorted set, 10,000", 10_000),
        scripted("tutorial's token bucket", TOKEN_BUCKET, SOME, |n, call| {
            call.arg(key("t", n)).arg(1.0 / 60.0).arg(1_000_000).arg(1).take()
        }),
        tutorial_window("tutorial's sorted set, 60", 60),
        tutorial_window("tutorial's sorted set, 1,000", 1_000),
    ]);
    lanes.extend(flexible());
    lanes
}

/// The least that a rule with a state in one string does to refuse; the first call makes the key.
const READING: &str = "redis.call('TIME') \
                     if not redis.call('GET', KEYS[1]) then redis.call('SET', KEYS[1], ARGV[1]) end \
                     return ARGV[1]";
/// And to let pass.
const WRITING: &str = "redis.call('TIME') redis.call('GET', KEYS[1]) \
                     redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000) return ARGV[1]";
const TOKEN_BUCKET: &str = include_str!("token_bucket.lua");
const SORTED_WINDOW: &str = include_str!("sorted_window.lua");
const SORTED_LOG: &str = include_str!("sorted_log.lua");

fn key(kind: &str, client: u64) -> String {
    format!("tollgate:{{api_key:{client}}}{kind}AAAAA")
}

fn plain(name: &'static str, command: impl Fn(u64) -> Cmd + 'static) -> Lane {
    let command = Box::new(move |n| command(n).get_packed_command());
    Lane { name, script: None, command, clients: SOME, passing: None }
}

fn scripted(
    name: &'static str,
    text: &str,
    clients: Clients,
    call: impl Fn(u64, &mut Cmd) -> Cmd + 'static,
) -> Lane {
    let hash = Script::new(text).get_hash().to_owned();
    let load = cmd("SCRIPT").arg("LOAD").arg(text).get_packed_command();
    let command = move |n| call(n, cmd("EVALSHA").arg(&hash).arg(1)).get_packed_command();
    Lane { name, script: Some(load), command: Box::new(command), clients, passing: None }
}

fn sorted(name: &'static str, most: u64) -> Lane {
    let lane = scripted(name, SORTED_LOG, Clients::Filling(most), move |n, call| {
        let numbers = [1.0, most as f64, WINDOW as f64 * 1e6].map(f64::to_le_bytes);
        call.arg(key("z", n)).arg(numbers.as_flattened()).take()
    });
    Lane { passing: Some((1.0, &["zadd"])), ..lane }
}

fn tutorial_window(name: &'static str, most: u64) -> Lane {
    let lane = scripted(name, SORTED_WINDOW, Clients::Filling(most), move |n, call| {
        call.arg(key("w", n)).arg(most).arg(WINDOW).take()
    });
    Lane { passing: Some((1.0, &["zadd"])), ..lane }
}

/// What Tollgate sends for one client and these limits.
fn ours<const N: usize>(
    name: &'static str,
    limits: [Limit; N],
    clients: Clients,
    writes: f64,
) -> Lane {
    let words = move |n| {
        let client = format!("api_key:{n}");
        let charges = limits.each_ref().map(|limit| Charge::new(limit, client.as_bytes()));
        sent(&Prefix::default(), &charges)
    };
    let [script, _] = words(0);
    let command = Box::new(move |n| {
        let [_, by_hash] = words(n);
        by_hash
    });
    let passing = Some((writes, &["set", "pexpire"][..]));
    Lane { name, script: Some(script), command, clients, passing }
}

/// A limit of this name.
pub fn limit(name: &str, quota: Quota, algorithm: Algorithm) -> Limit {
    Limit::builder(name, quota).algorithm(algorithm).build().expect("the numbers are below 2^53")
}

/// What rate-limiter-flexible sends; none where it is not installed.
fn flexible() -> Option<Lane> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("flexible");
    let sends = Command::new("node").arg("sends.js").current_dir(folder).output().ok()?;
    let words = String::from_utf8(sends.stdout).ok()?;
    let ["EVAL", text, "1", "KEY", ref rest @ ..] =
        *words.split_terminator('\0').collect::<Vec<_>>()
    else {
        return None;
    };
    let rest: Vec<String> = rest.iter().map(|word| (*word).to_owned()).collect();
    Some(scripted("rate-limiter-flexible", text, SOME, move |n, call| {
        call.arg(key("x", n)).arg(&rest).take()
    }))
}
