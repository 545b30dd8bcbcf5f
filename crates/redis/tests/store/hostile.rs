//! Keys that clients choose to do harm, seen through a real server.

use std::collections::HashSet;

use tollgate_conformance::Random;
use tollgate_core::{Algorithm, Anchor, Charge, Limit, Mode, Span};
use tollgate_redis::slot;
use tollgate_servers::{Server, Value};

use crate::shop::{ask, limit, store, url_of};

fn windows(name: &str) -> Limit {
    limit(name, Algorithm::FixedWindow(Anchor::FirstHit), 1_000_000, Span::from_secs(1_000_000))
}

fn hostile(random: &mut Random) -> Vec<u8> {
    let parts: [&[u8]; 20] = [
        b"{",
        b"}",
        b"{}",
        b" ",
        b"\0",
        b"\r\n",
        b"*1\r\n$8\r\nFLUSHALL\r\n",
        b"\xff\xfe",
        b"'",
        b"\"",
        b"]] redis.call('FLUSHALL') --",
        b":",
        b"#",
        b"+",
        b"@",
        b".",
        b"%",
        b"tollgate:",
        b"a",
        b"\\",
    ];
    match random.below(40) {
        0 => vec![b'x'; random.below(1 << 12) as usize],
        1 => (0..random.below(60)).map(|_| random.bits() as u8).collect(),
        _ => (0..random.below(5)).flat_map(|_| random.one_of(&parts).to_vec()).collect(),
    }
}

/// T06 to T08: different keys never share a budget, and nothing but our scripts ever runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_keys_meet_nobody_else_and_run_nothing() {
    const ASKED: usize = 100_000;
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let limit = windows("api");
    server.command(&["SET", "treasure", "untouched"]);
    server.command(&["CONFIG", "RESETSTAT"]);
    let mut random = Random::of(6);
    let mut keys: Vec<Vec<u8>> = (0..ASKED).map(|_| hostile(&mut random)).collect();
    keys.push(vec![b'x'; 1 << 20]);
    // One decision has at most so many: a script that asks for many keys at once.
    for keys in keys.chunks(50) {
        let charges: Vec<_> = keys.iter().map(|key| Charge::new(&limit, key.as_slice())).collect();
        assert!(ask(&store, Mode::Charge, &charges).await.is_allowed());
    }
    let stats = server.command(&["INFO", "commandstats"]).text();
    let ran = stats.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(':'));
    let ran: HashSet<&str> = ran.map(|(name, _)| name).collect();
    let ours = [
        "eval",
        "evalsha",
        "get",
        "set",
        "del",
        "time",
        "ping",
        "info",
        "pexpire",
        "zadd",
        "zremrangebyscore",
        "zcard",
    ];
    // And the orders of this test itself.
    let own = ["config|resetstat", "auth"];
    assert!(ran.iter().all(|name| ours.contains(name) || own.contains(name)), "{ran:?}");
    assert_eq!(server.command(&["GET", "treasure"]).text(), "untouched");

    let distinct: HashSet<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let Value::Array(names) = server.command(&["KEYS", "tollgate:*"]) else { panic!() };
    let names: Vec<String> = names.iter().map(Value::text).collect();
    let budgets = names.iter().filter(|name| *name != "tollgate:{instances}");
    assert_eq!(budgets.count(), distinct.len(), "each key has a budget of its own");
    for name in &names {
        assert!(name.len() <= 200 && name.bytes().all(|byte| byte.is_ascii_graphic()), "{name}");
        let (open, close) = (name.find('{').unwrap(), name.find('}').unwrap());
        assert_eq!(slot(name.as_bytes()), slot(&name.as_bytes()[open + 1..close]), "{name}");
    }
    // Each counted what was asked of it, and no more.
    for key in distinct.iter().take(500) {
        let asked = keys.iter().filter(|other| other == key).count() as u64;
        let peek = ask(&store, Mode::Peek, &[Charge::new(&limit, *key).cost(0)]).await;
        assert_eq!(limit.capacity() - peek.remaining(), asked);
    }
}

/// T07: all limits of a client share its slot, so that one call decides them, whatever it is called.
#[tokio::test]
async fn limits_of_one_client_never_cross_slots() {
    let cluster = Server::redis().cluster(0);
    let store = store(&url_of(&cluster, "")).await;
    let limits = ["a", "{b}", "c}{"].map(windows);
    let mut random = Random::of(7);
    for _ in 0..2_000 {
        let (client, route) = (hostile(&mut random), hostile(&mut random));
        let charges = [
            Charge::new(&limits[0], client.as_slice()),
            Charge::new(&limits[1], client.as_slice()),
            Charge::new(&limits[2], route.as_slice()).beside(client.as_slice()),
        ];
        assert!(ask(&store, Mode::Charge, &charges).await.is_allowed());
    }
    // One call for each: had a key lain elsewhere, there would be more.
    let calls = cluster.nodes().iter().map(|node| {
        let stats = node.command(&["INFO", "commandstats"]).text();
        let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
        calls.and_then(|rest| rest.split(',').next()?.parse::<u64>().ok()).unwrap_or(0)
    });
    let calls: u64 = calls.sum();
    assert!((2_000..=2_020).contains(&calls), "{calls}");
}
