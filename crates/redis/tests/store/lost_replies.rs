//! Replies that never come, and callers that go before they do.

use std::sync::Arc;
use std::time::Duration;

use tollgate_conformance::Random;
use tollgate_core::{Algorithm, Charge, Mode, Span, Store};
use tollgate_redis::{Address, Redis};
use tollgate_servers::{ChaosProxy, Fault, Server, Way};

use crate::shop::{LONG, ask, limit, store};

/// T34: what was sent was charged once, whatever became of the reply, and nothing is repeated.
#[tokio::test]
async fn b108_a_charge_whose_reply_is_lost_is_made_once_and_never_again() {
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 34);
    let address: Address = proxy.url().parse().unwrap();
    let deadline = Duration::from_millis(30);
    let store = Redis::builder(address).deadline(deadline).start();
    let straight = crate::shop::store(&server.url()).await;
    let limit = limit("api", Algorithm::SlidingLog, 1_000, Span::HOUR);
    let (mut sent, mut told, mut unknown) = (0, 0, 0);
    for fault in [Fault::Drop, Fault::Cut(0), Fault::Cut(5), Fault::Garbage] {
        for _ in 0..3 {
            // Warm, so that the script is known and one call is one charge.
            let warm = async {
                while store.decide(Mode::Peek, &[Charge::new(&limit, "ann")]).await.is_err() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            tokio::time::timeout(LONG, warm).await.expect("an answer, though replies were lost");
            proxy.inject(Way::Replies, fault.clone());
            match store.decide(Mode::Charge, &[Charge::new(&limit, "ann")]).await {
                Ok(_) => (sent, told) = (sent + 1, told + 1),
                Err(error) if error.is_timeout() => (sent, unknown) = (sent + 1, unknown + 1),
                Err(error) => assert!(error.is_unavailable(), "it was never sent"),
            }
            proxy.heal();
        }
    }
    assert!(unknown >= 8, "{unknown} unknown, {told} told");
    // Those that were on their way have come by now, since this one comes behind them.
    let charged = ask(&straight, Mode::Peek, &[Charge::new(&limit, "ann").cost(0)]).await;
    assert_eq!(1_000 - charged.remaining(), sent, "{unknown} unknown, {told} told");
}

/// T35: of calls that are given up at random none gets the reply of another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_gives_up_leaves_its_reply_to_nobody() {
    const CALLERS: u64 = 64;
    const CALLS: u64 = 100_000;
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    // Each caller has a capacity of its own, so that any other's reply would show.
    let limits: Arc<Vec<_>> = Arc::new(
        (0..CALLERS)
            .map(|n| {
                let name = format!("of {n}");
                limit(&name, Algorithm::FixedWindow(Default::default()), 1_000_000 + n, Span::DAY)
            })
            .collect(),
    );
    let callers: Vec<_> = (0..CALLERS)
        .map(|n| {
            let (store, limits) = (Arc::clone(&store), Arc::clone(&limits));
            tokio::spawn(async move {
                let mut random = Random::of(n);
                let limit = &limits[n as usize];
                let (mut asked, mut last) = (0, u64::MAX);
                for _ in 0..CALLS / CALLERS {
                    let charges = [Charge::new(limit, "ann")];
                    let call = store.decide(Mode::Charge, &charges);
                    asked += 1;
                    let decision = if random.below(10) < 3 {
                        let patience = Duration::from_micros(random.below(1_500));
                        match tokio::time::timeout(patience, call).await {
                            Ok(decision) => decision.unwrap(),
                            Err(_) => continue,
                        }
                    } else {
                        call.await.unwrap()
                    };
                    let left = decision.remaining();
                    assert!(left < last, "it falls with every charge");
                    assert!(left >= limit.capacity() - asked, "nobody else charges it");
                    last = left;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}
