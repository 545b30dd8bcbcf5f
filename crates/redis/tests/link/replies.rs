//! Servers that answer, but not with what was asked for.

use std::time::Duration;

use redis::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tollgate_redis::{Class, Ran};
use tollgate_servers::Server;

use crate::asking::{SHORT, Told, assert_fault, soon, start};

const WRITE: [&str; 3] = ["EVAL", "return redis.call('set', 'k', 'v')", "0"];
const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_server_made_a_replica_is_left_and_taken_again_once_it_leads() {
    let (server, other) = (Server::redis().start(), Server::redis().start());
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    server.command(&["REPLICAOF", "127.0.0.1", &other.port().to_string()]);
    let fault = asked.until_fault(&WRITE, Class::ReadOnly).await;
    assert_eq!(fault.ran(), Ran::Never);
    asked.until(Told::Disconnected(Class::ReadOnly)).await;
    server.command(&["REPLICAOF", "NO", "ONE"]);
    let again = asked.until_answered(&WRITE).await;
    assert!(again < SECOND, "{again:?}");
}

#[tokio::test]
async fn a_replica_cut_off_from_its_primary_is_left() {
    let (server, other) = (Server::redis().start(), Server::redis().start());
    server.command(&["CONFIG", "SET", "replica-serve-stale-data", "no"]);
    other.kill();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    server.command(&["REPLICAOF", "127.0.0.1", &other.port().to_string()]);
    asked.until_fault(&["GET", "k"], Class::MasterDown).await;
    asked.until(Told::Disconnected(Class::MasterDown)).await;
}

#[tokio::test]
async fn a_loading_server_keeps_its_connection_and_serves_when_done() {
    let server = Server::redis()
        .set("key-load-delay", "100")
        .set("loading-process-events-interval-bytes", "1024");
    let server = server.start();
    server.command(&["DEBUG", "POPULATE", "20000"]);
    server.command(&["SAVE"]);
    server.kill();
    let mut asked = start(&server.url());
    server.launch();
    asked.until(Told::Connected).await;
    assert_fault(asked.ask(&WRITE).await, Class::Loading, Ran::Never);
    soon(async {
        while let Err(fault) = asked.ask(&WRITE).await {
            assert_eq!(fault.class(), Class::Loading);
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(asked.events.try_recv().is_err(), "the first connection has lasted");
}

#[tokio::test]
async fn refusals_of_a_full_or_careful_server_never_ran_and_heal() {
    let server = Server::redis().start();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    for (setting, bad, good, class) in [
        ("maxmemory", "1", "0", Class::OutOfMemory),
        ("min-replicas-to-write", "1", "0", Class::NoReplicas),
    ] {
        server.command(&["CONFIG", "SET", setting, bad]);
        assert_fault(asked.ask(&WRITE).await, class, Ran::Never);
        server.command(&["CONFIG", "SET", setting, good]);
        asked.ask(&WRITE).await.unwrap();
    }
    assert!(asked.events.try_recv().is_err(), "the first connection has lasted");
}

#[tokio::test]
async fn somebody_elses_long_script_is_told_and_outlived() {
    let server = Server::redis().set("busy-reply-threshold", "10").start();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    let mut other = server.client();
    other.send(&["EVAL", "while true do end", "0"]).unwrap();
    let fault = asked.until_fault(&["GET", "k"], Class::Busy).await;
    assert_eq!(fault.ran(), Ran::Never);
    asked.ask(&["SCRIPT", "KILL"]).await.unwrap();
    asked.until_answered(&WRITE).await;
}

#[tokio::test]
async fn an_unknown_script_is_told() {
    let server = Server::redis().start();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    let digest = "0".repeat(40);
    assert_fault(asked.ask(&["EVALSHA", &digest, "0"]).await, Class::NoScript, Ran::Never);
}

#[tokio::test]
async fn a_password_set_at_runtime_is_asked_for_once_a_second_and_heals() {
    let server = Server::redis().start();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    server.command(&["CONFIG", "SET", "requirepass", "hunter2"]);
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    asked.until(Told::Unreachable(Class::NoAuth)).await;
    assert_fault(asked.ask(&["PING"]).await, Class::NoAuth, Ran::Never);
    let pause = asked.until(Told::Unreachable(Class::NoAuth)).await;
    assert!(pause >= SECOND * 9 / 10, "{pause:?}");
    let shown = format!("{:?} {}", asked.link, asked.ask(&["PING"]).await.unwrap_err());
    assert!(!shown.contains("hunter2"), "{shown}");
    server.command(&["CONFIG", "SET", "requirepass", ""]);
    assert!(asked.until(Told::Connected).await < SECOND * 2);
}

#[tokio::test]
async fn a_wrong_password_is_told_without_it() {
    let server = Server::redis().password("right").start();
    let mut asked = start(&server.url_as("", "hunter2"));
    asked.until(Told::Unreachable(Class::WrongPass)).await;
    let fault = asked.ask(&["PING"]).await.unwrap_err();
    assert_eq!((fault.class(), fault.ran()), (Class::WrongPass, Ran::Never));
    assert!(!format!("{fault} {fault:?} {:?}", asked.link).contains("hunter2"));

    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
}

#[tokio::test]
async fn missing_permissions_are_told_in_every_form() {
    for server in [Server::redis(), Server::valkey()] {
        let server =
            server.user("a", "pw", "~rl:* +@all -eval").user("b", "pw", "~rl:* +eval +get").start();
        let mut asked = start(&server.url_as("a", "pw"));
        asked.until(Told::Connected).await;
        assert_fault(asked.ask(&WRITE).await, Class::NoPerm, Ran::Never);
        assert_fault(asked.ask(&["GET", "other"]).await, Class::NoPerm, Ran::Never);
        // Without permission for INFO and PING the connection lives all the same.
        let mut asked = start(&server.url_as("b", "pw"));
        asked.until(Told::Connected).await;
        assert_fault(asked.ask(&WRITE).await, Class::NoPerm, Ran::Unknown);
        assert_eq!(asked.ask(&["GET", "rl:1"]).await.unwrap(), Value::Nil);
        assert!(asked.events.try_recv().is_err());
    }
}

#[tokio::test]
async fn a_server_without_room_is_told_and_taken_once_there_is_some() {
    let server = Server::redis().start();
    let mut holder = server.client();
    holder.command(&["CONFIG", "SET", "maxclients", "1"]).unwrap();
    let mut asked = start(&server.url());
    asked.until(Told::Unreachable(Class::MaxClients)).await;
    assert_fault(asked.ask(&["PING"]).await, Class::MaxClients, Ran::Never);
    let begun = Instant::now();
    holder.command(&["CONFIG", "SET", "maxclients", "100"]).unwrap();
    asked.until(Told::Connected).await;
    assert!(begun.elapsed() < SECOND);
}

/// A server that reads something and answers with the next of these, then closes.
async fn pretending(answers: &'static [&'static [u8]]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut read = [0; 1024];
            for answer in answers {
                let _ = stream.read(&mut read).await;
                let _ = stream.write_all(answer).await;
            }
            // Open until the other side has had enough.
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    });
    url
}

