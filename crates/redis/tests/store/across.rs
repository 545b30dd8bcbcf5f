//! Limits whose keys lie in several slots of a cluster.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tollgate_conformance::Random;
use tollgate_core::{Algorithm, Charge, Limit, Mode, Span, Store};
use tollgate_redis::Redis;
use tollgate_servers::{Cluster, Server};

use crate::shop::{ask, limit, receipt, store, url_of};

/// Windows, since they count exactly, so long that none ends.
fn exact(name: &str, amount: u64) -> Limit {
    let algorithm = Algorithm::FixedWindow(tollgate_core::Anchor::FirstHit);
    limit(name, algorithm, amount, Span::from_secs(1_000_000))
}

async fn used(store: &Redis, limit: &Limit, key: &str) -> u64 {
    let peek = [Charge::new(limit, key).cost(0)];
    limit.capacity() - ask(store, Mode::Peek, &peek).await.remaining()
}

/// `ROUNDS` of 16 callers each ask for one client, its team and the whole, at random.
async fn many_decisions(cluster: &Cluster, decisions: u64) -> String {
    const CALLERS: u64 = 16;
    let store = store(&url_of(cluster, "")).await;
    let client = exact("client", decisions / 40);
    let team = exact("team", decisions / 5);
    let whole = exact("whole", decisions / 3);
    let (clients, teams) = (20, 4);
    let name = |kind: &str, n: u64| format!("{kind}{n}");
    let spent: Vec<AtomicU64> = (0..clients).map(|_| AtomicU64::new(0)).collect();
    let team_spent: Vec<AtomicU64> = (0..teams).map(|_| AtomicU64::new(0)).collect();
    let whole_spent = AtomicU64::new(0);
    let callers = (0..CALLERS).map(async |caller| {
        let mut random = Random::of(caller);
        for _ in 0..decisions / CALLERS {
            let (c, t) = (random.below(clients), random.below(teams));
            let (of_client, of_team) = (name("client", c), name("team", t));
            let cost = random.between(1, 2);
            let mut charges = vec![
                Charge::new(&whole, "all").cost(cost),
                Charge::new(&team, of_team.as_str()).cost(cost),
                Charge::new(&client, of_client.as_str()).cost(cost),
            ];
            charges.rotate_left(random.below(3) as usize);
            let mode = *random.one_of(&[Mode::Charge, Mode::Charge, Mode::Charge, Mode::Peek]);
            let mut decision = ask(&store, mode, &charges).await;
            if decision.is_denied() || mode == Mode::Peek {
                assert!(decision.answers().all(|answer| answer.charged() == 0));
                continue;
            }
            assert!(decision.answers().all(|answer| answer.charged() == cost));
            if random.once_in(8) {
                for (answer, charge) in decision.answers_mut().zip(&charges) {
                    let receipt = answer.take_receipt(charge.key).unwrap().beside(charge.home);
                    store.give(receipt, 0).await.unwrap();
                }
                continue;
            }
            spent[c as usize].fetch_add(cost, Ordering::Relaxed);
            team_spent[t as usize].fetch_add(cost, Ordering::Relaxed);
            whole_spent.fetch_add(cost, Ordering::Relaxed);
        }
    });
    join_all(callers).await;
    // Every refusal and every refund has given all back: what is used is what was admitted.
    for n in 0..clients {
        let spent = spent[n as usize].load(Ordering::Relaxed);
        assert_eq!(used(&store, &client, &name("client", n)).await, spent, "client {n}");
        assert!(spent <= client.capacity());
    }
    for n in 0..teams {
        let spent = team_spent[n as usize].load(Ordering::Relaxed);
        assert_eq!(used(&store, &team, &name("team", n)).await, spent, "team {n}");
        assert!(spent <= team.capacity());
    }
    let spent = whole_spent.load(Ordering::Relaxed);
    assert_eq!(used(&store, &whole, "all").await, spent);
    assert!(spent <= whole.capacity() && spent > whole.capacity() * 9 / 10, "{spent}");
    let faults = store.stats().faults;
    assert!(faults.iter().all(|(_, count)| *count == 0), "{faults:?}");
    for node in cluster.nodes() {
        let errors = node.command(&["INFO", "errorstats"]).text();
        assert!(!errors.contains("CROSSSLOT"), "{errors}");
    }
    format!("admitted={spent} of={} crossslot=0 faults=0 not-given-back=0", whole.capacity())
}

