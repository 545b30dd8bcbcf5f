//! A limiter over a real server.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends by a panic")]

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tollgate::redis::Redis;
use tollgate::{Limit, Limiter, Memory, OnError, Quota, Source, Store};
use tollgate_servers::Server;

/// A process of its own, as far as budgets go, and patient, since others want the processors too.
async fn limiter(server: &Server, limit: &Limit) -> Limiter<dyn Store> {
    let redis = Redis::builder(server.url().parse().unwrap())
        .deadline(Duration::from_secs(2))
        .replicas(NonZeroU32::new(2).unwrap())
        .fallback(Arc::new(Memory::new()))
        .start();
    redis.connected().await;
    let store: Arc<dyn Store> = Arc::new(redis);
    Limiter::over(store, [limit.clone()])
}

#[tokio::test]
async fn limiters_of_two_processes_charge_one_budget() {
    let server = Server::redis().start();
    let limit = Limit::new("api", Quota::per_day(10)).unwrap();
    let (one, two) = (limiter(&server, &limit).await, limiter(&server, &limit).await);
    assert_eq!(one.check_n("ann", 4).await.unwrap().remaining(), 6);
    assert_eq!(two.peek("ann", 1).await.unwrap().remaining(), 5);
    assert!(two.check_n("ann", 7).await.unwrap().is_denied());
    assert_eq!(two.take_up_to("ann", 100).await.unwrap().granted(), 6);
    assert!(one.check("ann").await.unwrap().is_denied());
    assert!(one.check("bob").await.unwrap().is_allowed());
}

#[tokio::test]
async fn a_charge_is_settled_where_it_was_made() {
    let server = Server::redis().start();
    let limit = Limit::new("tokens", Quota::per_day(1_000)).unwrap();
    let limiter = limiter(&server, &limit).await;
    let (decision, receipts) = limiter.charge("ann", 800).await.unwrap();
    assert_eq!(decision.remaining(), 200);
    limiter.settle(receipts, 300).await.unwrap();
    assert_eq!(limiter.peek("ann", 0).await.unwrap().remaining(), 700);
}

#[tokio::test]
async fn without_the_server_a_limiter_decides_by_its_share_or_fails() {
    let server = Server::redis().start();
    let share = Limit::new("share", Quota::per_day(10)).unwrap();
    let strict = Limit::builder("strict", Quota::per_day(10)).on_error(OnError::Deny).build();
    let shared = limiter(&server, &share).await;
    let strict = limiter(&server, &strict.unwrap()).await;
    assert!(!shared.check("ann").await.unwrap().is_degraded());
    server.kill();
    for left in (0..5).rev() {
        let decision = shared.check("ann").await.unwrap();
        let sources: Vec<_> = decision.answers().map(|answer| answer.source()).collect();
        assert_eq!(sources, [Source::Share(NonZeroU32::new(2).unwrap())]);
        assert_eq!((decision.is_allowed(), decision.remaining()), (true, left));
    }
    assert!(shared.check("ann").await.unwrap().is_denied());
    strict.check("ann").await.unwrap_err();
}
