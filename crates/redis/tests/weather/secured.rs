//! TLS where there are several servers: every one is met over it, also after they changed places.

use std::path::PathBuf;

use tollgate_core::{Charge, Limit, Mode, Quota, Store};
use tollgate_redis::{Address, Prefix, Redis, Severity};
use tollgate_servers::{Clients, Server};

use crate::shop::{LONG, ask};

fn limit(name: &str) -> Limit {
    Limit::new(name, Quota::per_hour(1_000)).unwrap()
}

/// The servers at these ports, known by this authority.
fn address(kind: &str, ports: &[u16], path: &str, authority: PathBuf) -> Address {
    let hosts: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let address: Address = format!("{kind}://{}{path}", hosts.join(",")).parse().unwrap();
    address.ca_file(authority).unwrap()
}

async fn connected(address: &Address) -> Redis {
    let store = Redis::builder(address.clone()).deadline(LONG).start();
    tokio::time::timeout(LONG, store.connected()).await.expect("a connection");
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_asked_over_tls_from_any_of_its_servers_on() {
    let cluster = Server::redis().tls(Clients::Anonymous).cluster(0);
    let first = &cluster.nodes()[0];
    let authority = first.certificates().authority();
    let address = address("rediss-cluster", &[first.tls_port()], "", authority);
    let store = connected(&address).await;
    let (limit, other) = (limit("api"), limit("other"));
    for n in 0..50 {
        let (key, another) = (format!("ann{n}"), format!("bob{n}"));
        let charges = [Charge::new(&limit, key.as_str()), Charge::new(&other, another.as_str())];
        assert!(ask(&store, Mode::Charge, &charges).await.is_allowed());
    }
    assert_eq!(store.stats().servers.len(), 3);
    let found = Redis::check(&address, &Prefix::default()).await;
    assert!(found[0].severity() < Severity::Error, "{}", found[0]);
    // A slot that has moved, with nothing in it, is followed over TLS.
    let slot = cluster.slot_of("tollgate:{:eve}");
    let to = (cluster.owner(slot) + 1) % 3;
    tokio::task::block_in_place(|| {
        cluster.open_slot(slot, to);
        cluster.close_slot(slot, to);
    });
    let charges = [Charge::new(&limit, "eve")];
    assert!(ask(&store, Mode::Charge, &charges).await.is_allowed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_and_the_servers_they_name_are_asked_over_tls() {
    let all = Server::redis().tls(Clients::Anonymous).sentinel(1);
    let authority = all.primary().certificates().authority();
    let ports: Vec<_> = all.sentinels().iter().map(Server::tls_port).collect();
    let address = address("rediss-sentinel", &ports, &format!("/{}", all.name()), authority);
    let store = connected(&address).await;
    let limit = limit("api");
    let charges = [Charge::new(&limit, "ann")];
    assert!(ask(&store, Mode::Charge, &charges).await.is_allowed());
    tokio::task::block_in_place(|| all.failover());
    let again = async {
        while !store.decide(Mode::Charge, &charges).await.is_ok_and(|told| !told.is_degraded()) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LONG, again).await.expect("the new primary is asked");
    let keys = all.primary().command(&["KEYS", "tollgate:*ann*"]);
    assert_eq!(keys.items().len(), 1, "{keys:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_each_certificate_is_known_before_it_comes() {
    let server = Server::redis().tls(Clients::Certified).start();
    let days = std::time::Duration::from_secs(13 * 24 * 3_600);
    let now = std::time::SystemTime::now();
    server.renew_certificate(days);
    let certificates = server.certificates();
    let address = address("rediss", &[server.tls_port()], "", certificates.authority());
    let address =
        address.client_certificate(certificates.client(), certificates.client_key()).unwrap();
    let stats = connected(&address).await.stats();
    let left = stats.servers[0].certificate_ends.unwrap().duration_since(now).unwrap();
    // In whole seconds.
    assert!(left.abs_diff(days) < std::time::Duration::from_secs(10), "{left:?}");
    // Two thousand years of its own.
    let own = stats.own_certificate_ends.unwrap().duration_since(now).unwrap();
    assert!(own > days * 1_000, "{own:?}");
}