/// T07, T36.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_is_charged_or_none_whatever_slots_the_keys_lie_in() {
    many_decisions(&Server::redis().cluster(0), 20_000).await;
}

/// The same at length: `scripts/across` runs it and keeps what it found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn all_is_charged_or_none_in_a_million_decisions() {
    for (name, server) in [("redis", Server::redis()), ("valkey", Server::valkey())] {
        let begun = tokio::time::Instant::now();
        let told = many_decisions(&server.cluster(0), 500_000).await;
        println!("across {name}: decisions=500000 {told} seconds={}", begun.elapsed().as_secs());
    }
}

/// What one slot was charged is given back although the deadline passes before that is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_charged_is_given_back_even_after_the_deadline() {
    let cluster = Server::redis().cluster(0);
    let straight = store(&url_of(&cluster, "")).await;
    let (narrow, wide) = (exact("narrow", 5_000), exact("wide", 10_000));
    let full = [Charge::new(&wide, "all").cost(10_000)];
    assert!(ask(&straight, Mode::Charge, &full).await.is_allowed());
    let mut denied = Vec::new();
    // Deadlines from too short for anything to long enough for all.
    for deadline in (1..=20).map(|n| Duration::from_micros(150 * n)) {
        let address = url_of(&cluster, "").parse().unwrap();
        let store = Redis::builder(address).deadline(deadline).start();
        store.connected().await;
        for n in 0..20 {
            let key = format!("ann{n}-{deadline:?}");
            let charges = [Charge::new(&narrow, key.as_str()), Charge::new(&wide, "all")];
            // An error leaves unknown what was charged, and that is not given back.
            if let Ok(decision) = store.decide(Mode::Charge, &charges.map(|c| c.cost(n + 1))).await
            {
                assert!(decision.is_denied());
                denied.push(key);
            }
        }
    }
    assert!(denied.len() > 20, "{}", denied.len());
    let given_back = async {
        for key in &denied {
            while used(&straight, &narrow, key).await > 0 {}
        }
    };
    let given_back = tokio::time::timeout(Duration::from_secs(3), given_back).await;
    assert!(given_back.is_ok(), "of {} refused not all is given back", denied.len());
}

/// Row 25: slots that move away and back under load.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_that_move_lose_nothing_and_charge_nothing_twice() {
    let cluster = Server::redis().cluster(0);
    let store = store(&url_of(&cluster, "")).await;
    let limit = exact("api", 1_000_000);
    let (other, third) = (exact("other", 1_000_000), exact("third", 1_000_000));
    let done = std::sync::atomic::AtomicBool::new(false);
    let admitted = AtomicU64::new(0);
    let callers = join_all((0..8).map(async |_| {
        while !done.load(Ordering::Relaxed) {
            // Several keys of one slot, so that for a moment both sides hold some.
            let charges = [&limit, &other, &third].map(|limit| Charge::new(limit, "ann"));
            let mut decision = ask(&store, Mode::Charge, &charges).await;
            if let Some(receipt) = receipt(&mut decision, "ann")
                && admitted.fetch_add(1, Ordering::Relaxed).is_multiple_of(5)
            {
                store.give(receipt, 2).await.unwrap();
            }
        }
    }));
    std::thread::scope(|scope| {
        let moving = scope.spawn(|| {
            let slot = cluster.slot_of("tollgate:{ann}");
            for _ in 0..10 {
                let to = (cluster.owner(slot) + 1) % 3;
                let before = admitted.load(Ordering::Relaxed);
                cluster.migrate(slot, to);
                while admitted.load(Ordering::Relaxed) < before + 50 {
                    std::thread::yield_now();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(callers));
        done.store(true, Ordering::Relaxed);
        moving.join().unwrap();
    });
    let admitted = admitted.load(Ordering::Relaxed);
    assert_eq!(used(&store, &other, "ann").await, admitted);
    assert_eq!(used(&store, &third, "ann").await, admitted);
    assert_eq!(used(&store, &limit, "ann").await, admitted + admitted.div_ceil(5));
}
