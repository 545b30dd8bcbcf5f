//! Waiting over a real server: what waits and is dropped in the middle leaves nothing behind.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test ends by a panic, and lives in real time beside a real server"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tollgate_core::{Limit, Limiter, Permits, Store};
use tollgate_outbound::Throttle;
use tollgate_redis::Redis;
use tollgate_servers::Server;

/// A process of its own as far as the server can tell, and patient, since others want the processors.
async fn process(server: &Server) -> Arc<Redis> {
    let redis = Redis::builder(server.url().parse().unwrap());
    let redis = redis.deadline(Duration::from_secs(2)).start();
    redis.connected().await;
    Arc::new(redis)
}

async fn limiter(server: &Server, quota: &str) -> Limiter<dyn Store> {
    let store: Arc<dyn Store> = process(server).await;
    Limiter::over(store, [Limit::new("calls", quota.parse().unwrap()).unwrap()])
}

async fn left(limiter: &Limiter<dyn Store>) -> u64 {
    limiter.peek("a", 0).await.unwrap().remaining()
}

#[tokio::test]
async fn two_processes_wait_for_one_budget_and_get_all_of_it_in_order() {
    let server = Server::redis().start();
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let throttle = Throttle::over(limiter(&server, "50/s burst 5").await);
        tasks.push(tokio::spawn(async move {
            let mut calls = Vec::new();
            for call in 0..25 {
                let call_of = throttle.call("a").acquire();
                calls.push(tokio::spawn(
                    async move { call_of.await.map(|_| (Instant::now(), call)) },
                ));
                tokio::task::yield_now().await;
            }
            let mut went = Vec::new();
            for call in calls {
                went.push(call.await.unwrap().unwrap());
            }
            went
        }));
    }
    let mut all = Vec::new();
    for task in tasks {
        let went = task.await.unwrap();
        assert!(went.is_sorted_by_key(|(at, _)| *at), "{went:?}");
        all.extend(went);
    }
    // 50 calls at 50 a second, 5 of them at once.
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(890), "{took:?}");
    assert!(took <= Duration::from_secs(5), "{took:?}");
    assert_eq!(all.len(), 50);
}

#[tokio::test]
async fn calls_dropped_at_any_moment_give_back_what_was_charged_for_them() {
    let server = Server::redis().start();
    let limiter = limiter(&server, "10/day").await;
    let throttle = Throttle::builder().limits(limiter.clone()).max_in_flight(100).build();
    for micros in (0..4_000).step_by(40) {
        let call = tokio::spawn(throttle.call("a").acquire());
        sleep(Duration::from_micros(micros)).await;
        call.abort();
        if let Ok(Ok(permit)) = call.await {
            permit.give_back();
        }
    }
    let until = Instant::now() + Duration::from_secs(5);
    while left(&limiter).await < 10 && Instant::now() < until {
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(left(&limiter).await, 10);
    let stats = throttle.stats();
    assert_eq!((stats.in_flight, stats.waiting), (0, 0));
}

#[tokio::test]
async fn those_that_wait_while_others_are_dropped_get_the_whole_budget() {
    let server = Server::redis().start();
    let limiter = limiter(&server, "20/day").await;
    let throttle = Throttle::over(limiter.clone());
    let call = || throttle.call("a").within(Duration::from_secs(3));
    let calls: Vec<_> = (0..60).map(|_| tokio::spawn(call().acquire())).collect();
    for call in calls.iter().skip(1).step_by(2) {
        sleep(Duration::from_micros(200)).await;
        call.abort();
    }
    let mut went = 0;
    for call in calls {
        match call.await {
            Ok(Ok(_permit)) => went += 1,
            Ok(Err(error)) => assert!(error.is_late(), "{error}"),
            Err(dropped) => assert!(dropped.is_cancelled()),
        }
    }
    assert_eq!((went, left(&limiter).await), (20, 0));
}

#[tokio::test]
async fn without_the_server_a_call_is_told_and_holds_nobody_up() {
    let server = Server::redis().start();
    let store: Arc<dyn Store> = process(&server).await;
    let strict = Limit::builder("calls", "5/day".parse().unwrap());
    let strict = strict.on_error(tollgate_core::OnError::Deny).build().unwrap();
    let throttle = Throttle::over(Limiter::over(store, [strict]));
    drop(throttle.acquire("a", 1).await.unwrap());
    server.kill();
    for _ in 0..3 {
        let error = throttle.acquire("a", 1).await.err().unwrap();
        assert!(error.store().is_some(), "{error}");
    }
    assert_eq!((throttle.stats().failed, throttle.stats().waiting), (3, 0));
}

#[tokio::test]
async fn processes_share_a_number_of_calls_in_flight() {
    let server = Server::redis().start();
    let one: Arc<dyn Permits> = process(&server).await;
    let two: Arc<dyn Permits> = process(&server).await;
    let lease = Duration::from_millis(1_500);
    let of = |permits| Throttle::builder().share_in_flight(permits, "jobs", 2).lease(lease).build();
    let (one, two) = (of(one), of(two));
    let held = [one.acquire("a", 1).await.unwrap(), two.acquire("a", 1).await.unwrap()];
    assert!(one.try_acquire("a", 1).await.err().unwrap().is_busy());
    assert!(two.try_acquire("a", 1).await.err().unwrap().is_busy());
    // Longer than a lease: both are renewed.
    sleep(lease + Duration::from_millis(500)).await;
    assert!(one.try_acquire("a", 1).await.err().unwrap().is_busy());
    drop(held);
    let most = Duration::from_secs(5);
    let all = [
        two.call("a").within(most).acquire().await.unwrap(),
        two.call("a").within(most).acquire().await.unwrap(),
    ];
    drop(all);
}
