//! One key asked for all the time: refusals that are still true cost the server nothing, and nobody.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use tollgate_core::{Algorithm, Anchor, Charge, Limit, Mode, Span, Store};
use tollgate_redis::Redis;
use tollgate_servers::{ChaosProxy, Fault, Server, Way};

use crate::shop::{ALGORITHMS, LONG, ask, builder, limit, receipt, store};

/// How many scripts a server has run.
fn calls(server: &Server) -> u64 {
    let stats = server.command(&["INFO", "commandstats"]).text();
    let of = |name: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(name))?;
        line.strip_prefix(":calls=")?.split(',').next()?.parse::<u64>().ok()
    };
    of("cmdstat_evalsha").unwrap_or(0) + of("cmdstat_eval").unwrap_or(0)
}

/// 64 tasks ask for one key as fast as they can; how many were asked and passed.
async fn flood(store: &Redis, limit: &Limit, span: Duration) -> (u64, u64) {
    let (asked, passed) = (AtomicU64::new(0), AtomicU64::new(0));
    let end = Instant::now() + span;
    let callers = (0..64).map(async |_| {
        while Instant::now() < end {
            let decision = ask(store, Mode::Charge, &[Charge::new(limit, "ann")]).await;
            asked.fetch_add(1, Ordering::Relaxed);
            passed.fetch_add(u64::from(decision.is_allowed()), Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    join_all(callers).await;
    (asked.into_inner(), passed.into_inner())
}

/// T33: 64 callers, and 20,000 requests a second and more. A server is asked no more than twice the limit
/// and 11 times a second, also while nobody knows as yet that the key is flooded.
#[tokio::test]
async fn b33_a_flooded_key_costs_the_server_little_and_its_clients_nothing() {
    const SECONDS: u64 = 3;
    let floods = ALGORITHMS.map(async |algorithm| {
        let server = Server::redis().start();
        let address = server.url().parse().unwrap();
        // It needs not show itself, which would be calls of another script.
        let store = Redis::builder(address).deadline(LONG).replicas(NonZeroU32::MIN).start();
        store.connected().await;
        let limit = limit("api", algorithm, 10, Span::SECOND);
        // The server's scripts are known: else the first calls take two.
        let known = [Charge::new(&limit, "bob")];
        ask(&store, Mode::Charge, &known).await;
        let (mut asked, mut passed, mut before) = (0, 0, calls(&server));
        let mut each = Vec::new();
        for _ in 0..SECONDS {
            let (more_asked, more_passed) = flood(&store, &limit, Duration::from_secs(1)).await;
            (asked, passed) = (asked + more_asked, passed + more_passed);
            let now = calls(&server);
            each.push(now - before);
            before = now;
        }
        let what = format!("{algorithm:?}: {asked} asked, {passed} passed, calls {each:?}");
        println!("{what}");
        assert!(asked > 20 * each.iter().sum::<u64>(), "{what}");
        // A start of the windows on the way, and whatever may pass at once.
        assert!(passed <= 10 * SECONDS + 10 + limit.capacity(), "{what}");
        assert!(passed >= 10 * (SECONDS - 1), "{what}");
        assert!(each.iter().all(|calls| *calls <= 2 * 10 + 11), "{what}");
    });
    join_all(floods).await;
}

#[tokio::test]
async fn a_high_limit_is_used_up_by_whoever_asks_for_more() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let rate = 2_000;
    let limit = limit("api", Algorithm::TokenBucket, rate, Span::SECOND);
    // The burst first, so that only the rate is left.
    while ask(&store, Mode::UpTo, &[Charge::new(&limit, "ann").cost(rate)]).await.granted() > 10 {}
    let begun = Instant::now();
    let (asked, passed) = flood(&store, &limit, Duration::from_secs(2)).await;
    let due = begun.elapsed().as_secs_f64() * rate as f64;
    // A machine that is too busy to ask for so much shall be given what it asks for.
    let share = passed as f64 / due.min(asked as f64);
    assert!((0.97..1.02).contains(&share), "{passed} of {due:.0} passed, {asked} asked");
}

/// The end that every refusal tells is the same, nobody passes before, and nobody waits longer.
#[tokio::test]
async fn a_remembered_refusal_ends_when_it_says() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    for algorithm in ALGORITHMS {
        let limit = limit("api", algorithm, 2, Span::from_millis(400));
        let charges = [Charge::new(&limit, "ann")];
        // The least of a few: a busy machine may keep anybody waiting.
        let mut least = Span::HOUR;
        for _ in 0..5 {
            let mut end = None;
            loop {
                let decision = ask(&store, Mode::Charge, &charges).await;
                let now = decision.answers().next().unwrap().now();
                let Some(wait) = decision.retry_after() else {
                    let Some(end) = end else { continue };
                    assert!(now >= end, "{algorithm:?}: {now:?} before {end:?}");
                    least = least.min(now.since(end));
                    break;
                };
                assert_eq!(*end.get_or_insert(now.after(wait)), now.after(wait), "{algorithm:?}");
                tokio::task::yield_now().await;
            }
        }
        assert!(least < Span::from_millis(50), "{algorithm:?}: {least:?} late");
    }
}

#[tokio::test]
async fn what_is_given_back_here_ends_a_refusal_at_once() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let limit = limit("api", Algorithm::FixedWindow(Anchor::FirstHit), 1, Span::HOUR);
    let charges = [Charge::new(&limit, "ann")];
    for _ in 0..50 {
        let mut first = ask(&store, Mode::Charge, &charges).await;
        assert!(first.is_allowed());
        assert!(ask(&store, Mode::Charge, &charges).await.is_denied());
        assert!(ask(&store, Mode::Charge, &charges).await.is_denied());
        store.give(receipt(&mut first, "ann").unwrap(), 0).await.unwrap();
    }
}

/// Asked and refused while the server is still asking for the script that gives back.
#[tokio::test]
async fn a_refusal_from_before_what_is_given_back_has_come_ends_too() {
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 1);
    let store = store(&proxy.url()).await;
    let limit = limit("api", Algorithm::FixedWindow(Anchor::FirstHit), 1, Span::HOUR);
    let charges = [Charge::new(&limit, "ann")];
    let mut first = ask(&store, Mode::Charge, &charges).await;
    let by = Duration::from_millis(20);
    proxy.inject(Way::Replies, Fault::Delay { by, jitter: Duration::ZERO });
    let give = store.give(receipt(&mut first, "ann").unwrap(), 0);
    // Sent right behind it, and refused, since the server does not know the script of the other.
    let refused = async {
        tokio::task::yield_now().await;
        assert!(ask(&store, Mode::Charge, &charges).await.is_denied());
    };
    let (given, ()) = tokio::join!(give, refused);
    given.unwrap();
    assert!(ask(&store, Mode::Charge, &charges).await.is_allowed());
}

