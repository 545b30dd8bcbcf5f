//! One stream of requests, cut at every place and sent in two parts: what is answered and what the
//! upstream sees is the same, also where the gateway is halted in the midst.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::client::Client;
use crate::program::Program;
use crate::upstream::{Keep, Seen, Upstream};

const RUNNERS: usize = 8;

/// Requests in each framing, with these paths; bodies hold what a reader who lost his place would take
/// for a request.
fn stream(id: usize) -> String {
    format!(
        "PUT /{id}/0 HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 29\r\n\r\n\
         GET /in HTTP/1.1\r\nHost: h\r\n\r\n\
         PUT /{id}/1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n\
         5;a=b\r\nGET /\r\n1E\r\nGET /in HTTP/1.1\r\nHost: h\r\n\t\r\n\r\n000\r\nTrailer: {id}\r\n\r\n\
         GET /{id}/2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    )
}

/// What is answered: each request as the upstream saw it.
fn told(id: usize) -> [String; 3] {
    let inner = "GET /in HTTP/1.1\r\nHost: h\r\n";
    [
        format!("PUT /{id}/0 {inner}\r\n"),
        format!("PUT /{id}/1 GET /{inner}\t\r\n"),
        format!("GET /{id}/2 "),
    ]
}

fn shown(seen: &Seen) -> String {
    format!("{} {}", seen.what(), String::from_utf8_lossy(&seen.body))
}

fn started() -> (Upstream, Program) {
    let upstream = Upstream::with(|seen, stream| {
        let told = shown(seen);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", told.len());
        let _ = stream.write_all(&[head.as_bytes(), told.as_bytes()].concat());
        Keep::Open
    });
    let gateway = Program::serve(&upstream.config());
    (upstream, gateway)
}

/// Asks in two parts, with `between` between them, and holds every answer to its place.
fn ask(gateway: &Program, id: usize, cut: usize, between: impl Fn()) {
    let stream = stream(id);
    let mut client = Client::connect(gateway.address);
    client.send(&stream.as_bytes()[..cut]);
    between();
    client.send(&stream.as_bytes()[cut..]);
    let answers: Vec<_> = client.answers().iter().map(|answer| answer.text()).collect();
    assert_eq!(answers, told(id), "cut at {cut}");
}

#[test]
fn t14_a_stream_cut_anywhere_is_answered_and_seen_as_the_whole() {
    let (upstream, gateway) = started();
    let length = stream(1_000).len();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..RUNNERS {
            scope.spawn(|| {
                while let cut @ ..1_000 = next.fetch_add(1, Ordering::Relaxed)
                    && cut <= length
                {
                    ask(&gateway, 1_000 + cut, cut, std::thread::yield_now);
                }
            });
        }
    });
    let mut seen: Vec<_> = upstream.seen().iter().map(shown).collect();
    let mut answered: Vec<_> = (0..=length).flat_map(|cut| told(1_000 + cut)).collect();
    seen.sort_unstable();
    answered.sort_unstable();
    assert_eq!(seen, answered);
}

#[test]
fn t14_a_gateway_that_is_halted_in_the_midst_of_a_stream_reads_it_as_the_whole() {
    let (upstream, gateway) = started();
    let length = stream(1_000).len();
    let cuts: Vec<_> = (0..=length).step_by(7).collect();
    for cut in &cuts {
        // What is sent meanwhile lies there when it goes on, whole or in part.
        gateway.signal("STOP");
        ask(&gateway, 1_000 + cut, *cut, || gateway.signal("CONT"));
    }
    assert_eq!(upstream.seen().len(), cuts.len() * 3);
}
