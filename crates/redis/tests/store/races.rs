//! Counted first and given back later: who is right pays nothing, and nobody gets in between.

use futures_util::future::join_all;
use tollgate_core::{Algorithm, Anchor, Charge, Limit, Mode, Receipt, Span, Store};
use tollgate_redis::Redis;
use tollgate_servers::Server;

use crate::shop::{ask, limit, receipt, store};

/// Five per five minutes, of which only failures count in the end.
fn logins() -> Limit {
    limit("logins", Algorithm::FixedWindow(Anchor::FirstHit), 5, Span::from_secs(300))
}

/// Charges, and gives the receipt if that passes.
async fn enter<'k>(store: &Redis, limit: &'k Limit, key: &'k str) -> Option<Receipt<'k>> {
    receipt(&mut ask(store, Mode::Charge, &[Charge::new(limit, key)]).await, key)
}

async fn left(store: &Redis, limit: &Limit, key: &str) -> u64 {
    ask(store, Mode::Peek, &[Charge::new(limit, key).cost(0)]).await.remaining()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b128_parallel_failures_of_two_instances_pass_five_times() {
    let server = Server::redis().start();
    let both = [store(&server.url()).await, store(&server.url()).await];
    let limit = logins();
    let wrong = join_all((0..100).map(async |n| enter(&both[n % 2], &limit, "ann").await)).await;
    assert_eq!(wrong.iter().flatten().count(), 5);

    for _ in 0..1_000 {
        let right = enter(&both[0], &limit, "bob").await.unwrap();
        both[1].give(right, 0).await.unwrap();
    }
    assert_eq!(left(&both[0], &limit, "bob").await, 5);

    // Of six at once the last is refused, and all is free when they have ended.
    let right = join_all((0..6).map(async |n| enter(&both[n % 2], &limit, "cid").await)).await;
    assert_eq!(right.iter().flatten().count(), 5);
    for receipt in right.into_iter().flatten() {
        both[0].give(receipt, 0).await.unwrap();
    }
    assert_eq!(left(&both[1], &limit, "cid").await, 5);
}

#[tokio::test]
async fn b130_what_is_given_back_is_no_more_than_was_taken() {
    let server = Server::valkey().start();
    let store = store(&server.url()).await;
    let limit = limit("api", Algorithm::FixedWindow(Anchor::FirstHit), 3, Span::HOUR);
    for _ in 0..10 {
        let failed = enter(&store, &limit, "ann").await.unwrap();
        store.give(failed, 0).await.unwrap();
        assert_eq!(left(&store, &limit, "ann").await, 3, "never below zero");
    }
    // Whoever goes before an answer has given nothing back, and a refusal has nothing to give.
    for n in 0..10 {
        assert_eq!(enter(&store, &limit, "bob").await.is_some(), n < 3, "{n}");
    }
    assert_eq!(left(&store, &limit, "bob").await, 0);
}

/// Two instances, asked in turn.
#[tokio::test]
async fn b126_two_instances_count_as_one() {
    let server = Server::redis().start();
    let both = [store(&server.url()).await, store(&server.url()).await];
    let one = limit("one", Algorithm::SlidingWindow, 1, Span::HOUR);
    let mut allowed = 0;
    for n in 0..30 {
        allowed += usize::from(enter(&both[n % 2], &one, "ann").await.is_some());
    }
    assert_eq!(allowed, 1);
    let many = limit("many", Algorithm::SlidingWindow, 1_000, Span::from_secs(1_000_000));
    let all = both.iter().map(async |store| {
        for _ in 0..500 {
            assert!(enter(store, &many, "ann").await.is_some());
        }
    });
    join_all(all).await;
    assert_eq!(left(&both[0], &many, "ann").await, 0);
    assert!(enter(&both[1], &many, "ann").await.is_none());
}
