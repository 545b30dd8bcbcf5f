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
    let mut store = Redis::builder(address).deadline(Duration::from_secs(10)).start();
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
