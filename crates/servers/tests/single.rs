//! One server: it comes up, answers, and is gone when its value is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends by a panic")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use tollgate_servers::{Builder, Client, Server, Value, until};

fn both() -> [Builder; 2] {
    [Server::redis(), Server::valkey()]
}

fn gone(pid: u32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn each_kind_answers_and_ends_with_its_value() {
    for builder in both() {
        let server = builder.start();
        let (pid, folder) = (server.pid(), server.folder().to_owned());
        assert_eq!(server.url(), format!("redis://127.0.0.1:{}", server.port()));
        server.command(&["SET", "key", "value"]);
        assert_eq!(server.command(&["GET", "key"]), Value::Bulk(b"value".to_vec()));
        assert_eq!(
            server.command(&["EVAL", "return {1, redis.status_reply('x')}", "0"]).text(),
            "1\nx"
        );
        drop(server);
        assert!(gone(pid));
        assert!(!folder.exists());
    }
}

#[test]
fn a_panic_ends_the_server_too() {
    let (send, receive) = std::sync::mpsc::channel();
    let test = std::thread::spawn(move || {
        let server = Server::redis().start();
        send.send((server.pid(), server.folder().to_owned())).unwrap();
        panic!("as a failing test does");
    });
    assert!(test.join().is_err());
    let (pid, folder) = receive.recv().unwrap();
    assert!(gone(pid));
    assert!(!folder.exists());
}

#[test]
fn a_restart_keeps_the_port_and_forgets_the_data() {
    let server = Server::redis().start();
    let (pid, port) = (server.pid(), server.port());
    server.command(&["SET", "key", "value"]);
    server.restart();
    assert_ne!(server.pid(), pid);
    assert_eq!(server.port(), port);
    assert_eq!(server.command(&["GET", "key"]), Value::Nil);
}

#[test]
fn a_killed_server_is_down_until_it_is_started() {
    let server = Server::valkey().start();
    server.kill();
    assert!(Client::connect(server.port()).is_err());
    server.start();
    assert_eq!(server.command(&["PING"]).text(), "PONG");
}

#[test]
fn a_stopped_server_accepts_and_is_silent_until_it_goes_on() {
    let server = Server::redis().start();
    server.stop();
    let mut client = Client::connect(server.port()).unwrap();
    client.send(&["PING"]).unwrap();
    client.patience(Duration::from_millis(50)).unwrap();
    assert!(client.receive().is_err());
    server.cont();
    client.patience(Duration::from_secs(20)).unwrap();
    assert_eq!(client.receive().unwrap().text(), "PONG");
}

#[test]
fn a_setting_and_a_password_hold() {
    let server = Server::redis()
        .set("maxmemory", "7mb")
        .password("secret")
        .user("limiter", "pw", "~rl:* +get")
        .start();
    assert_eq!(server.url(), format!("redis://:secret@127.0.0.1:{}", server.port()));
    assert_eq!(server.command(&["CONFIG", "GET", "maxmemory"]).text(), "maxmemory\n7340032");
    let mut client = Client::connect(server.port()).unwrap();
    let refused =
        |value: Value, with: &str| matches!(value, Value::Error(text) if text.starts_with(with));
    assert!(refused(client.command(&["GET", "rl:1"]).unwrap(), "NOAUTH"));
    assert_eq!(client.command(&["AUTH", "limiter", "pw"]).unwrap().text(), "OK");
    assert_eq!(client.command(&["GET", "rl:1"]).unwrap(), Value::Nil);
    assert!(refused(client.command(&["GET", "other"]).unwrap(), "NOPERM"));
}

#[test]
fn what_a_server_printed_is_in_the_panic_when_it_does_not_start() {
    let start = || Server::redis().set("no-such-setting", "1").start();
    let panic = std::panic::catch_unwind(start).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("Bad directive or wrong number of arguments"), "{message}");
}

#[test]
fn processes_that_start_at_once_do_not_collide() {
    let start = || {
        std::process::Command::new(env!("CARGO_BIN_EXE_hold"))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut children: Vec<_> = (0..4).map(|_| start()).collect();
    let url = |child: &mut std::process::Child| {
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        line.split_once(' ').unwrap().0.to_owned()
    };
    let urls: BTreeSet<String> = children.iter_mut().map(url).collect();
    assert_eq!(urls.len(), 4);
    for mut child in children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_server_does_not_outlive_a_process_that_is_killed() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_hold"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid = line.trim().split_once(' ').unwrap().1.parse().unwrap();
    assert!(!gone(pid));
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = || if gone(pid) { Ok(()) } else { Err("still there".to_owned()) };
    until(Duration::from_secs(5), ended).unwrap();
}