#[tokio::test]
async fn another_cost_or_another_set_is_not_refused_along() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let narrow = limit("narrow", Algorithm::SlidingLog, 5, Span::HOUR);
    let wide = limit("wide", Algorithm::SlidingLog, 100, Span::HOUR);
    let of = |cost| Charge::new(&narrow, "ann").cost(cost);
    assert!(ask(&store, Mode::Charge, &[of(3)]).await.is_allowed());
    assert!(ask(&store, Mode::Charge, &[of(3)]).await.is_denied());
    assert!(ask(&store, Mode::Charge, &[Charge::new(&narrow, "bob").cost(3)]).await.is_allowed());
    assert!(ask(&store, Mode::Charge, &[of(3).shadow()]).await.is_allowed());
    assert!(ask(&store, Mode::Charge, &[of(1)]).await.is_allowed());
    let both = [of(3), Charge::new(&wide, "ann").cost(3)];
    assert!(ask(&store, Mode::Charge, &both).await.is_denied());
    assert!(ask(&store, Mode::Charge, &both[1..]).await.is_allowed());
    assert!(ask(&store, Mode::Charge, &[of(1)]).await.is_allowed());
    assert!(ask(&store, Mode::Charge, &[of(6)]).await.retry_after().is_none());
}

/// Elsewhere given back: believed for 100 ms at most.
#[tokio::test]
async fn what_another_instance_gives_back_counts_within_100_ms() {
    let server = Server::redis().start();
    let (here, there) = (store(&server.url()).await, store(&server.url()).await);
    let limit = limit("api", Algorithm::FixedWindow(Anchor::FirstHit), 1, Span::HOUR);
    // The least of a few: a busy machine may keep anybody waiting.
    let mut least = Duration::MAX;
    for n in 0..5 {
        let key = format!("ann{n}");
        let charges = [Charge::new(&limit, key.as_str())];
        let mut first = ask(&there, Mode::Charge, &charges).await;
        assert!(ask(&here, Mode::Charge, &charges).await.is_denied());
        there.give(receipt(&mut first, &key).unwrap(), 0).await.unwrap();
        let begun = Instant::now();
        while ask(&here, Mode::Charge, &charges).await.is_denied() {
            tokio::task::yield_now().await;
        }
        least = least.min(begun.elapsed());
    }
    assert!(least < Duration::from_millis(130), "{least:?}");
}

/// A server that takes more than half of the deadline is slow, and answers all the same; also when
/// refusals have to be told of what was to be leased.
#[tokio::test]
async fn a_flood_on_a_slow_server_leaves_nobody_without_an_answer() {
    join_all([(0, 1), (20, 1), (50, 3)].map(|(lease, cost)| slow(lease, cost))).await;
}

async fn slow(lease: u8, cost: u64) {
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 2);
    let address = proxy.url().parse().unwrap();
    let store = Redis::builder(address).deadline(Duration::from_millis(800)).start();
    store.connected().await;
    let limit = builder("api", 10, Span::SECOND).lease(lease).build().unwrap();
    // The server's scripts are known: else the first call takes two round trips.
    let straight = crate::shop::store(&server.url()).await;
    for mode in [Mode::Charge, Mode::UpTo] {
        let mut decision = ask(&straight, mode, &[Charge::new(&limit, "bob")]).await;
        straight.give(receipt(&mut decision, "bob").unwrap(), 0).await.unwrap();
    }
    let by = Duration::from_millis(450);
    proxy.inject(Way::Replies, Fault::Delay { by, jitter: Duration::ZERO });
    let end = Instant::now() + Duration::from_secs(4);
    let (asked, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    join_all((0..64).map(async |_| {
        while Instant::now() < end {
            let charges = [Charge::new(&limit, "ann").cost(cost)];
            let decision = store.decide(Mode::Charge, &charges).await;
            asked.fetch_add(1, Ordering::Relaxed);
            failed.fetch_add(u64::from(decision.is_err()), Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    }))
    .await;
    let (asked, failed) = (asked.into_inner(), failed.into_inner());
    let stats = store.stats();
    assert_eq!(failed, 0, "of {asked}: {stats:?}");
}
