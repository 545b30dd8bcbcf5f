//! Every key goes by itself, soon after nothing is owed under it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tollgate_conformance::Random;
use tollgate_core::{Algorithm, Charge, Mode, Span, Store};
use tollgate_servers::{Client, Server, Value};

use crate::shop::{ALGORITHMS, ask, limit, limits, receipt, store};

/// The lifetime of every key under the prefix, in milliseconds: none lives for ever.
pub(crate) fn lifetimes(client: &mut Client) -> Vec<(String, i64)> {
    let Value::Array(keys) = client.command(&["KEYS", "tollgate:*"]).unwrap() else { panic!() };
    let left = |key: &Value| {
        let key = key.text();
        let left = client.command(&["PTTL", &key]).unwrap().integer().unwrap();
        // Gone between the two questions.
        (left != -2).then_some((key, left))
    };
    keys.iter().filter_map(left).filter(|(key, _)| !key.contains("{instances}")).collect()
}

#[track_caller]
pub(crate) fn all_go_within(client: &mut Client, most: Span) {
    for (key, left) in lifetimes(client) {
        let most = most.as_micros() as i64 / 1_000;
        // 0 is the last part of a millisecond, -1 would be for ever.
        assert!((0..=most).contains(&left), "{key} has {left} ms left, at most {most}");
    }
}

/// Over every operation of every algorithm, on live time.
async fn every_key_goes(server: Server) {
    let store = store(&server.url()).await;
    let mut client = server.client();
    let mut random = Random::of(95);
    for window in [Span::from_millis(50), Span::from_secs(2), Span::from_secs(100_000)] {
        let limits = limits(6, window);
        let most = Span::from_micros(2 * window.as_micros() + 2_000_000);
        for limit in &limits {
            let mut receipts = Vec::new();
            for _ in 0..60 {
                let mode = *random.one_of(&[Mode::Charge, Mode::Charge, Mode::Peek, Mode::UpTo]);
                let key = *random.one_of(&["ann", "bob"]);
                let cost = random.between(0, 4);
                let mut decision = ask(&store, mode, &[Charge::new(limit, key).cost(cost)]).await;
                receipts.extend(receipt(&mut decision, key));
                if random.once_in(3) && !receipts.is_empty() {
                    let last = receipts.len() as u64;
                    let one = receipts.swap_remove(random.below(last) as usize);
                    store.give(one, random.below(20)).await.unwrap();
                }
                all_go_within(&mut client, most);
            }
        }
    }
}

#[tokio::test]
async fn b97_every_key_goes_after_every_operation_on_redis() {
    every_key_goes(Server::redis().start()).await;
}

#[tokio::test]
async fn b97_every_key_goes_after_every_operation_on_valkey() {
    every_key_goes(Server::valkey().start()).await;
}

/// A key of the same period goes on under the new rule, and one of another is another key.
#[tokio::test]
async fn b190_under_a_changed_limit_no_key_outlives_the_rule_in_force() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let mut client = server.client();
    let most = |period: Span| Span::from_micros(2 * period.as_micros() + 2_000_000);
    for algorithm in ALGORITHMS {
        let of = |amount, period| limit("changed", algorithm, amount, period);
        client.command(&["FLUSHALL"]).unwrap();
        for amount in [10, 100, 2] {
            let rule = of(amount, Span::DAY);
            let decision = ask(&store, Mode::Charge, &[Charge::new(&rule, "ann")]).await;
            // Two are used when it is lowered; a queue's places do not follow from its rate.
            let queues = matches!(algorithm, Algorithm::LeakyBucket(_));
            assert!(queues || decision.is_allowed() == (amount > 2), "{algorithm}: {amount}");
            assert_eq!(lifetimes(&mut client).len(), 1, "{algorithm}");
            all_go_within(&mut client, most(Span::DAY));
        }
        client.command(&["FLUSHALL"]).unwrap();
        let minute = of(10, Span::MINUTE);
        assert!(ask(&store, Mode::Charge, &[Charge::new(&minute, "ann")]).await.is_allowed());
        let before = lifetimes(&mut client);
        let hour = of(10, Span::HOUR);
        assert!(ask(&store, Mode::Charge, &[Charge::new(&hour, "ann")]).await.is_allowed());
        for (key, left) in lifetimes(&mut client) {
            let period = if before.iter().any(|(old, _)| *old == key) { 60 } else { 3_600 };
            assert!(
                (0..=2_000 * period + 2_000).contains(&left),
                "{algorithm}: {left} ms of {key}"
            );
        }
    }
}

