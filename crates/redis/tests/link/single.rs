//! One server that is absent, dies, freezes, forgets, and comes back.

use std::time::Duration;

use redis::Value;
use tokio::time::Instant;
use tollgate_core::breaker::{Breaker, Status};
use tollgate_redis::{Class, Options, Ran};
use tollgate_servers::{Port, Server};

use crate::asking::{SHORT, Told, assert_fault, command, pause, soon, start, start_at};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn without_a_server_a_call_fails_at_once_and_never_ran() {
    let port = Port::take();
    let begun = Instant::now();
    let mut asked = start(&format!("redis://127.0.0.1:{}", port.number()));
    // The first waits for the first attempt, the others for nothing.
    assert_fault(asked.ask(&["PING"]).await, Class::Refused, Ran::Never);
    asked.until(Told::Unreachable(Class::Refused)).await;
    assert_fault(asked.ask(&["PING"]).await, Class::Refused, Ran::Never);
    assert!(begun.elapsed() < SECOND);
    assert!(!asked.link.state()[0].connected);
}

#[tokio::test]
async fn a_socket_and_a_database_of_its_own_are_used() {
    let server = Server::redis().set("unixsocket", "socket").start();
    let socket = server.folder().join("socket");
    let mut asked = start(&format!("redis+unix://{}?db=3", socket.display()));
    asked.until(Told::Connected).await;
    asked.ask(&["SET", "k", "v"]).await.unwrap();
    assert!(server.command(&["INFO", "keyspace"]).text().contains("db3:keys=1"));
}

#[tokio::test]
async fn a_name_without_an_address_is_told() {
    let mut asked = start("redis://nowhere.invalid");
    asked.until(Told::Unreachable(Class::Unresolved)).await;
}

#[tokio::test]
async fn a_server_that_comes_up_later_is_found_within_a_second() {
    let server = Server::redis().start();
    server.kill();
    let mut asked = start(&server.url());
    asked.until(Told::Unreachable(Class::Refused)).await;
    server.start();
    assert!(asked.until(Told::Connected).await < SECOND);
    assert_eq!(asked.ask(&["SET", "k", "v"]).await.unwrap(), Value::Okay);
}

#[tokio::test]
async fn a_killed_server_leaves_its_calls_unknown_and_its_loss_is_counted() {
    let server = Server::redis().start();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    asked.ask(&["SET", "k", "v"]).await.unwrap();
    server.command(&["CLIENT", "PAUSE", "20000", "ALL"]);
    let waiting = asked.ask(&["INCR", "n"]);
    let dying = async { server.kill() };
    let (reply, ()) = tokio::join!(waiting, dying);
    assert_fault(reply, Class::Dropped, Ran::Unknown);
    asked.until(Told::Disconnected(Class::Dropped)).await;

    server.start();
    assert!(asked.until(Told::Connected).await < SECOND);
    asked.until(Told::Lost).await;
    assert_eq!(asked.link.state()[0].lost, 1);
    assert_eq!(asked.ask(&["GET", "k"]).await.unwrap(), Value::Nil);
}

#[tokio::test]
async fn a_server_that_kept_its_data_has_lost_nothing() {
    let server = Server::redis().start();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    asked.ask(&["SET", "k", "v"]).await.unwrap();
    server.command(&["SAVE"]);
    server.restart();
    asked.until(Told::Connected).await;
    asked.until_answered(&["GET", "k"]).await;
    asked.ask(&["INFO"]).await.unwrap();
    assert_eq!(asked.link.state()[0].lost, 0);
}

#[tokio::test]
async fn a_closed_connection_is_replaced_at_once() {
    let server = Server::redis().start();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    asked.until(Told::Disconnected(Class::Dropped)).await;
    let again = asked.until(Told::Connected).await;
    assert!(again < Duration::from_millis(200), "{again:?}");
    asked.ask(&["PING"]).await.unwrap();
}

#[tokio::test]
async fn a_frozen_server_costs_the_deadline_then_nothing_and_is_found_again() {
    let server = Server::redis().start();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    server.stop();
    let mut took = Vec::new();
    for _ in 0..21 {
        let begun = Instant::now();
        assert_fault(asked.ask_within(&["INCR", "n"], SHORT).await, Class::Timeout, Ran::Unknown);
        took.push(begun.elapsed());
    }
    took.sort();
    assert!(took[10] < SHORT * 3 / 2, "{took:?}");
    let found = asked.until(Told::Disconnected(Class::Timeout)).await;
    assert!(found < SECOND * 2, "{found:?}");
    // The kernel still accepts for it, but nobody lets us in.
    asked.until(Told::Unreachable(Class::Timeout)).await;
    assert_fault(asked.ask(&["PING"]).await, Class::Down, Ran::Never);
    server.cont();
    let again = asked.until(Told::Connected).await;
    assert!(again < SECOND, "{again:?}");
    // Late, but never twice.
    let counted = asked.ask(&["INCRBY", "n", "0"]).await.unwrap();
    assert!(matches!(counted, Value::Int(0..=21)), "{counted:?}");
}

#[tokio::test]
async fn a_frozen_server_is_left_alone_after_five_calls_and_asked_again_within_a_second() {
    let server = Server::redis().start();
    let options = Options::default().breaker(Breaker::default());
    let mut asked = start_at(&server.url().parse().unwrap(), options);
    asked.until(Told::Connected).await;
    // What comes too late says nothing of the server.
    for _ in 0..10 {
        let late = asked.link.call(0, &command(&["PING"]), Instant::now()).await;
        assert_fault(late, Class::Timeout, Ran::Never);
    }
    assert_eq!(asked.link.state()[0].status, Status::Closed);
    server.stop();
    for _ in 0..5 {
        assert_fault(asked.ask_within(&["PING"], SHORT).await, Class::Timeout, Ran::Unknown);
    }
    assert_fault(asked.ask_within(&["PING"], SHORT).await, Class::Open, Ran::Never);
    server.cont();
    let again = asked.until_answered(&["PING"]).await;
    assert!(again < SECOND, "{again:?}");
}

#[tokio::test]
async fn no_more_calls_wait_than_allowed_and_those_given_up_count_until_answered() {
    let server = Server::redis().start();
    let mut asked = start_at(&server.url().parse().unwrap(), Options::default().in_flight(16));
    asked.until(Told::Connected).await;
    server.stop();
    for _ in 0..16 {
        assert_fault(asked.ask_within(&["PING"], SHORT).await, Class::Timeout, Ran::Unknown);
    }
    assert_fault(asked.ask_within(&["PING"], SHORT).await, Class::Full, Ran::Never);
    assert_eq!(asked.link.state()[0].in_flight, 16);
    server.cont();
    asked.until_answered(&["PING"]).await;
    // Replies come in order, so that the given up ones were answered before.
    while asked.link.state()[0].in_flight > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_deadline_that_has_passed_sends_nothing() {
    let server = Server::redis().start();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    let late = asked.link.call(0, &command(&["INCR", "n"]), Instant::now()).await;
    assert_fault(late, Class::Timeout, Ran::Never);
    assert_eq!(asked.ask(&["GET", "n"]).await.unwrap(), Value::Nil);
}

#[tokio::test]
async fn a_link_that_is_dropped_closes_its_connection() {
    let server = Server::redis().start();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    let clients = || server.command(&["INFO", "clients"]).text();
    assert!(clients().contains("connected_clients:2"));
    drop(asked);
    soon(async {
        while !clients().contains("connected_clients:1") {
            pause().await;
        }
    })
    .await;
}
