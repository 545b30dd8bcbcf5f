//! Servers that forget scripts, connections, or everything, while they are asked.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tollgate_core::{Algorithm, Charge, Mode, Span, Store};
use tollgate_redis::Redis;
use tollgate_servers::Server;

use crate::shop::{LONG, ask, limit, limits, receipt, store};

/// Not one error comes of it, nor is anything charged twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b109_scripts_that_are_flushed_every_10_ms_cost_no_error() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let store = store(&server.url()).await;
        let mut limits = limits(10_000, Span::from_secs(100_000));
        // Its queue is short, whatever its amount.
        limits.retain(|limit| !matches!(limit.algorithm(), Algorithm::LeakyBucket(_)));
        let done = AtomicBool::new(false);
        let counted = AtomicU64::new(0);
        let asking = join_all((0..16).map(async |task: usize| {
            for n in 0..200 {
                let limit = &limits[(task + n) % limits.len()];
                let mut decision = ask(&store, Mode::Charge, &[Charge::new(limit, "ann")]).await;
                // Of 200, each refunds 50.
                if n % 4 == 0 {
                    store.give(receipt(&mut decision, "ann").unwrap(), 0).await.unwrap();
                } else {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            }
        }));
        std::thread::scope(|scope| {
            let flushing = scope.spawn(|| {
                let mut client = server.client();
                let mut flushes = 0;
                while !done.load(Ordering::Relaxed) {
                    client.command(&["SCRIPT", "FLUSH"]).unwrap();
                    flushes += 1;
                    std::thread::sleep(Duration::from_millis(10));
                }
                flushes
            });
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(asking));
            done.store(true, Ordering::Relaxed);
            assert!(flushing.join().unwrap() > 3);
        });
        let mut used = 0;
        for limit in &limits {
            let peek = [Charge::new(limit, "ann").cost(0)];
            used += limit.capacity() - ask(&store, Mode::Peek, &peek).await.remaining();
        }
        // A bucket leaks one in 10 s, and what leaked away of a charge is not given back.
        let counted = counted.load(Ordering::Relaxed);
        assert!(counted.abs_diff(used) < 10, "{used} of {counted}");
    }
}

/// A thousand requests a second while scripts are flushed, connections killed and a replica promoted: not
/// one error, and each server is sent the script a few times and not once for each who missed it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b109_each_server_is_sent_a_script_a_few_times() {
    const LOSSES: u64 = 3;
    let all = Server::redis().sentinel(1);
    let sentinel = format!("127.0.0.1:{}", all.sentinels()[0].port());
    let address = format!("redis-sentinel://{sentinel}/{}", all.name()).parse().unwrap();
    let memory = tollgate_memory::Memory::builder().max_entries(10_000).build().unwrap();
    // It needs not show itself, which would be another script.
    let builder = Redis::builder(address).replicas(NonZeroU32::MIN).fallback(Arc::new(memory));
    let store = Arc::new(builder.start());
    tokio::time::timeout(LONG, store.connected()).await.unwrap();
    let limit = Arc::new(limit("api", Algorithm::TokenBucket, 1_000_000, Span::SECOND));
    let done = Arc::new(AtomicBool::new(false));
    let load = {
        let (store, done) = (Arc::clone(&store), Arc::clone(&done));
        tokio::spawn(async move {
            let mut tick = tokio::time::interval(Duration::from_millis(1));
            tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            let mut asked = Vec::new();
            while !done.load(Ordering::Relaxed) {
                tick.tick().await;
                let (store, limit) = (Arc::clone(&store), Arc::clone(&limit));
                asked.push(tokio::spawn(async move {
                    let key = "ann";
                    store.decide(Mode::Charge, &[Charge::new(&limit, key)]).await.map(|_| ())
                }));
            }
            join_all(asked).await
        })
    };
    let decided = async || {
        let before = store.stats().decided;
        while store.stats().decided < before + 200 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    decided().await;
    for _ in 0..LOSSES {
        all.primary().command(&["SCRIPT", "FLUSH"]);
        decided().await;
        all.primary().command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        decided().await;
    }
    tokio::task::block_in_place(|| all.failover());
    decided().await;
    done.store(true, Ordering::Relaxed);
    let asked = load.await.unwrap();
    assert!(asked.len() > 1_000, "{}", asked.len());
    assert!(asked.into_iter().all(|told| told.unwrap().is_ok()), "{:?}", store.stats());
    for server in all.servers() {
        let stats = server.command(&["INFO", "commandstats"]).text();
        let texts = stats.lines().find_map(|line| line.strip_prefix("cmdstat_eval:calls="));
        let texts: u64 = texts.and_then(|rest| rest.split(',').next()?.parse().ok()).unwrap_or(0);
        // At most those who were on their way together.
        assert!((1..=10 * (LOSSES + 1)).contains(&texts), "{texts}: {stats}");
    }
}

/// The server is killed and comes back empty; who asks is told so or decided.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b109_b123_a_server_that_comes_back_empty_decides_again_within_a_second() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let limit = limit("api", Algorithm::SlidingLog, 1, Span::HOUR);
    for _ in 0..5 {
        assert!(ask(&store, Mode::Charge, &[Charge::new(&limit, "ann")]).await.is_allowed());
        server.restart();
        let begun = tokio::time::Instant::now();
        loop {
            match store.decide(Mode::Peek, &[Charge::new(&limit, "ann")]).await {
                Ok(decision) => {
                    assert!(decision.is_allowed(), "it remembers nothing");
                    break;
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}

/// A connection that was closed while nobody asked.
#[tokio::test]
async fn b123_the_first_decision_after_a_closed_connection_is_a_decision() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let limit = limit("api", Algorithm::TokenBucket, 1_000, Span::SECOND);
    for _ in 0..20 {
        ask(&store, Mode::Charge, &[Charge::new(&limit, "ann")]).await;
        server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        // The end of it is seen, and a new one made, before anybody asks.
        let clients =
            || server.command(&["CLIENT", "LIST", "TYPE", "normal"]).text().lines().count();
        while clients() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        store.connected().await;
        ask(&store, Mode::Charge, &[Charge::new(&limit, "ann")]).await;
    }
}
