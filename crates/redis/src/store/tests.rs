use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tollgate_conformance::{Awaited, suite_of};
use tollgate_core::ManualClock;
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