/// What is owed outlives no key, and a time to reset is none of another unit.
#[tokio::test]
async fn t06_b99_no_key_goes_before_nothing_is_owed() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let mut client = server.client();
    for window in [Span::from_micros(50_001), Span::from_secs(10), Span::from_secs(100_000)] {
        for limit in &limits(3, window) {
            for cost in [1, 2] {
                let key = format!("{}{cost}", window.as_micros());
                let charge = [Charge::new(limit, key.as_str()).cost(cost)];
                let decision = ask(&store, Mode::Charge, &charge).await;
                assert!(decision.is_allowed());
                // Read later, so that it is the less; and rounded up, so that it is enough.
                let end = decision.answers().next().map(|answer| answer.now()).unwrap();
                let end = end.after(decision.reset_after()).as_micros();
                let name = lifetimes(&mut client).into_iter().find(|(name, _)| name.contains(&key));
                let Some((name, _)) = name else { continue };
                let gone = client.command(&["PEXPIRETIME", &name]).unwrap().integer().unwrap();
                if gone > 0 {
                    let early = end as i64 - gone * 1_000;
                    // The server counts its lifetimes from the millisecond in which a script began.
                    assert!(early <= 1_000, "{limit:?} {cost}: {early} us early");
                }
                client.command(&["DEL", &name]).unwrap();
            }
        }
    }
}

/// The one who asks is cut off at any moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b95_no_key_lives_for_ever_when_connections_are_killed() {
    const KILLS: usize = 60;
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let limits = limits(50, Span::from_secs(2));
    let (answered, killed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let asking = (0..8).map(async |task: usize| {
        for n in 0.. {
            if killed.load(Ordering::Relaxed) == KILLS {
                break;
            }
            let limit = &limits[n % limits.len()];
            let key = format!("{task}-{}", n % 5);
            match store.decide(Mode::Charge, &[Charge::new(limit, key.as_str())]).await {
                Ok(mut decision) => {
                    answered.fetch_add(1, Ordering::Relaxed);
                    if let Some(receipt) = receipt(&mut decision, &key) {
                        // Cut off like everything else.
                        let _ = store.give(receipt, (n % 3) as u64).await;
                    }
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.client();
            for _ in 0..KILLS {
                // As soon as there is something to cut off again.
                let before = answered.load(Ordering::Relaxed);
                while answered.load(Ordering::Relaxed) < before + 20 {
                    std::thread::yield_now();
                }
                client.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).unwrap();
                all_go_within(&mut client, Span::from_secs(6));
                killed.fetch_add(1, Ordering::Relaxed);
            }
        });
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(join_all(asking));
        });
    });
    all_go_within(&mut server.client(), Span::from_secs(6));
}

/// A counter that is full and has no lifetime neither blocks for ever nor stays.
#[tokio::test]
async fn b95_a_key_without_a_lifetime_gets_one_and_its_client_gets_in() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let mut client = server.client();
    for algorithm in ALGORITHMS {
        let limit = limit("api", algorithm, 2, Span::from_millis(300));
        let charges = [Charge::new(&limit, "ann")];
        while ask(&store, Mode::Charge, &charges).await.is_allowed() {}
        for (key, _) in lifetimes(&mut client) {
            client.command(&["PERSIST", &key]).unwrap();
        }
        let begun = std::time::Instant::now();
        while ask(&store, Mode::Charge, &charges).await.is_denied() {}
        let took = begun.elapsed();
        assert!(took < Duration::from_millis(900), "{algorithm:?}: {took:?}");
        all_go_within(&mut client, Span::from_millis(2_600));
        client.command(&["FLUSHALL"]).unwrap();
    }
}

/// Keys that are used once go by themselves, and nobody has to sweep them up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b179_keys_that_are_used_once_are_soon_gone() {
    const KEYS: usize = 20_000;
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let limits = limits(6, Span::SECOND);
    let size = || server.command(&["DBSIZE"]).integer().unwrap();
    for n in (0..KEYS).step_by(50) {
        let keys: Vec<String> = (n..n + 50).map(|n| format!("client {n}")).collect();
        let limit = &limits[n / 50 % limits.len()];
        let charges: Vec<_> = keys.iter().map(|key| Charge::new(limit, key.as_str())).collect();
        assert!(ask(&store, Mode::Charge, &charges).await.is_allowed());
    }
    let begun = std::time::Instant::now();
    // Two windows, and what the server takes to look for what is over.
    while size() > KEYS as i64 / 100 {
        assert!(begun.elapsed() < Duration::from_secs(5), "{} are left", size());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What passes without a charge, or does not pass, leaves nothing on the server.
#[tokio::test]
async fn b187_only_a_charge_makes_a_key() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let limits = limits(3, Span::HOUR);
    let mut client = server.client();
    for n in 0..1_000 {
        let key = format!("client {n}");
        let limit = &limits[n % limits.len()];
        let charge = Charge::new(limit, key.as_str());
        assert!(ask(&store, Mode::Peek, &[charge]).await.is_allowed());
        assert!(ask(&store, Mode::Charge, &[charge.cost(0)]).await.is_allowed());
        assert!(ask(&store, Mode::Charge, &[charge.cost(100)]).await.is_denied());
        let beside = [charge, Charge::new(&limits[0], "full").cost(4)];
        assert!(ask(&store, Mode::Charge, &beside).await.is_denied());
    }
    assert_eq!(lifetimes(&mut client), Vec::new());
}
