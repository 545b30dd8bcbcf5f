//! HTTP/2 with prior knowledge in, HTTP/1.1 out.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::client::Client;
use crate::program::{DEADLINE, Program, until};
use crate::upstream::{Keep, Upstream};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// GET, http, /, and the authority `h`, by the static table.
const HEAD: [u8; 6] = [0x82, 0x86, 0x84, 0x41, 0x01, b'h'];

pub(crate) async fn connect(address: SocketAddr) -> SendRequest<Full<Bytes>> {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn ask(
    sender: &mut SendRequest<Full<Bytes>>,
    request: http::request::Builder,
) -> (u16, Bytes) {
    let request = request.version(Version::HTTP_2).body(Full::from("body")).unwrap();
    let response: Response<Incoming> = sender.send_request(request).await.unwrap();
    let status = response.status().as_u16();
    (status, response.into_body().collect().await.unwrap().to_bytes())
}

#[tokio::test]
async fn requests_go_on_as_http_1() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    let mut sender = connect(gateway.address).await;
    let request = Request::post("http://Shop.Test//a/../b?q")
        .header("cookie", "a=1")
        .header("cookie", "b=2")
        .header("te", "trailers")
        .header("x-forwarded-for", "6.6.6.6")
        .header("x_forwarded_for", "6.6.6.6");
    let (status, body) = ask(&mut sender, request).await;
    assert_eq!((status, &*body), (200, &b"ok"[..]));
    let seen = upstream.seen().remove(0);
    assert_eq!((seen.what(), &*seen.body), ("POST /b?q".to_owned(), &b"body"[..]));
    assert!(seen.head.starts_with("POST /b?q HTTP/1.1\r\n"));
    assert_eq!((seen.header("host"), seen.lines("host")), (Some("shop.test"), 1));
    assert_eq!((seen.header("cookie"), seen.lines("cookie")), (Some("a=1; b=2"), 1));
    assert_eq!((seen.header("te"), seen.header("x_forwarded_for")), (Some("trailers"), None));
    assert_eq!(seen.header("x-forwarded-for"), Some("127.0.0.1"));
}

#[tokio::test]
async fn what_is_ambiguous_is_refused_and_the_connection_goes_on() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    let mut sender = connect(gateway.address).await;
    let refused = [
        Request::get("http://h/").header("host", "i"),
        Request::get("http://h/%2f"),
        Request::get("http://h/..%2f"),
        Request::builder().method("get").uri("http://h/"),
        Request::get("http://u@h/"),
    ];
    for request in refused {
        let shown = format!("{request:?}");
        assert_eq!(ask(&mut sender, request).await.0, 400, "{shown}");
    }
    let long = Request::get(format!("http://h/{}", "a".repeat(9_000)));
    assert_eq!(ask(&mut sender, long).await.0, 414);
    let many =
        (0..101).fold(Request::get("http://h/"), |many, n| many.header(format!("x-{n}"), "a"));
    assert_eq!(ask(&mut sender, many).await.0, 431);
    assert_eq!(ask(&mut sender, Request::get("http://h/last").header("host", "h")).await.0, 200);
    assert_eq!(upstream.asked(), ["GET /last"]);
}

/// A frame of a type on a stream.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// What the server sends until it closes, or until `enough`.
pub(crate) fn read_until(stream: &mut TcpStream, enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
    while !enough(&seen) {
        match stream.read(&mut bytes) {
            Ok(read @ 1..) => seen.extend_from_slice(&bytes[..read]),
            _ => break,
        }
    }
    seen
}

#[test]
fn streams_reset_in_rows_end_the_connection_and_nobody_else_is_hurt() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    let mut stream = raw(&gateway);
    for nth in 0..500u32 {
        let id = nth * 2 + 1;
        let both = [frame(1, 0x5, id, &HEAD), frame(3, 0, id, &8u32.to_be_bytes())].concat();
        if stream.write_all(&both).is_err() {
            break;
        }
    }
    // ENHANCE_YOUR_CALM, and the end.
    let seen = read_until(&mut stream, |_| false);
    let calm = |window: &[u8]| window[3] == 7 && window[13..17] == 11u32.to_be_bytes();
    assert!(seen.windows(17).any(calm), "no GOAWAY that asks for calm: {seen:?}");
    assert!(upstream.asked().len() < 150, "{} went through", upstream.asked().len());

    let get = "GET /other HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(Client::ask(gateway.address, get).status, 200);
}

