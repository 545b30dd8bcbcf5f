use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tollgate_conformance::{
    Awaited, CASES, Random, Reference, Subject, Told, case, suite_of, traces,
};
use tollgate_core::{
    Algorithm, Anchor, Calendar, Charge, Clock, Limit, LocalStore, ManualClock, Mode, Quota, Span,
    Store, Tick,
};
use tollgate_servers::Server;

use super::Redis;

/// A store on an empty server whose clock shows what this one does.
fn store_on(server: &Server, runtime: &Runtime, clock: ManualClock) -> Redis {
    server.command(&["FLUSHALL"]);
    let _inside = runtime.enter();
    let address = server.url().parse().unwrap();
    let mut store =
        Redis::builder(address).deadline(Duration::from_secs(10)).replicas(NonZeroU32::MIN).start();
    Arc::get_mut(&mut store.caller).unwrap().clock = Some(clock);
    runtime.block_on(store.connected());
    store
}

fn passes_the_suite(server: &Server) {
    let runtime = Runtime::new().unwrap();
    suite_of(|clock| {
        Awaited::with(store_on(server, &runtime, clock), |task| runtime.block_on(task))
    });
}

#[test]
fn decisions_on_redis_equal_the_references() {
    passes_the_suite(&Server::redis().start());
}

#[test]
fn decisions_on_valkey_equal_the_references() {
    passes_the_suite(&Server::valkey().start());
}

#[test]
fn faults_of_real_limiters_are_none_of_it() {
    let runtime = Runtime::new().unwrap();
    for server in [Server::redis().start(), Server::valkey().start()] {
        let make = |clock| {
            Awaited::with(store_on(&server, &runtime, clock), |task| runtime.block_on(task))
        };
        // A simulated second of millions of calls is for stores that answer in nanoseconds.
        CASES.iter().filter(|name| !name.starts_with("b07_")).for_each(|name| case(name, make));
        traces(make);
    }
}

/// The server's clock passes from window to window, and steps back, between calls.
#[test]
fn windows_of_a_calendar_equal_the_references() {
    let (random, mut edge) = (&mut Random::of(11), Tick::EPOCH);
    let edges = (0..400).map(|_| {
        edge = edge.after(Span::from_secs(random.between(20 * 3_600, 30 * 3_600)));
        edge
    });
    let calendar = Calendar::new("uneven", edges.collect::<Vec<_>>()).unwrap();
    let calendar: &'static Calendar = Box::leak(Box::new(calendar));
    let daily = Limit::builder("daily", Quota::per_day(9));
    let daily = daily.algorithm(Algorithm::FixedWindow(Anchor::Calendar(calendar))).build();
    let (daily, other) = (daily.unwrap(), Limit::new("rate", Quota::per_minute(20)).unwrap());
    let runtime = Runtime::new().unwrap();
    for server in [Server::redis().start(), Server::valkey().start()] {
        let clock = ManualClock::at(Tick::from_micros(1 << 44));
        let store = store_on(&server, &runtime, clock.clone());
        let store = Awaited::with(store, |task| runtime.block_on(task));
        let reference = Reference::new(clock.clone());
        let mut receipts = Vec::new();
        for step in 0..4_000 {
            if random.once_in(40) {
                let back = random.of_any_size(38);
                clock.set(Tick::from_micros(clock.now().as_micros().saturating_sub(back)));
            }
            clock.advance(Span::from_micros(random.of_any_size(36)));
            let charge = Charge::new(&daily, "k").cost(random.between(1, 3));
            let charges = [charge, Charge::new(&other, "k")];
            let charges = &charges[..usize::try_from(random.between(1, 2)).unwrap()];
            let mode = *random.one_of(&[Mode::Charge, Mode::Charge, Mode::Peek, Mode::UpTo]);
            let mut ours = store.decide(mode, charges);
            let mut theirs = reference.decide_now(mode, charges);
            assert_eq!(Told::from(&ours), Told::from(&theirs), "step {step}");
            let both = ours.answers_mut().zip(theirs.answers_mut());
            receipts.extend(both.filter_map(|(ours, theirs)| {
                Some((ours.take_receipt("k".into())?, theirs.take_receipt("k".into())?))
            }));
            if random.once_in(10) && !receipts.is_empty() {
                let last = receipts.len() - 1;
                let nth = random.below(8).min(u64::try_from(last).unwrap());
                let (ours, theirs) = receipts.swap_remove(last - usize::try_from(nth).unwrap());
                let actual = random.below(4);
                store.give(ours, actual);
                reference.give_now(theirs, actual);
            }
        }
    }
}

