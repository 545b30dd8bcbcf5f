//! A cluster whose slots move and whose servers die.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use redis::Value;
use tokio::time::Instant;
use tollgate_redis::{Class, Fault, Link, Ran, Slots, slot};
use tollgate_servers::{Cluster, Server};

use crate::asking::{LONG, command, pause, soon, start};

fn url(cluster: &Cluster) -> String {
    let hosts: Vec<_> =
        cluster.nodes().iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
    format!("redis-cluster://{}", hosts.join(","))
}

async fn ask(link: &Link, key: &str, words: &[&str]) -> Result<Value, Fault> {
    link.call(slot(key.as_bytes()), &command(words), Instant::now() + LONG).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_key_finds_its_server_and_slots_are_counted_alike() {
    let cluster = Server::redis().cluster(0);
    let asked = start(&url(&cluster));
    soon(asked.link.connected()).await;
    assert_eq!(asked.link.slots(), Slots::Many);
    assert_eq!(asked.link.state().len(), 3);
    for i in 0..300 {
        let key = format!("k{i}");
        assert_eq!(slot(key.as_bytes()), cluster.slot_of(&key));
        assert_eq!(ask(&asked.link, &key, &["INCR", &key]).await.unwrap(), Value::Int(1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moving_slot_is_followed_and_nothing_is_counted_twice_or_lost() {
    let cluster = Server::redis().cluster(0);
    let asked = start(&url(&cluster));
    soon(asked.link.connected()).await;
    let slot = cluster.slot_of("{t}");
    let (from, to) = (cluster.owner(slot), (cluster.owner(slot) + 1) % 3);
    let link = &asked.link;
    // Two keys at once, as a decision about two limits.
    let both = ["EVAL", "return {redis.call('incr', KEYS[1]), redis.call('incr', KEYS[2])}", "2"];
    let count = [&both[..], &["{t}a", "{t}b"]].concat();
    let mut expected = 0;
    let mut once = async || {
        expected += 1;
        let counted = Value::Array(vec![Value::Int(expected), Value::Int(expected)]);
        assert_eq!(ask(link, "{t}", &count).await.unwrap(), counted);
    };
    once().await;
    for to in [to, from, to] {
        tokio::task::block_in_place(|| cluster.open_slot(slot, to));
        once().await;
        tokio::task::block_in_place(|| cluster.move_keys(slot, to));
        // ASK.
        once().await;
        once().await;
        tokio::task::block_in_place(|| cluster.close_slot(slot, to));
        // MOVED.
        once().await;
        once().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_moves_under_load_lose_no_call_and_count_none_twice() {
    let cluster = Server::redis().cluster(0);
    let asked = start(&url(&cluster));
    soon(asked.link.connected()).await;
    let slot = cluster.slot_of("{t}");
    let from = cluster.owner(slot);
    let (moving, made) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
    let callers: Vec<_> = (0..8)
        .map(|caller| {
            let (link, moving, made) =
                (Arc::clone(&asked.link), Arc::clone(&moving), Arc::clone(&made));
            tokio::spawn(async move {
                let key = format!("{{t}}{caller}");
                let mut counted = 0;
                while moving.load(Ordering::Relaxed) {
                    counted += 1;
                    let reply = ask(&link, "{t}", &["INCR", &key]).await;
                    assert_eq!(reply.unwrap(), Value::Int(counted));
                    made.fetch_add(1, Ordering::Relaxed);
                    pause().await;
                }
            })
        })
        .collect();
    // More than ten where others take the machine.
    tokio::task::block_in_place(|| {
        for n in 0.. {
            if n >= 10 && made.load(Ordering::Relaxed) > 200 {
                break;
            }
            cluster.migrate(slot, (from + 1 + n) % 3);
        }
    });
    moving.store(false, Ordering::Relaxed);
    for caller in callers {
        caller.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_on_both_sides_of_a_move_are_waited_for_no_longer_than_allowed() {
    let cluster = Server::redis().cluster(0);
    let asked = start(&url(&cluster));
    soon(asked.link.connected()).await;
    let slot = cluster.slot_of("{t}");
    let to = (cluster.owner(slot) + 1) % 3;
    ask(&asked.link, "{t}", &["SET", "{t}a", "1"]).await.unwrap();
    tokio::task::block_in_place(|| cluster.open_slot(slot, to));
    let fault = ask(&asked.link, "{t}", &["MGET", "{t}a", "{t}none"]).await.unwrap_err();
    assert_eq!((fault.class(), fault.ran()), (Class::TryAgain, Ran::Never));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_server_fails_its_own_slots_and_its_replica_takes_them_over() {
    let cluster = Server::redis().set("cluster-node-timeout", "500").cluster(1);
    let asked = start(&url(&cluster));
    soon(asked.link.connected()).await;
    let keys: Vec<_> = (0..).map(|i| format!("k{i}")).take(60).collect();
    let dead = |key: &&String| cluster.owner(slot(key.as_bytes())) == 0;
    let (lost, kept): (Vec<_>, Vec<_>) = keys.iter().partition(dead);
    cluster.nodes()[0].kill();
    for key in &kept {
        ask(&asked.link, key, &["INCR", key]).await.unwrap();
    }
    soon(async {
        while ask(&asked.link, lost[0], &["SET", lost[0], "v"]).await.is_err() {
            pause().await;
        }
    })
    .await;
    for key in &lost {
        ask(&asked.link, key, &["INCR", &format!("{{{key}}}n")]).await.unwrap();
    }
    drop(asked);
    // Its own connection, and those to the other nodes, which are no clients.
    let clients = || cluster.nodes()[1].command(&["CLIENT", "LIST", "TYPE", "normal"]).text();
    soon(async {
        while clients().lines().count() > 1 {
            pause().await;
        }
    })
    .await;
}
