//! Callers that go away before they are answered.

use std::time::Duration;

use futures_util::FutureExt;
use tollgate_core::{Algorithm, Anchor, Charge, Limit, Mode, Span, Store};
use tollgate_redis::Redis;
use tollgate_servers::{ChaosProxy, Cluster, Fault, Server, Way};

use crate::shop::{LONG, ask, builder, store, url_of};

fn exact(name: &str, amount: u64) -> Limit {
    let limit = builder(name, amount, Span::from_secs(1_000_000));
    limit.algorithm(Algorithm::FixedWindow(Anchor::FirstHit)).build().unwrap()
}

async fn used(store: &Redis, limit: &Limit, key: &str) -> u64 {
    let peek = [Charge::new(limit, key).cost(0)];
    limit.capacity() - ask(store, Mode::Peek, &peek).await.remaining()
}

fn owner(cluster: &Cluster, key: &str) -> usize {
    cluster.owner(cluster.slot_of(&format!("tollgate:{{{key}}}")))
}

/// Comes back once nothing is charged but what was before.
async fn all_is_given_back(store: &Redis, budgets: &[(&Limit, &str, u64)]) {
    let given_back = async {
        for (limit, key, before) in budgets {
            while used(store, limit, key).await > *before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    tokio::time::timeout(LONG, given_back).await.expect("all is given back");
}

/// The caller goes away when the first of two servers has charged and the second, which is silent,
/// is asked; then that one answers.
async fn leaves_between_two_servers(before: u64) {
    let cluster = Server::redis().set("cluster-node-timeout", "60000").cluster(0);
    let store = store(&url_of(&cluster, "")).await;
    let (narrow, wide) = (exact("narrow", 50), exact("wide", 100));
    let there = owner(&cluster, "all");
    let key = (0..).map(|n| format!("ann{n}")).find(|key| owner(&cluster, key) != there).unwrap();
    ask(&store, Mode::Charge, &[Charge::new(&wide, "all").cost(before)]).await;

    let there = &cluster.nodes()[there];
    let charges = [Charge::new(&wide, "all"), Charge::new(&narrow, key.as_str())];
    there.stop();
    let mut decision = Box::pin(store.decide(Mode::Charge, &charges));
    while used(&store, &narrow, &key).await == 0 {
        assert!((&mut decision).now_or_never().is_none());
    }
    drop(decision);
    there.cont();
    all_is_given_back(&store, &[(&narrow, &key, 0), (&wide, "all", before)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_leaves_between_two_servers_is_charged_by_neither() {
    leaves_between_two_servers(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_leaves_before_a_refusal_leaves_no_charge() {
    leaves_between_two_servers(100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_leaves_while_more_is_leased_takes_nothing_along() {
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 1);
    let (store, straight) = (store(&proxy.url()).await, store(&server.url()).await);
    let limit = builder("all", 1_000, Span::from_secs(1_000_000));
    let limit =
        limit.algorithm(Algorithm::FixedWindow(Anchor::FirstHit)).lease(50).build().unwrap();
    let charges = [Charge::new(&limit, "everyone")];
    // The server knows the scripts.
    for mode in [Mode::Charge, Mode::UpTo] {
        ask(&straight, mode, &[Charge::new(&limit, "other")]).await;
    }
    proxy.inject(Way::Replies, Fault::Delay { by: LONG, jitter: Duration::ZERO });
    // A key that is asked about twice in 20 ms is hot, and leases.
    let mut exact = Box::pin(store.decide(Mode::Charge, &charges));
    let mut leasing = Box::pin(store.decide(Mode::Charge, &charges));
    assert!((&mut exact).now_or_never().is_none());
    assert!((&mut leasing).now_or_never().is_none());
    let both = async { while used(&straight, &limit, "everyone").await < 51 {} };
    tokio::time::timeout(LONG, both).await.expect("both are charged");
    drop(leasing);
    proxy.inject(Way::Replies, Fault::None);
    assert!(exact.await.unwrap().is_allowed());
    all_is_given_back(&store, &[(&limit, "everyone", 1)]).await;
}
