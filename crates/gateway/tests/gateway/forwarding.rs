//! What passes through the gateway, what becomes of it on the way, and who is told what went wrong.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use crate::client::Client;
use crate::program::{self, Program, until};
use crate::upstream::{Keep, Upstream};

const GET: &str = "GET /g HTTP/1.1\r\nHost: h\r\n\r\n";

#[test]
fn the_echo_says_what_it_saw() {
    let gateway = Program::serve("[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\n");
    let request = "POST //x/../y?q=1 HTTP/1.1\r\nHost: Shop.Test\r\nX-Forwarded-For: 6.6.6.6\r\n\
        X-Forwarded-Host: evil\r\nForwarded: for=6.6.6.6\r\nContent-Length: 3\r\n\r\nabc";
    let answer = Client::ask(gateway.address, request);
    assert_eq!(answer.status, 200);
    let seen = answer.json();
    assert_eq!((&seen["method"], &seen["path"]), (&"POST".into(), &"/y?q=1".into()));
    assert_eq!(seen["body"], 3);
    let headers = &seen["headers"];
    assert_eq!(headers["x-forwarded-for"], "127.0.0.1");
    assert_eq!(headers["x-forwarded-host"], "shop.test");
    assert_eq!(headers["x-forwarded-proto"], "http");
    assert_eq!(headers.get("forwarded"), None);
}

#[test]
fn headers_of_one_hop_stay_on_it_both_ways() {
    let upstream = Upstream::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: X-Mine, keep-alive\r\nX-Mine: 1\r\n\
         Keep-Alive: timeout=5\r\nUpgrade: h2c\r\nX-Kept: 1\r\n\r\nok",
    );
    let gateway = Program::serve(&upstream.config());
    let answer = Client::ask(
        gateway.address,
        "GET /g HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, X-Mine\r\nX-Mine: 1\r\nTE: trailers\r\n\
         Keep-Alive: 5\r\nProxy-Authorization: Basic x\r\nProxy: http://evil\r\nX-Kept: 1\r\n\r\n",
    );
    for name in ["connection", "x-mine", "keep-alive", "upgrade"] {
        assert_eq!(answer.header(name), None, "{name}");
    }
    assert_eq!(answer.header("x-kept"), Some("1"));
    let seen = upstream.seen().remove(0);
    for name in ["x-mine", "keep-alive", "proxy-authorization", "proxy"] {
        assert_eq!(seen.header(name), None, "{name}");
    }
    // Both hops have trailers, and the second says so itself.
    assert_eq!((seen.header("te"), seen.header("connection")), (Some("trailers"), Some("te")));
    assert_eq!(seen.header("x-kept"), Some("1"));
}

#[test]
fn an_answer_passes_while_it_comes() {
    let (go_on, told) = channel::<()>();
    let told = Mutex::new(told);
    let upstream = Upstream::with(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        // The rest follows only when the client has the first part.
        told.lock().unwrap().recv().unwrap();
        stream.write_all(b"4\r\nlast\r\n0\r\n\r\n").unwrap();
        Keep::Open
    });
    let gateway = Program::serve(&upstream.config());
    let mut client = Client::connect(gateway.address);
    client.send(GET.as_bytes());
    assert!(client.head().contains("200 OK"));
    assert_eq!(client.take(10), b"5\r\nfirst\r\n");
    go_on.send(()).unwrap();
    assert_eq!(client.take(14), b"4\r\nlast\r\n0\r\n\r\n");
}

#[test]
fn a_body_passes_while_it_comes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let gateway = Program::serve(&format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\nupstream = \"http://{address}\"\n"
    ));
    let mut client = Client::connect(gateway.address);
    client.send(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nfirst");
    let (mut stream, _) = listener.accept().unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"first") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        seen.extend(byte);
    }
    client.send(b"last");
    let mut last = [0; 4];
    stream.read_exact(&mut last).unwrap();
    assert_eq!(&last, b"last");
    stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").unwrap();
    assert_eq!(client.answer().unwrap().status, 201);
}

#[test]
fn the_body_of_a_get_passes_however_it_is_framed() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    for method in ["GET", "HEAD", "DELETE", "OPTIONS"] {
        for framed in [
            "Content-Length: 4\r\n\r\nbody",
            "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        ] {
            let mut client = Client::connect(gateway.address);
            client.send(format!("{method} /p HTTP/1.1\r\nHost: h\r\n{framed}").as_bytes());
            assert!(client.head().starts_with("HTTP/1.1 200 "), "{method} {framed}");
            assert_eq!(upstream.seen().last().unwrap().body, b"body", "{method} {framed}");
        }
    }
}

