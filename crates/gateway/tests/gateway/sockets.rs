//! Several addresses to listen on, and Unix sockets.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::client::Client;
use crate::program::{Program, Scratch, run};
use crate::upstream::Upstream;

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n";

/// The path of a file that is not there, removed at the end if it is by then.
fn nowhere(name: &str) -> Scratch {
    let scratch = Scratch::new(name, "");
    fs::remove_file(scratch.path()).unwrap();
    scratch
}

fn ask(client: &mut Client) -> u16 {
    client.send(GET.as_bytes());
    client.answer().expect("an answer").status
}

#[test]
fn every_address_and_socket_is_listened_on() {
    let upstream = Upstream::start();
    let socket = nowhere("gateway.sock");
    let gateway = Program::serve(&format!(
        "[server]\nlisten = [\"127.0.0.1:0\", \"[::1]:0\", \"unix:{}\"]\nmetrics = \"off\"\n\
         upstream = \"http://{}\"\n",
        socket.path(),
        upstream.address
    ));
    let addresses = gateway.addresses();
    assert_eq!(addresses.len(), 2, "{}", gateway.banner);
    for address in addresses {
        assert_eq!(ask(&mut Client::connect(address)), 200);
        let seen = upstream.seen().pop().unwrap();
        assert_eq!(seen.header("x-forwarded-for"), Some(&*address.ip().to_string()));
    }
    assert!(gateway.banner.contains(&format!("listens on unix:{}", socket.path())));
    let mut client = Client::connect_unix(socket.path());
    assert_eq!((ask(&mut client), ask(&mut client)), (200, 200));
    let seen = upstream.seen().pop().unwrap();
    assert_eq!(seen.header("x-forwarded-for"), None, "nobody vouches for it");
}

#[test]
fn places_are_shared_by_all_listeners() {
    let socket = nowhere("places.sock");
    let gateway = Program::serve(&format!(
        "[server]\nlisten = [\"unix:{}\", \"127.0.0.1:0\"]\nmetrics = \"off\"\n\
         [server.sizes]\nconnections = 1\n",
        socket.path()
    ));
    let mut first = Client::connect_unix(socket.path());
    assert_eq!(ask(&mut first), 200);
    let mut second = Client::connect(gateway.address);
    second.send(GET.as_bytes());
    assert_eq!(ask(&mut first), 200, "the second waits");
    drop(first);
    assert_eq!(second.answer().unwrap().status, 200);
}

#[test]
fn a_peer_of_a_socket_is_trusted_only_if_that_is_configured() {
    let upstream = Upstream::start();
    let socket = nowhere("trusted.sock");
    let _gateway = Program::serve(&format!(
        "[server]\nlisten = \"unix:{}\"\nmetrics = \"off\"\nupstream = \"http://{}\"\n\
         [client]\ntrusted_proxies = [\"unix\"]\n\
         [[limit]]\nname = \"each\"\nrate = \"1/hour\"\n",
        socket.path(),
        upstream.address
    ));
    let mut client = Client::connect_unix(socket.path());
    assert_eq!((ask(&mut client), ask(&mut client)), (200, 429));
    let seen = upstream.seen().pop().unwrap();
    assert_eq!(seen.header("x-forwarded-for"), Some("6.6.6.6"));
    client.send(b"GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 7.7.7.7\r\n\r\n");
    assert_eq!(client.answer().unwrap().status, 200, "another client has another budget");
}

fn listening_on(path: &str, more: &str) -> String {
    format!("[server]\nlisten = \"unix:{path}\"\nmetrics = \"off\"\n{more}")
}

#[test]
fn a_socket_is_removed_at_the_end_and_one_left_behind_is_replaced() {
    let socket = nowhere("left.sock");
    drop(UnixListener::bind(socket.path()).unwrap());
    assert!(Path::new(socket.path()).exists(), "a dead one is left behind");
    let mode = "socket_mode = \"600\"\n";
    let mut gateway = Program::serve(&listening_on(socket.path(), mode));
    assert_eq!(ask(&mut Client::connect_unix(socket.path())), 200);
    let permissions = fs::metadata(socket.path()).unwrap().permissions();
    assert_eq!(permissions.mode() & 0o777, 0o600);
    gateway.signal("TERM");
    assert!(gateway.ended().success());
    assert!(!Path::new(socket.path()).exists());
}

#[test]
fn what_is_in_use_or_no_socket_stays() {
    let held = nowhere("held.sock");
    let _listener = UnixListener::bind(held.path()).unwrap();
    let file = Scratch::new("precious.txt", "precious");
    for (path, why) in [
        (held.path(), "another process listens there"),
        (file.path(), "there is a file that is no socket"),
    ] {
        let config = Scratch::new("limits.toml", &listening_on(path, ""));
        let output = run(&["serve", config.path()]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("cannot listen on unix:{path}: {why}")), "{said}");
    }
    assert!(Path::new(held.path()).exists());
    assert_eq!(file.text(), "precious");
}

#[test]
fn what_cannot_be_listened_on_is_told_with_its_place() {
    let cases = [
        ("listen = \"unix:relative.sock\"", "nobody can listen on `unix:relative.sock`"),
        ("listen = [\"127.0.0.1:80\", \"nowhere\"]", "nobody can listen on `nowhere`"),
        ("listen = [\"127.0.0.1:80\", \"127.0.0.1:80\"]", "this is in the list twice"),
        ("socket_mode = \"rw\"", "these are no permissions"),
        ("socket_mode = \"1777\"", "these are no permissions"),
        ("proxy_protocol = [\"10.1.2.3/8\"]", "proxy_protocol"),
    ];
    for (line, message) in cases {
        let file = Scratch::new("limits.toml", &format!("[server]\n{line}\n"));
        let output = run(&["check", file.path()]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(message) && said.contains(":2:"), "{line}: {said}");
    }
}