#[tokio::test]
async fn what_does_not_speak_redis_is_left() {
    let mut asked = start(&pretending(&[b"HTTP/1.1 400 Bad Request\r\n\r\n"]).await);
    asked.until(Told::Unreachable(Class::Protocol)).await;
}

#[tokio::test]
async fn garbage_and_monstrous_replies_end_the_connection_and_leave_the_call_unknown() {
    const GARBAGE: &[&[u8]] = &[b"+PONG\r\n", b"?what?\r\n"];
    const MONSTER: &[&[u8]] = &[b"+PONG\r\n", b"$1073741824\r\nxx"];
    const ENDLESS: &[&[u8]] = &[b"+PONG\r\n", b"*1000000000\r\n:1\r\n"];
    for answers in [GARBAGE, MONSTER, ENDLESS] {
        let mut asked = start(&pretending(answers).await);
        asked.until(Told::Connected).await;
        let fault = asked.ask(&["INCR", "n"]).await.unwrap_err();
        assert_eq!(fault.ran(), Ran::Unknown);
        // Whichever of the calls that waited hears the first of it.
        assert!(matches!(fault.class(), Class::Protocol | Class::Dropped), "{fault}");
        asked.until(Told::Connected).await;
    }
}

#[tokio::test]
async fn a_reply_cut_short_leaves_the_call_unknown() {
    let mut asked = start(&pretending(&[b"+PONG\r\n", b"$100\r\nabc"]).await);
    asked.until(Told::Connected).await;
    let cut = asked.ask_within(&["INCR", "n"], SHORT).await;
    assert_fault(cut, Class::Timeout, Ran::Unknown);
    asked.until(Told::Disconnected(Class::Timeout)).await;
}