#[test]
fn large_bodies_pass_unchanged_both_ways() {
    let upstream = Upstream::with(|seen, stream| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", seen.body.len());
        stream.write_all(&[head.as_bytes(), &seen.body].concat()).unwrap();
        Keep::Open
    });
    let gateway = Program::serve(&upstream.config());
    let body: Vec<u8> =
        (0..3_000_000u32).map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
    let mut sized =
        format!("POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", body.len())
            .into_bytes();
    sized.extend(&body);
    let mut chunked = b"POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for part in body.chunks(70_001) {
        chunked.extend(format!("{:x}\r\n", part.len()).bytes());
        chunked.extend(part);
        chunked.extend(b"\r\n");
    }
    chunked.extend(b"0\r\n\r\n");
    for request in [sized, chunked] {
        let mut client = Client::connect(gateway.address);
        client.send(&request);
        let answer = client.answer().unwrap();
        assert_eq!(answer.status, 200);
        assert!(answer.body == body, "the body came back changed");
    }
    assert!(upstream.seen().iter().all(|seen| seen.body == body), "the body went changed");
}

#[test]
fn connections_to_the_upstream_are_used_again() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    for _ in 0..5 {
        assert_eq!(Client::ask(gateway.address, GET).status, 200);
    }
    assert!(upstream.seen().iter().all(|seen| seen.connection == 0));
}

#[test]
fn old_clients_and_headless_answers_are_served() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    let answers = Client::exchange(gateway.address, b"GET /old HTTP/1.0\r\n\r\n");
    assert_eq!((answers.len(), answers[0].status), (1, 200));
    assert_eq!(upstream.seen()[0].header("host"), Some(&*upstream.address.to_string()));

    let mut client = Client::connect(gateway.address);
    client.send(b"HEAD /g HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(client.head().contains("content-length: 2"));
    client.send(b"OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert_eq!(client.answers()[0].status, 204);
    assert_eq!(upstream.asked(), ["GET /old", "HEAD /g"]);
}

#[test]
fn a_client_that_expects_100_is_asked_for_its_body() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&(upstream.config() + "[server.sizes]\nbody_bytes = 10\n"));
    let mut client = Client::connect(gateway.address);
    client
        .send(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.head(), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send(b"body");
    assert_eq!(client.answer().unwrap().status, 200);
    let seen = upstream.seen().remove(0);
    assert_eq!((&*seen.body, seen.header("expect")), (&b"body"[..], None));

    // Who would be refused anyway is not asked.
    client
        .send(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 413 "));

    let other = "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nExpect: a-rise\r\n\r\n";
    assert_eq!(Client::ask(gateway.address, other).status, 417);
}

#[test]
fn a_body_beyond_the_limit_is_refused_and_one_at_it_passes() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&(upstream.config() + "[server.sizes]\nbody_bytes = 10\n"));
    let sized = |length: usize| {
        let body = "b".repeat(length);
        format!("POST /sized HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    let chunked = |length: usize| {
        let body = "6\r\nbbbbbb\r\n";
        let rest = "b".repeat(length - 6);
        let head = "POST /chunked HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        format!("{head}{body}{:x}\r\n{rest}\r\n0\r\n\r\n", length - 6)
    };
    for (status, request) in
        [(200, sized(10)), (413, sized(11)), (200, chunked(10)), (413, chunked(11))]
    {
        assert_eq!(Client::ask(gateway.address, &request).status, status, "{request}");
    }
    assert_eq!(upstream.asked(), ["POST /sized", "POST /chunked"]);
}

#[test]
fn an_upstream_that_is_not_there_or_talks_nonsense_is_a_502() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = |address| {
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\nupstream = \"http://{address}\"\n"
        )
    };
    let gateway = Program::serve(&config(closed));
    let answer = Client::ask(gateway.address, GET);
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (502, Some("application/problem+json"))
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.json()["title"], "Bad Gateway");

    for nonsense in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        // Codings that were not asked for: the client would take them for the content.
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\na",
    ] {
        let upstream = Upstream::answering(nonsense);
        let gateway = Program::serve(&upstream.config());
        assert_eq!(Client::ask(gateway.address, GET).status, 502, "{nonsense}");
    }
    let hangs_up = Upstream::with(|_, _| Keep::Closed);
    let gateway = Program::serve(&hangs_up.config());
    assert_eq!(Client::ask(gateway.address, GET).status, 502);
}

#[test]
fn the_length_of_a_chunked_answer_counts_for_nothing() {
    for length in [3, 9] {
        let upstream = Upstream::with(move |_, stream| {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n");
            let rest = "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
            let _ = stream.write_all((head + rest).as_bytes());
            Keep::Open
        });
        let gateway = Program::serve(&upstream.config());
        let answer = Client::ask(gateway.address, GET);
        assert_eq!((answer.status, answer.text().as_str()), (200, "hello"), "{length}");
        assert_eq!(answer.header("content-length"), None, "{length}");
    }
}

