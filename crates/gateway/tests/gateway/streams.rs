//! Answers that go on for long, and bodies that wait to be asked for.

use std::io::Write;
use std::time::Duration;

use crate::client::Client;
use crate::program::Program;
use crate::upstream::{Keep, Upstream};

/// Longer than the patience of the gateways here.
const SILENCE: Duration = Duration::from_millis(600);

/// An upstream that is silent in midst of its answers, whose type is their path.
fn hesitating() -> Upstream {
    Upstream::with(|seen, stream| {
        let kind = seen.what().replace("GET /", "");
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}; charset=utf-8\r\n\
             Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(SILENCE);
        let _ = stream.write_all(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n");
        Keep::Open
    })
}

fn stream_of(gateway: &Program, kind: &str) -> String {
    let mut client = Client::connect(gateway.address);
    client.send(format!("GET /{kind} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
    assert!(client.head().starts_with("HTTP/1.1 200"));
    // The first event is here long before the second.
    assert_eq!(client.take(14), b"9\r\ndata: 1\n\n\r\n");
    client.send(b"GET /gone HTTP/1.0\r\nHost: h\r\n\r\n");
    String::from_utf8(client.rest()).unwrap()
}

#[test]
fn a_stream_of_events_may_be_silent_and_nothing_else_may() {
    let upstream = hesitating();
    let patience = "[server.timeouts]\nanswer = \"200ms\"\n";
    let gateway = Program::serve(&(upstream.config() + patience));
    assert!(stream_of(&gateway, "text/event-stream").starts_with("9\r\ndata: 2\n\n\r\n0\r\n\r\n"));
    assert_eq!(stream_of(&gateway, "text/plain"), "");
    // It may be silent for so long as a tunnel.
    let patience = "[server.timeouts]\nanswer = \"5s\"\ntunnel_idle = \"200ms\"\n";
    let gateway = Program::serve(&(upstream.config() + patience));
    assert_eq!(stream_of(&gateway, "text/event-stream"), "");
}

#[test]
fn a_route_may_wait_for_ever() {
    let upstream = hesitating();
    let config = format!(
        "{}[[route]]\nupstream = \"default\"\ntimeout = \"off\"\n\
         [server.timeouts]\nanswer = \"100ms\"\ntunnel_idle = \"100ms\"\n",
        upstream.config()
    );
    let gateway = Program::serve(&config);
    for kind in ["text/event-stream", "text/plain"] {
        assert!(stream_of(&gateway, kind).starts_with("9\r\ndata: 2\n\n\r\n0\r\n\r\n"), "{kind}");
    }
}

const EXPECTING: &str = "POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\
    Content-Length: 4\r\n\r\n";

#[test]
fn a_body_is_asked_for_when_the_request_is_let_through() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    let mut client = Client::connect(gateway.address);
    client.send(EXPECTING.as_bytes());
    assert_eq!(client.head(), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send(b"body");
    assert_eq!(client.answer().unwrap().status, 200);
    let seen = upstream.seen().remove(0);
    assert_eq!((seen.header("expect"), &*seen.body), (None, &b"body"[..]));
}

#[test]
fn whoever_is_refused_need_not_send_the_body() {
    let upstream = Upstream::start();
    let limit = "[[limit]]\nname = \"none\"\nrate = \"0/hour\"\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let mut client = Client::connect(gateway.address);
    client.send(EXPECTING.as_bytes());
    assert!(client.head().starts_with("HTTP/1.1 429"), "there is no 100 before it");
    // By its head the body begins here, and what is behind its length is no request.
    client.send(b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n");
    let rest = String::from_utf8(client.rest()).unwrap();
    let answers: Vec<_> =
        rest.match_indices("HTTP/1.1 ").map(|(at, _)| &rest[at + 9..at + 12]).collect();
    assert!(answers.is_empty() || answers == ["400"], "{rest}");
    assert_eq!(upstream.asked(), [""; 0]);
}
