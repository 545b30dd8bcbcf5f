//! A server whose memory is full.

use std::error::Error;

use tollgate_core::{Charge, Mode, Span, Store};
use tollgate_servers::Server;

use crate::lifetimes::all_go_within;
use crate::shop::{ALGORITHMS, ask, limit, limits, store};

/// Row 16: nothing is half written; refusals and peeks are still told; it heals by itself.
#[tokio::test]
async fn b113_a_full_server_says_so_writes_nothing_and_goes_on_when_there_is_room() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let store = store(&server.url()).await;
        let limits = limits(3, Span::HOUR);
        let mut client = server.client();
        for limit in &limits {
            while ask(&store, Mode::Charge, &[Charge::new(limit, "ann")]).await.is_allowed() {}
            ask(&store, Mode::Charge, &[Charge::new(limit, "bob")]).await;
        }
        let digest = |client: &mut tollgate_servers::Client| {
            client.command(&["DEBUG", "DIGEST"]).unwrap().text()
        };
        client.command(&["ZREM", "tollgate:{instances}", "x"]).unwrap();
        let before = digest(&mut client);
        client.command(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
        for limit in &limits {
            // All of a client's limits, some of them full: one does not pass, so nothing is written.
            assert!(
                ask(&store, Mode::Charge, &[Charge::new(limit, "ann").cost(2)]).await.is_denied()
            );
            assert!(ask(&store, Mode::Peek, &[Charge::new(limit, "bob")]).await.is_allowed());
        }
        // Two, since more in a row would open the breaker.
        for limit in limits.iter().rev().take(2) {
            let charges = [Charge::new(limit, "bob"), Charge::new(&limits[0], "cid")];
            let error = store.decide(Mode::Charge, &charges).await.unwrap_err();
            let cause = error.source().unwrap().to_string();
            assert!(error.is_unavailable() && cause.contains("maxmemory"), "{cause}");
        }
        assert_eq!(digest(&mut client), before, "nothing was half written");
        client.command(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
        for limit in &limits {
            assert!(ask(&store, Mode::Charge, &[Charge::new(limit, "bob")]).await.is_allowed());
        }
        all_go_within(&mut client, Span::from_secs(2 * 3_600 + 2));
    }
}

/// What is evicted is fresh, and never an error.
#[tokio::test]
async fn b113_an_evicted_budget_is_a_fresh_one() {
    let server = Server::redis().set("maxmemory-policy", "allkeys-lru").start();
    let store = store(&server.url()).await;
    let used = server.command(&["INFO", "memory"]).text();
    let used = used.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    let most = used.trim().parse::<u64>().unwrap() + 400_000;
    server.command(&["CONFIG", "SET", "maxmemory", &most.to_string()]);
    for algorithm in ALGORITHMS {
        let limit = limit("api", algorithm, 3, Span::HOUR);
        for n in 0..1_500 {
            let key = format!("one of many {n}");
            assert!(
                ask(&store, Mode::Charge, &[Charge::new(&limit, key.as_str())]).await.is_allowed()
            );
        }
    }
    let stats = server.command(&["INFO", "stats"]).text();
    assert!(!stats.contains("evicted_keys:0\r"), "{stats}");
}
