//! What these tests ask, and whom.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::{
    Algorithm, Anchor, Charge, Decision, Limit, LimitBuilder, Mode, Queue, Quota, Receipt, Span,
    Store,
};
use tollgate_redis::{Address, Prefix, Redis};

/// The deadline of whatever should be answered, on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(10);

/// A store that is connected.
pub(crate) async fn store(url: &str) -> Arc<Redis> {
    store_at(url, &Prefix::default()).await
}

pub(crate) async fn store_at(url: &str, prefix: &Prefix) -> Arc<Redis> {
    let address: Address = url.parse().unwrap();
    let store = Redis::builder(address).prefix(prefix.clone()).deadline(LONG).start();
    tokio::time::timeout(LONG, store.connected()).await.expect("a connection");
    Arc::new(store)
}

/// Where a cluster is, from any of its nodes on.
pub(crate) fn url_of(cluster: &tollgate_servers::Cluster, who: &str) -> String {
    let nodes = cluster.nodes().iter().map(|node| format!("127.0.0.1:{}", node.port()));
    format!("redis-cluster://{who}{}", nodes.collect::<Vec<_>>().join(","))
}

/// Every algorithm.
pub(crate) const ALGORITHMS: [Algorithm; 7] = [
    Algorithm::TokenBucket,
    Algorithm::LeakyBucket(Queue::Length(3)),
    Algorithm::FixedWindow(Anchor::Spread),
    Algorithm::FixedWindow(Anchor::Clock),
    Algorithm::FixedWindow(Anchor::FirstHit),
    Algorithm::SlidingWindow,
    Algorithm::SlidingLog,
];

/// A limit of each algorithm, of this much per period.
pub(crate) fn limits(amount: u64, period: Span) -> Vec<Limit> {
    let named = |algorithm: Algorithm| {
        let name = format!("{algorithm:?}");
        builder(&name, amount, period).algorithm(algorithm).build().unwrap()
    };
    ALGORITHMS.into_iter().map(named).collect()
}

pub(crate) fn builder(name: &str, amount: u64, period: Span) -> LimitBuilder<'_> {
    Limit::builder(name, Quota::new(amount, period).unwrap())
}

pub(crate) fn limit(name: &str, algorithm: Algorithm, amount: u64, period: Span) -> Limit {
    builder(name, amount, period).algorithm(algorithm).build().unwrap()
}

/// Asks; the store must be there.
pub(crate) async fn ask<'l>(store: &Redis, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
    let decision = store.decide(mode, charges).await;
    let decision = decision
        .unwrap_or_else(|error| panic!("{error}: {}", std::error::Error::source(&error).unwrap()));
    assert!(!decision.is_degraded());
    decision
}

/// The receipt of a decision of one charge.
pub(crate) fn receipt<'k, 'l: 'k>(
    decision: &mut Decision<'l>,
    key: &'k str,
) -> Option<Receipt<'k>> {
    decision.answers_mut().next().and_then(|answer| answer.take_receipt(key.into()))
}
