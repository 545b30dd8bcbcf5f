//! Leases that are lost or too small: the decision comes in time, and nothing is charged twice.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_core::{Charge, Limit, Mode, Span, Store};
use tollgate_redis::Redis;
use tollgate_servers::{ChaosProxy, Fault, Server, Way};

use crate::shop::{ask, builder, receipt, store};

/// A store behind a proxy, whose key `ann` is hot and has this much left; no script is unknown.
async fn hot(server: &Server, proxy: &ChaosProxy, limit: &Limit, left: u64) -> Redis {
    let straight = store(&server.url()).await;
    for mode in [Mode::UpTo, Mode::Charge] {
        let mut decision = ask(&straight, mode, &[Charge::new(limit, "bob")]).await;
        straight.give(receipt(&mut decision, "bob").unwrap(), 0).await.unwrap();
    }
    let rest = [Charge::new(limit, "ann").cost(limit.capacity() - left)];
    assert!(ask(&straight, Mode::Charge, &rest).await.is_allowed());
    let address = proxy.url().parse().unwrap();
    let deadline = Duration::from_millis(200);
    let store = Redis::builder(address).deadline(deadline).replicas(NonZeroU32::MIN).start();
    store.connected().await;
    // Refused or not, it was asked about.
    let first = [Charge::new(limit, "ann").cost(limit.lease() / 2)];
    let _ = store.decide(Mode::Charge, &first).await.unwrap();
    store
}

fn slow(proxy: &ChaosProxy, by: Duration) {
    proxy.inject(Way::Replies, Fault::Delay { by, jitter: Duration::ZERO });
}

#[tokio::test]
async fn a_lease_whose_reply_is_lost_may_have_been_charged() {
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 1);
    let limit = builder("api", 100, Span::HOUR).lease(50).build().unwrap();
    let store = hot(&server, &proxy, &limit, 100).await;
    slow(&proxy, Duration::from_secs(1));
    let error = store.decide(Mode::Charge, &[Charge::new(&limit, "ann")]).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
}

#[tokio::test]
async fn a_refusal_waits_for_no_second_reply() {
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 1);
    let limit = builder("api", 100, Span::HOUR).lease(50).build().unwrap();
    let store = hot(&server, &proxy, &limit, 3).await;
    slow(&proxy, Duration::from_millis(150));
    let begun = Instant::now();
    let decision = store.decide(Mode::Charge, &[Charge::new(&limit, "ann").cost(5)]).await;
    assert!(begun.elapsed() < Duration::from_millis(280), "{:?}", begun.elapsed());
    assert!(decision.unwrap().is_denied());
    proxy.inject(Way::Replies, Fault::None);
    let left = ask(&store, Mode::Peek, &[Charge::new(&limit, "ann").cost(0)]).await.remaining();
    assert_eq!(left, 3, "what was leased was given back");
}
