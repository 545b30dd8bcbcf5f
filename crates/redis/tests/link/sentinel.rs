//! Servers that change places, as their sentinels say.

use std::time::Duration;

use redis::Value;
use tollgate_redis::{Class, Ran};
use tollgate_servers::{Sentinel, Server};

use crate::asking::{Told, assert_fault, start};

fn url(all: &Sentinel, group: &str) -> String {
    let hosts: Vec<_> =
        all.sentinels().iter().map(|one| format!("127.0.0.1:{}", one.port())).collect();
    format!("redis-sentinel://{}/{group}", hosts.join(","))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_is_followed_within_a_second_of_the_promotion() {
    let all = Server::redis().sentinel(3);
    let mut asked = start(&url(&all, all.name()));
    asked.until(Told::Connected).await;
    assert_eq!(asked.ask(&["SET", "k", "1"]).await.unwrap(), Value::Okay);
    let replica = all.replica();
    all.primary().kill();
    tokio::task::block_in_place(|| all.promoted(replica));
    let again = asked.until_answered(&["SET", "k", "2"]).await;
    assert!(again < Duration::from_secs(1), "{again:?}");
    assert_eq!(replica.command(&["GET", "k"]).text(), "2");
    assert_eq!(asked.link.state()[0].lost, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ordered_failover_turns_a_refusal_into_a_new_connection() {
    let all = Server::redis().sentinel(1);
    let mut asked = start(&url(&all, all.name()));
    asked.until(Told::Connected).await;
    asked.ask(&["SET", "k", "1"]).await.unwrap();
    tokio::task::block_in_place(|| all.failover());
    let again = asked.until_answered(&["SET", "k", "2"]).await;
    assert!(again < Duration::from_secs(1), "{again:?}");
    assert_eq!(all.primary().command(&["GET", "k"]).text(), "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_nobody_knows_is_told_and_a_dead_sentinel_is_passed_over() {
    let all = Server::redis().sentinel(2);
    let mut asked = start(&url(&all, "other"));
    asked.until(Told::Unreachable(Class::NoPrimary)).await;
    assert_fault(asked.ask(&["PING"]).await, Class::NoPrimary, Ran::Never);

    all.sentinels()[0].kill();
    let mut asked = start(&url(&all, all.name()));
    asked.until(Told::Connected).await;
}