#[test]
fn an_idle_connection_is_closed_and_so_is_half_a_preface() {
    let patience = "[server.timeouts]\nhead = \"200ms\"\nidle = \"200ms\"\n";
    let gateway = Program::serve(
        &("[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\n".to_owned() + patience),
    );
    for begun in [[PREFACE, &frame(4, 0, 0, &[])].concat(), PREFACE[..20].to_vec()] {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(&begun).unwrap();
        read_until(&mut stream, |_| false);
        let closed = stream.read(&mut [0]).map_or(true, |read| read == 0);
        assert!(closed);
    }
}

/// A connection that has said hello.
pub(crate) fn raw(gateway: &Program) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(&[PREFACE, &frame(4, 0, 0, &[])].concat()).unwrap();
    stream
}

#[test]
fn t15_a_reset_gives_no_charge_back() {
    let upstream = Upstream::with(|seen, stream| {
        if seen.what() == "GET /" {
            // Held until the client has gone.
            let _ = stream.read(&mut [0]);
            return Keep::Closed;
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        Keep::Open
    });
    let limit = "[[limit]]\nname = \"all\"\nrate = \"3/hour\"\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let mut stream = raw(&gateway);
    for id in [1u32, 3, 5] {
        stream.write_all(&frame(1, 0x5, id, &HEAD)).unwrap();
        let wanted = usize::try_from(id.div_ceil(2)).unwrap();
        until("it is asked", || (upstream.asked().len() == wanted).then_some(()));
        stream.write_all(&frame(3, 0, id, &8u32.to_be_bytes())).unwrap();
    }
    let get = "GET /after HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(Client::ask(gateway.address, get).status, 429);
}

/// Kilobytes of memory that the program holds.
fn resident(gateway: &Program) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn t15_floods_of_frames_cost_little_memory_and_hurt_nobody() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    let get = "GET /other HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(Client::ask(gateway.address, get).status, 200);
    let before = resident(&gateway);
    let floods: [Vec<u8>; 5] = [
        // A head that never ends.
        [frame(1, 0x1, 1, &HEAD), frame(9, 0, 1, &[0u8; 1024]).repeat(20_000)].concat(),
        // Data without data, on an open stream.
        [frame(1, 0x4, 1, &HEAD), frame(0, 0, 1, &[]).repeat(100_000)].concat(),
        frame(4, 0, 0, &[]).repeat(100_000),
        frame(6, 0, 0, &[0; 8]).repeat(100_000),
        // One header, indexed and then named again and again.
        [
            frame(
                1,
                0x1,
                1,
                &[&HEAD[..], &[0x40, 1, b'x', 0x7f, 0x81, 0x1e], &[b'y'; 4000]].concat(),
            ),
            frame(9, 0x4, 1, &[0xbe; 16_000]),
        ]
        .concat(),
    ];
    for flood in floods {
        let mut stream = raw(&gateway);
        for part in flood.chunks(64 * 1024) {
            // Answers are read, or the two would wait for each other.
            stream.set_nonblocking(true).unwrap();
            let _ = stream.read(&mut [0; 256 * 1024]);
            stream.set_nonblocking(false).unwrap();
            if stream.write_all(part).is_err() {
                break;
            }
        }
        assert_eq!(Client::ask(gateway.address, get).status, 200);
    }
    let grown = resident(&gateway).saturating_sub(before);
    assert!(grown < 20 * 1024, "{grown} kB");
}

#[test]
fn t13_a_client_whose_window_stays_shut_is_given_up() {
    let upstream = Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let gateway = Program::serve(&(upstream.config() + "[server.timeouts]\nwrite = \"300ms\"\n"));
    let mut stream = raw(&gateway);
    // The window that streams begin with: nothing.
    stream.write_all(&frame(4, 0, 0, &[0, 4, 0, 0, 0, 0])).unwrap();
    for id in [1u32, 3, 5] {
        stream.write_all(&frame(1, 0x5, id, &HEAD)).unwrap();
    }
    let before = std::time::Instant::now();
    read_until(&mut stream, |_| false);
    assert!(before.elapsed() < DEADLINE, "the connection is closed");
}

#[test]
fn a_length_that_is_said_twice_is_refused_though_it_is_the_same() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    let mut stream = raw(&gateway);
    // POST http://h/, then two lines `content-length: 1` by the name's number in HPACK's table.
    let head = [0x83, 0x86, 0x84, 0x41, 1, b'h', 0x0f, 0x0d, 1, b'1', 0x0f, 0x0d, 1, b'1'];
    stream.write_all(&[frame(1, 0x4, 1, &head), frame(0, 0x1, 1, b"x")].concat()).unwrap();
    // Of the answer's head the first byte is its status, 400 in the same table.
    let refused = |seen: &[u8]| seen.windows(7).any(|w| w[..] == [1, 4, 0, 0, 0, 1, 0x8c]);
    assert!(refused(&read_until(&mut stream, refused)));
    assert_eq!(upstream.asked(), [""; 0]);
}
