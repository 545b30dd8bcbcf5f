//! Decisions while the server cannot be asked: what each limit has said.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::{
    Algorithm, Anchor, Charge, Limit, ManualClock, Mode, OnError, Source, Span, Store, Tick,
    Verdict,
};
use tollgate_redis::{Address, Redis};
use tollgate_servers::{Cluster, Server};

use crate::shop::{builder, url_of};

const WINDOW: Algorithm = Algorithm::FixedWindow(Anchor::FirstHit);

fn on_error(name: &str, amount: u64, on_error: OnError) -> Limit {
    let limit = builder(name, amount, Span::from_secs(1_000_000)).algorithm(WINDOW);
    limit.on_error(on_error).build().unwrap()
}

/// A store of two replicas with a fallback.
fn start(url: &str) -> Redis {
    let address: Address = url.parse().unwrap();
    let fallback = tollgate_conformance::Reference::new(ManualClock::at(Tick::EPOCH));
    Redis::builder(address)
        .replicas(NonZeroU32::new(2).unwrap())
        .fallback(Arc::new(fallback))
        .deadline(Duration::from_secs(2))
        .start()
}

/// An error is no refusal, and what was not asked has no numbers.
#[tokio::test]
async fn b117_b118_without_a_server_each_limit_does_as_it_said() {
    let server = Server::redis().start();
    server.kill();
    let store = start(&server.url());
    let local = on_error("local", 10, OnError::Local);
    let deny = on_error("deny", 10, OnError::Deny);
    let allow = on_error("allow", 10, OnError::Allow);
    // This instance's half of ten, and not one more.
    for n in 0..8 {
        let decision = store.decide(Mode::Charge, &[Charge::new(&local, "ann")]).await.unwrap();
        assert_eq!((decision.is_allowed(), decision.is_degraded()), (n < 5, true), "{n}");
        assert!(decision.remaining() <= 5);
    }
    // Whoever asks for a limit that denies is told of an error, and nothing else is charged for it.
    for n in 0..20 {
        let key = format!("bob{}", n % 2);
        let both = [Charge::new(&local, key.as_str()), Charge::new(&deny, "bob")];
        let error = store.decide(Mode::Charge, &both).await.unwrap_err();
        assert!(error.is_unavailable());
    }
    for key in ["bob0", "bob1"] {
        let peek = store.decide(Mode::Peek, &[Charge::new(&local, key)]).await.unwrap();
        assert_eq!(peek.remaining(), 4, "{key} was charged for an error");
    }
    let decision = store.decide(Mode::Charge, &[Charge::new(&allow, "cid")]).await.unwrap();
    assert!(decision.is_allowed() && decision.is_degraded() && decision.decisive().is_none());
    // One that never passes is refused as ever, and not an error.
    let dear = [Charge::new(&deny, "dan").cost(11)];
    let decision = store.decide(Mode::Charge, &dear).await.unwrap();
    assert_eq!(decision.verdict(), Verdict::Never);
    // One that only the whole limit could admit is no refusal either.
    let dear = [Charge::new(&local, "dan").cost(6)];
    assert!(store.decide(Mode::Charge, &dear).await.is_err());
    // What only watches blocks nobody.
    let watched = [Charge::new(&deny, "eva").shadow()];
    assert!(store.decide(Mode::Charge, &watched).await.unwrap().is_allowed());
}

#[tokio::test]
async fn what_is_left_of_a_share_is_taken_also_beside_a_limit_that_never_passes() {
    let server = Server::redis().start();
    server.kill();
    let store = start(&server.url());
    let (local, never) =
        (on_error("local", 10, OnError::Local), on_error("never", 0, OnError::Local));
    let watched = Charge::new(&never, "ann").cost(9).shadow();
    let charges = [Charge::new(&local, "ann").cost(9), watched];
    let decision = store.decide(Mode::UpTo, &charges).await.unwrap();
    assert_eq!((decision.is_allowed(), decision.granted()), (true, 5));
}

/// When the server is back its budgets count again, and those of the meantime do not.
#[tokio::test]
async fn b119_a_server_that_is_back_is_asked_within_a_second() {
    let server = Server::redis().start();
    let store = start(&server.url());
    store.connected().await;
    let limit = on_error("local", 10, OnError::Local);
    let charges = [Charge::new(&limit, "ann")];
    let decide = async || store.decide(Mode::Charge, &charges).await.unwrap();
    assert!(!decide().await.is_degraded());
    server.kill();
    let mut alone = decide().await;
    while !alone.is_degraded() {
        alone = decide().await;
    }
    let receipt = alone.answers_mut().next().unwrap().take_receipt("ann".into()).unwrap();
    assert_eq!(receipt.source(), Source::Share(NonZeroU32::new(2).unwrap()));
    server.start();
    let begun = tokio::time::Instant::now();
    while decide().await.is_degraded() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let before = decide().await.remaining();
    // It is given back where it was charged, not to the server.
    store.give(receipt, 0).await.unwrap();
    assert_eq!(decide().await.remaining(), before - 1);
}

/// Two keys that lie on different servers of a cluster.
fn apart(cluster: &Cluster) -> (String, usize, String, usize) {
    let owner = |key: &str| cluster.owner(cluster.slot_of(&format!("tollgate:{{{key}}}")));
    let (first, at) = ("ann".to_owned(), owner("ann"));
    let other = (0..).map(|n| format!("bob{n}")).find(|key| owner(key) != at).unwrap();
    let there = owner(&other);
    (first, at, other, there)
}

/// Row 24: one server of three is lost, and only what it holds is decided alone.
#[tokio::test]
async fn half_lost_is_half_alone_and_what_the_other_half_refuses_charges_nothing_here() {
    let cluster = Server::redis().set("cluster-require-full-coverage", "no").cluster(0);
    let (here, _, lost, node) = apart(&cluster);
    let store = start(&url_of(&cluster, ""));
    store.connected().await;
    let kept = on_error("kept", 3, OnError::Deny);
    let local = on_error("local", 20, OnError::Local);
    let deny = on_error("deny", 20, OnError::Deny);
    cluster.nodes()[node].kill();
    let both = [Charge::new(&kept, here.as_str()), Charge::new(&local, lost.as_str())];
    for n in 0..6 {
        let decision = store.decide(Mode::Charge, &both).await.unwrap();
        assert_eq!(decision.is_allowed(), n < 3, "{n}");
        assert!(decision.is_degraded());
    }
    let peek = async |charge: Charge<'_, '_>| {
        store.decide(Mode::Peek, &[charge]).await.unwrap().remaining()
    };
    // Ten are this instance's; three were charged, and one is what the peek asks for.
    assert_eq!(peek(Charge::new(&local, lost.as_str())).await, 6);
    // An error charges nothing for good on the server that is well.
    let other = on_error("other", 50, OnError::Deny);
    for _ in 0..10 {
        let both = [Charge::new(&other, here.as_str()), Charge::new(&deny, lost.as_str())];
        assert!(store.decide(Mode::Charge, &both).await.is_err());
    }
    let given_back = async { while peek(Charge::new(&other, here.as_str()).cost(0)).await < 50 {} };
    tokio::time::timeout(Duration::from_secs(3), given_back).await.expect("all is given back");
}