/// Too long to be read in one piece: entries are read and written one by one.
#[test]
fn a_long_log_equals_the_references() {
    let (server, runtime) = (Server::redis().start(), Runtime::new().unwrap());
    let clock = ManualClock::at(Tick::from_micros(1 << 50));
    let store = store_on(&server, &runtime, clock.clone());
    let store = Awaited::with(store, |task| runtime.block_on(task));
    let reference = Reference::new(clock.clone());
    let log = Limit::builder("long", Quota::per_second(900)).algorithm(Algorithm::SlidingLog);
    let (limit, mut random) = (log.build().unwrap(), Random::of(3));
    let mut receipts = Vec::new();
    for step in 0..6_000 {
        if random.once_in(200) {
            let back = random.below(90_000_000);
            clock.set(Tick::from_micros(clock.now().as_micros() - back));
        }
        clock.advance(Span::from_micros(random.below(2_000)));
        let charges = [Charge::new(&limit, "k").cost(if random.once_in(50) { 9 } else { 1 })];
        let mode = *random.one_of(&[Mode::Charge, Mode::Charge, Mode::Charge, Mode::UpTo]);
        let mut ours = store.decide(mode, &charges);
        let mut theirs = reference.decide_now(mode, &charges);
        assert_eq!(Told::from(&ours), Told::from(&theirs), "step {step}");
        let both = ours.answers_mut().zip(theirs.answers_mut());
        receipts.extend(both.filter_map(|(ours, theirs)| {
            Some((ours.take_receipt("k".into())?, theirs.take_receipt("k".into())?))
        }));
        if random.once_in(10) && !receipts.is_empty() {
            let last = u64::try_from(receipts.len()).unwrap();
            let (ours, theirs) = receipts.swap_remove(usize::try_from(random.below(last)).unwrap());
            let actual = random.below(3);
            store.give(ours, actual);
            reference.give_now(theirs, actual);
        }
    }
}

#[test]
fn instances_are_counted_by_the_server() {
    let (server, runtime) = (Server::redis().start(), Runtime::new().unwrap());
    let _inside = runtime.enter();
    let stores: Vec<Redis> =
        (0..3).map(|_| Redis::builder(server.url().parse().unwrap()).start()).collect();
    runtime.block_on(async {
        // Whoever shows itself last counts all.
        while !stores.iter().any(|store| store.replicas().get() == 3) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let left = server.command(&["PTTL", "tollgate:{instances}"]);
    assert!(matches!(left, tollgate_servers::Value::Integer(1..=16_000)), "{left:?}");
}

/// A cluster of which a server is away, or one that may not tell its map, is not connected to wholly.
#[test]
fn instances_are_counted_without_a_map() {
    let (server, runtime) = (Server::redis().start(), Runtime::new().unwrap());
    let _inside = runtime.enter();
    let address = format!("redis-cluster://127.0.0.1:{}", server.port());
    let stores = [(); 2].map(|()| Redis::builder(address.parse().unwrap()).start());
    runtime.block_on(async {
        while !stores.iter().any(|store| store.replicas().get() == 2) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

/// Two instances spend a leased budget as fast as they can.
#[test]
fn a_leased_budget_is_spent_once_and_seldom_asked_for() {
    let (server, runtime) = (Server::redis().start(), Runtime::new().unwrap());
    let _inside = runtime.enter();
    let limit = Limit::builder("all", Quota::per_hour(10_000)).lease(10).build().unwrap();
    let stores: Vec<Redis> = (0..2)
        .map(|_| {
            let builder = Redis::builder(server.url().parse().unwrap());
            builder.deadline(Duration::from_secs(5)).replicas(NonZeroU32::MIN).start()
        })
        .collect();
    let began = tokio::time::Instant::now();
    let admitted = runtime.block_on(async {
        let spend = stores.iter().map(|store| async {
            store.connected().await;
            let mut admitted = 0;
            for _ in 0..10_000 {
                let charges = [Charge::new(&limit, "everyone")];
                let decision = store.decide(Mode::Charge, &charges).await.unwrap();
                admitted += u64::from(decision.is_allowed());
                if decision.is_denied() {
                    break;
                }
            }
            admitted
        });
        futures_util::future::join_all(spend).await.into_iter().sum::<u64>()
    });
    // Whatever is leased was charged; at the end each instance may hold less than it costs: nothing.
    let leaked = began.elapsed().as_secs() * 10_000 / 3_600 + 1;
    assert!((10_000..=10_000 + leaked).contains(&admitted), "{admitted}");
    let calls: u64 = stores.iter().map(|store| store.stats().latencies.iter().sum::<u64>()).sum();
    assert!(calls < 40, "{calls} calls");
}