#[test]
fn an_upstream_that_says_nothing_is_a_504() {
    let upstream = Upstream::with(|_, _| Keep::Open);
    let patience = "[server.timeouts]\nanswer = \"200ms\"\n";
    let gateway = Program::serve(&(upstream.config() + patience));
    let answer = Client::ask(gateway.address, GET);
    assert_eq!((answer.status, answer.json()["title"].clone()), (504, "Gateway Timeout".into()));
}

#[tokio::test]
async fn an_upstream_that_takes_no_connection_in_time_is_a_504() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // Whoever comes once the queue is full gets no answer at all.
    let patience = std::time::Duration::from_millis(300);
    let mut queue = Vec::new();
    while let Ok(waiting) = std::net::TcpStream::connect_timeout(&address, patience) {
        queue.push(waiting);
        assert!(queue.len() < 100, "the queue never fills");
    }
    let gateway = Program::serve(&format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\nupstream = \"http://{address}\"\n\
         [server.timeouts]\nconnect = \"300ms\"\n"
    ));
    assert_eq!(Client::ask(gateway.address, GET).status, 504);
}

#[test]
fn an_answer_that_stops_midway_is_not_passed_off_as_whole() {
    let stalls = Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive!");
    let breaks = Upstream::with(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfive!\r\n")
            .unwrap();
        Keep::Closed
    });
    for upstream in [stalls, breaks] {
        let patience = "[server.timeouts]\nanswer = \"200ms\"\n";
        let gateway = Program::serve(&(upstream.config() + patience));
        let mut client = Client::connect(gateway.address);
        client.send(GET.as_bytes());
        // Of an answer that breaks at once there may be nothing.
        let came = String::from_utf8(client.rest()).unwrap();
        let whole = came.ends_with("0\r\n\r\n") || came.contains("content-length: 5\r\n");
        assert!(!whole, "{came}");
    }
}

#[test]
fn slow_heads_and_bodies_are_given_up() {
    let upstream = Upstream::start();
    let patience = "[server.timeouts]\nhead = \"200ms\"\nbody = \"200ms\"\nidle = \"600ms\"\n";
    let gateway = Program::serve(&(upstream.config() + patience));
    let first_bytes = ["G", "GET /", "GET /g HTTP/1.1\r\nHost: h\r\nX: "];
    for begun in first_bytes {
        let answers = Client::exchange(gateway.address, begun.as_bytes());
        assert_eq!(answers.iter().map(|a| a.status).collect::<Vec<_>>(), [408], "{begun}");
    }
    // Whoever says nothing at all is owed no answer, and so is who stops between two requests.
    assert!(Client::connect(gateway.address).is_closed());
    assert_eq!(Client::exchange(gateway.address, GET.as_bytes()).len(), 1);

    let begun = "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf";
    let answers = Client::exchange(gateway.address, begun.as_bytes());
    assert_eq!(answers.iter().map(|a| a.status).collect::<Vec<_>>(), [408]);
    assert_eq!(upstream.asked(), ["GET /g"]);
}

#[test]
fn a_machine_out_of_sockets_serves_again_when_there_are_some() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 40; exec \"$0\" \"$@\"", program::path()]);
    let gateway = Program::start(shell, "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\n");
    let crowd: Vec<_> = (0..100).map(|_| Client::connect(gateway.address)).collect();
    until("the shortage is told", || {
        gateway.stderr().contains("could not take a connection").then_some(())
    });
    drop(crowd);
    assert_eq!(Client::ask(gateway.address, GET).status, 200);
    assert_eq!(gateway.stderr().matches("could not take a connection").count(), 1);
}

#[test]
fn connections_beyond_the_limit_wait_for_a_place() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&(upstream.config() + "[server.sizes]\nconnections = 1\n"));
    let mut first = Client::connect(gateway.address);
    first.send(GET.as_bytes());
    assert_eq!(first.answer().unwrap().status, 200);
    let mut second = Client::connect(gateway.address);
    second.send(GET.as_bytes());
    first.send(GET.as_bytes());
    assert_eq!(first.answer().unwrap().status, 200);
    assert_eq!(upstream.asked().len(), 2);
    drop(first);
    assert_eq!(second.answer().unwrap().status, 200);
}

#[test]
fn an_address_that_is_taken_is_told_and_ends_the_program() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let file = program::Scratch::new(
        "taken.toml",
        &format!("[server]\nlisten = \"{address}\"\nmetrics = \"off\"\n"),
    );
    let output = program::run(&["serve", file.path()]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(&format!("cannot listen on {address}")), "{told}");
}

#[test]
fn a_log_that_nobody_takes_breaks_nothing() {
    let config = "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\nupstream = \"http://127.0.0.1:1\"\n";
    let mut gateway = Program::serve_unheard(config);
    assert_eq!(Client::ask(gateway.address, GET).status, 502);
    gateway.signal("TERM");
    assert!(gateway.ended().success());
}
