//! However a stream is cut into reads, hyper behind the wire finds the same requests in it, and no
//! others than the strict reader that the attacks are judged by.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use super::*;

#[path = "../../tests/attack/strict.rs"]
mod strict;

use strict::Request as Found;

const LIMITS: HeadLimits = HeadLimits { bytes: 64 * 1024, headers: 100, target: 8 * 1024 };
const PATIENCE: Patience =
    Patience { head: Duration::from_secs(10), write: Duration::from_secs(10) };

/// A client whose bytes come in these portions, one a read, and never end.
struct Portions {
    portions: VecDeque<Vec<u8>>,
    turn: Turn,
    written: Arc<Mutex<Vec<u8>>>,
}

/// Whether there is something to read.
#[derive(PartialEq, Eq)]
enum Turn {
    NotYet,
    Now,
}

impl Portions {
    fn of<'p>(portions: impl IntoIterator<Item = &'p [u8]>) -> Portions {
        let portions = portions.into_iter().filter(|part| !part.is_empty());
        Portions {
            portions: portions.map(Vec::from).collect(),
            turn: Turn::NotYet,
            written: Arc::default(),
        }
    }
}

impl AsyncRead for Portions {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.portions.is_empty() {
            return Poll::Pending;
        }
        // Whoever reads has to wait before each portion, and so looks at what came before alone.
        if self.turn == Turn::NotYet {
            self.turn = Turn::Now;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.turn = Turn::NotYet;
        let portion = &mut self.portions[0];
        let length = portion.len().min(out.remaining());
        out.put_slice(&portion[..length]);
        portion.drain(..length);
        if portion.is_empty() {
            self.portions.pop_front();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Portions {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.written.lock().unwrap().extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// What became of a stream.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// The requests that came whole.
    passed: Vec<Found>,
    /// Why one was refused: before anything was made of it, or in the midst of its body.
    refused: Vec<&'static str>,
    written: String,
}

/// What hyper makes of a stream that comes in these portions.
async fn outcome<'p>(portions: impl IntoIterator<Item = &'p [u8]>) -> Outcome {
    let stream = Portions::of(portions);
    let written = stream.written.clone();
    let (wire, _) = Wire::open(stream, LIMITS, PATIENCE).await.unwrap();
    let (last, next, seen) = (wire.last(), AtomicU64::new(0), Mutex::new((vec![], vec![])));
    let service = service_fn(|request: Request<Incoming>| {
        let nth = next.fetch_add(1, Ordering::Relaxed);
        let (last, seen) = (&last, &seen);
        async move {
            let refused = match last.get() {
                Some((place, Why::Refused(_))) if *place == nth => Some("head"),
                _ => None,
            };
            let (parts, body) = request.into_parts();
            let body = body.collect().await;
            let mut seen = seen.lock().unwrap();
            let status = match (refused, body) {
                (None, Ok(body)) => {
                    seen.0.push(Found {
                        method: parts.method.to_string(),
                        target: parts.uri.to_string(),
                        body: body.to_bytes().to_vec(),
                    });
                    200
                }
                (head, _) => {
                    seen.1.push(head.unwrap_or("body"));
                    400
                }
            };
            let response = Response::builder().status(status).body(Full::<Bytes>::default());
            Ok::<_, Infallible>(response.unwrap())
        }
    });
    let connection =
        http1::Builder::new().auto_date_header(false).serve_connection(TokioIo::new(wire), service);
    let _ = connection.await;
    let (passed, refused) = seen.into_inner().unwrap();
    let written = String::from_utf8(written.lock().unwrap().clone()).unwrap();
    Outcome { passed, refused, written }
}

const LAST: &str = "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

/// Streams in order, then such as are read in two ways somewhere. Bodies hold what a reader who lost his
/// place would take for a request.
const IN_ORDER: [&str; 4] = [
    "PUT /0 HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 30\r\n\r\n\
     GET /in HTTP/1.1\r\nHost: h\r\n\r\n+\
     PUT /1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n\
     5;a=b\r\nGET /\r\n1e\r\nGET /in HTTP/1.1\r\nHost: h\r\n\t\r\n\r\n000\r\nTrailer: 2\r\n\r\n",
    "\r\nPOST /0 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n\r\n\r\n\r\n\r\n\
     POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST /0 HTTP/1.1\r\nHost: h\r\ntransfer-encoding:\tCHUNKED \r\n\r\n\
     1\r\n\r\r\n1\r\n\n\r\n2\r\n\r\n\r\n0\r\n\r\n\
     POST /1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\nC: d\r\n\r\n",
    "PUT /0 HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 7\r\n\r\n0\r\n\r\nab",
];
const AMBIGUOUS: [&str; 9] = [
    "POST /0 HTTP/1.1\r\nContent-Length: 43\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /0 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n0\r\n\r\n",
    "POST /0 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
    "POST /0 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\n\r\n",
    "POST /0 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\r\n",
    "GET /0 HTTP/1.1\r\nA: b\n\r\n",
    "GET /0 HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
    "GET /0 HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "GET /0 HTTP/1.1\r\n\rA: b\r\n\r\n",
];

/// A stream in every two portions, in every three of which the middle one is small, and byte by byte.
async fn is_the_same_in_every_cut(stream: &[u8], whole: &Outcome) {
    for first in 1..stream.len() {
        for second in first..(first + 4).min(stream.len()) {
            let parts = [&stream[..first], &stream[first..second], &stream[second..]];
            assert_eq!(outcome(parts).await, *whole, "cut at {first} and {second}");
        }
    }
    for size in [1, 2, 3, 5] {
        assert_eq!(outcome(stream.chunks(size)).await, *whole, "in portions of {size}");
    }
}

#[tokio::test(start_paused = true)]
async fn t14_however_requests_in_order_are_cut_each_is_found_at_its_place() {
    for stream in IN_ORDER {
        let stream = [stream, LAST].concat();
        let whole = outcome([stream.as_bytes()]).await;
        assert_eq!(whole.passed, strict::read(stream.as_bytes()), "{stream:?}");
        assert_eq!(whole.passed.last().unwrap().target, "/last", "{stream:?}");
        is_the_same_in_every_cut(stream.as_bytes(), &whole).await;
    }
}

#[tokio::test(start_paused = true)]
async fn t14_however_an_ambiguous_request_is_cut_it_and_all_behind_it_is_refused() {
    let before = "POST /b HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
    for stream in AMBIGUOUS {
        let stream = [before, stream, LAST].concat();
        let whole = outcome([stream.as_bytes()]).await;
        assert_eq!(whole.passed, strict::read(stream.as_bytes()), "{stream:?}");
        assert_eq!(whole.passed.len(), 1, "{stream:?}");
        assert_eq!(whole.refused.len(), 1, "{stream:?}");
        is_the_same_in_every_cut(stream.as_bytes(), &whole).await;
    }
}

/// What is read behind the first `seen` bytes of a request, where the rest lies there only when the time of
/// a head is long up, and `rest` of it at all.
async fn read_late(request: &[u8], seen: usize, rest: &[u8]) -> Vec<u8> {
    let stream = Portions::of([&request[..seen], rest]);
    let (mut wire, _) = Wire::open(stream, LIMITS, PATIENCE).await.unwrap();
    let mut bytes = [0; 100];
    let mut reading = pin!(wire.read(&mut bytes));
    let first = std::future::poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await;
    assert!(first.is_pending());
    tokio::time::advance(PATIENCE.head * 2).await;
    let length = reading.await.unwrap();
    bytes[..length].to_vec()
}

#[tokio::test(start_paused = true)]
async fn a_head_that_has_come_is_read_though_its_time_is_up() {
    let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    for seen in 1..request.len() {
        assert_eq!(read_late(request, seen, &request[seen..]).await, request);
        assert_eq!(read_late(request, seen, b"").await, REFUSED);
    }
}
