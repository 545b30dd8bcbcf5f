//! Many at once, on few keys, under several limits.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::join_all;
use tollgate_conformance::Random;
use tollgate_core::{Algorithm, Anchor, Charge, Limit, Mode, Span, Store};
use tollgate_redis::Redis;
use tollgate_servers::Server;

use crate::shop::{ALGORITHMS, ask, limit, receipt, store};

async fn used(store: &Redis, limit: &Limit, key: &str) -> u64 {
    let peek = [Charge::new(limit, key).cost(0)];
    limit.capacity() - ask(store, Mode::Peek, &peek).await.remaining()
}

/// 64 tasks, ten keys, three limits and one that watches: charges, refunds and "up to" in a race.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_never_pass_more_than_the_bound_and_charge_all_or_none() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let day = Span::from_secs(1_000_000);
    let fixed = Algorithm::FixedWindow(Anchor::FirstHit);
    let a = limit("a", fixed, 60, day);
    let b = limit("b", Algorithm::SlidingLog, 70, day);
    let c = limit("c", Algorithm::SlidingLog, 80, day);
    let watched = limit("watched", fixed, 30, day);
    let keys: Vec<String> = (0..10).map(|n| format!("key{n}")).collect();
    let spent: Vec<[AtomicU64; 4]> = keys.iter().map(|_| Default::default()).collect();
    let tasks = (0..64).map(async |task| {
        let mut random = Random::of(task);
        for _ in 0..60 {
            let n = random.below(10) as usize;
            let key = keys[n].as_str();
            let cost = random.between(1, 3);
            let of = |limit| Charge::new(limit, key).cost(cost);
            let charges = [of(&a), of(&b), of(&c), of(&watched).shadow()];
            let mode = *random.one_of(&[Mode::Charge, Mode::Charge, Mode::UpTo]);
            let mut decision = ask(&store, mode, &charges).await;
            let granted = decision.granted();
            assert!(granted <= cost && (mode == Mode::UpTo || granted % cost == 0));
            let gives = random.once_in(4);
            for (at, answer) in decision.answers_mut().enumerate() {
                let charged = answer.charged();
                // The one that watches is charged only if it passes itself.
                assert!(charged == granted || at == 3 && charged == 0, "{at}: {charged} {granted}");
                spent[n][at].fetch_add(charged, Ordering::Relaxed);
                if gives && let Some(receipt) = answer.take_receipt(key.into()) {
                    store.give(receipt, 0).await.unwrap();
                    spent[n][at].fetch_sub(charged, Ordering::Relaxed);
                }
            }
        }
    });
    join_all(tasks).await;
    for (key, spent) in keys.iter().zip(&spent) {
        for (limit, spent) in [&a, &b, &c, &watched].into_iter().zip(spent) {
            let spent = spent.load(Ordering::Relaxed);
            assert!(spent <= limit.capacity(), "{key} {limit:?}");
            assert_eq!(used(&store, limit, key).await, spent, "{key} {limit:?}");
        }
    }
}

/// A refusal writes nothing: value and lifetime stay as they are.
#[tokio::test]
async fn a_refusal_changes_no_value_and_no_lifetime() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let mut client = server.client();
    for algorithm in ALGORITHMS {
        client.command(&["FLUSHALL"]).unwrap();
        let limit = limit("api", algorithm, 3, Span::HOUR);
        let charges = [Charge::new(&limit, "ann")];
        while ask(&store, Mode::Charge, &charges).await.is_allowed() {}
        let key = crate::lifetimes::lifetimes(&mut client).remove(0).0;
        let mut kept = || {
            let value = client.command(&["DUMP", &key]).unwrap();
            (value, client.command(&["PEXPIRETIME", &key]).unwrap())
        };
        let before = kept();
        // Other costs and sets, so that the server is asked indeed.
        for cost in 1..40 {
            for mode in [Mode::Charge, Mode::Peek] {
                let charges = [Charge::new(&limit, "ann").cost(cost), Charge::new(&limit, "bob")];
                assert!(ask(&store, mode, &charges).await.is_denied());
            }
        }
        assert_eq!(kept(), before, "{algorithm:?}");
        let bob = ask(&store, Mode::Peek, &[Charge::new(&limit, "bob").cost(0)]).await;
        assert_eq!(bob.remaining(), limit.capacity(), "all or none");
    }
}

/// Two instances on one server tell one truth.
#[tokio::test]
async fn b107_what_remains_falls_by_one_whichever_instance_is_asked() {
    let server = Server::valkey().start();
    let both = [store(&server.url()).await, store(&server.url()).await];
    for algorithm in ALGORITHMS {
        let limit = limit("api", algorithm, 20, Span::from_secs(100_000));
        for n in 1..=limit.capacity() {
            let store = &both[(n % 2) as usize];
            let decision = ask(store, Mode::Charge, &[Charge::new(&limit, "ann")]).await;
            assert_eq!(decision.remaining(), limit.capacity() - n, "{algorithm:?}");
        }
        for store in &both {
            assert!(ask(store, Mode::Charge, &[Charge::new(&limit, "ann")]).await.is_denied());
        }
    }
}

/// What one store does is nothing to another server.
#[tokio::test]
async fn b106_each_store_keeps_to_its_own_server_and_prefix() {
    let (one, two) = (Server::redis().start(), Server::redis().start());
    let here = store(&one.url()).await;
    let there = store(&two.url()).await;
    let prefix = tollgate_redis::Prefix::new("other:").unwrap();
    let beside = crate::shop::store_at(&one.url(), &prefix).await;
    let limit = limit("api", Algorithm::SlidingLog, 1, Span::HOUR);
    for store in [&here, &there, &beside] {
        assert!(ask(store, Mode::Charge, &[Charge::new(&limit, "ann")]).await.is_allowed());
        assert!(ask(store, Mode::Charge, &[Charge::new(&limit, "ann")]).await.is_denied());
    }
}

/// Keys that expire between any two steps of a decision.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b103_keys_that_expire_all_the_time_cost_no_error_and_admit_the_limit() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let window = Span::from_millis(50);
    let limit = limit("api", Algorithm::FixedWindow(Anchor::Clock), 10, window);
    let admitted: std::sync::Mutex<std::collections::BTreeMap<u64, u64>> = Default::default();
    let end = tokio::time::Instant::now() + std::time::Duration::from_secs(2);
    let tasks = (0..16).map(async |n| {
        while tokio::time::Instant::now() < end {
            // Of different costs, so that the server is asked and not the memory.
            let charges = [Charge::new(&limit, "ann").cost(1 + n % 2)];
            let mut decision = ask(&store, Mode::Charge, &charges).await;
            let answer = decision.answers_mut().next().unwrap();
            let window = answer.now().as_micros() / window.as_micros();
            *admitted.lock().unwrap().entry(window).or_default() += answer.charged();
            let _ = receipt;
            tokio::task::yield_now().await;
        }
    });
    join_all(tasks).await;
    let admitted = admitted.into_inner().unwrap();
    assert!(admitted.len() > 20);
    assert!(admitted.values().all(|count| *count <= 10), "{admitted:?}");
    // The first and the last window were begun late and ended early.
    let full = admitted.values().filter(|count| **count >= 9).count();
    assert!(full + 6 >= admitted.len(), "{admitted:?}");
}
