//! Being told to stop.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use crate::client::Client;
use crate::program::{Program, until};
use crate::upstream::{Keep, Upstream};

const GET: &[u8] = b"GET /g HTTP/1.1\r\nHost: h\r\n\r\n";

#[track_caller]
fn finishes_what_is_in_flight(signal: &str) {
    let (go_on, told) = channel::<()>();
    let told = Mutex::new(told);
    let upstream = Upstream::with(move |_, stream| {
        told.lock().unwrap().recv().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone").unwrap();
        Keep::Open
    });
    let mut gateway = Program::serve(&upstream.config());
    let (mut busy, mut idle) = (Client::connect(gateway.address), Client::connect(gateway.address));
    busy.send(GET);
    until("the request is in flight", || Some(upstream.seen()).filter(|seen| !seen.is_empty()));
    gateway.signal(signal);
    until("nobody is let in", || TcpStream::connect(gateway.address).err());
    assert!(idle.is_closed());
    go_on.send(()).unwrap();
    let answer = busy.answer().expect("what was in flight is answered");
    assert_eq!((answer.status, answer.text()), (200, "done".to_owned()));
    assert!(busy.is_closed());
    assert_eq!(gateway.ended().code(), Some(0));
    let log = gateway.stderr();
    assert!(log.contains("finishing what is in flight") && log.contains("stopped"), "{log}");
}

#[test]
fn sigterm_finishes_what_is_in_flight() {
    finishes_what_is_in_flight("TERM");
}

#[test]
fn sigint_finishes_what_is_in_flight() {
    finishes_what_is_in_flight("INT");
}

#[test]
fn what_does_not_finish_in_time_is_cut_off() {
    let upstream = Upstream::with(|_, _| Keep::Open);
    let patience = "[server.timeouts]\nshutdown = \"200ms\"\n";
    let mut gateway = Program::serve(&(upstream.config() + patience));
    let mut client = Client::connect(gateway.address);
    client.send(GET);
    until("the request is in flight", || Some(upstream.seen()).filter(|seen| !seen.is_empty()));
    gateway.signal("TERM");
    assert!(client.is_closed());
    assert_eq!(gateway.ended().code(), Some(0));
    assert!(gateway.stderr().contains("not all requests were finished"));
}
