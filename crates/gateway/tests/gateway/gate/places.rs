//! Places for so many requests at once.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::sync::Semaphore;

use super::{Held, ask, becomes, begin, file, get, of_app, refused};
use crate::client::Client;
use crate::http2::connect;
use crate::program::{Program, until};
use crate::service::{self, Speaks};
use crate::tunnels::{Echo, open};
use crate::upstream::{Keep, Upstream};

const ONE: &str = "max_in_flight = 1\nmax_waiting = 0";
const ONE_AND_ONE: &str = "max_in_flight = 1\nmax_waiting = 1\nmax_wait = \"20s\"";

#[test]
fn so_many_are_sent_at_once_and_the_rest_in_the_order_they_came() {
    let held = Held::start();
    let gateway = held.serve("max_in_flight = 2\nmax_waiting = 3\nmax_wait = \"19500ms\"");
    let mut clients = vec![begin(&gateway, "/0")];
    held.has(1);
    clients.push(begin(&gateway, "/1"));
    held.has(2);
    for nth in 2..5 {
        clients.push(begin(&gateway, &format!("/{nth}")));
        becomes(&gateway, &of_app("waiting"), nth - 1);
    }
    assert_eq!(gateway.metric(&of_app("in_flight")), 2);
    let full = ask(&gateway);
    assert_eq!((full.status, full.header("retry-after")), (503, Some("20")));
    assert_eq!(full.header("content-type"), Some("application/problem+json"));
    assert_eq!(full.header("cache-control"), Some("no-store"));
    assert_eq!(full.json()["code"], "upstream_busy");
    assert_eq!(gateway.metric(&refused("full")), 1);
    for sent in 2..=5 {
        held.answer_one();
        let next = (sent + 1).min(5);
        held.has(next);
    }
    held.answer_one();
    for client in &mut clients {
        assert_eq!(client.answer().unwrap().status, 200);
    }
    assert_eq!(held.upstream.asked()[2..], ["GET /2", "GET /3", "GET /4"]);
    assert_eq!(held.most.load(Ordering::SeqCst), 2);
    becomes(&gateway, &of_app("in_flight"), 0);
    assert_eq!(gateway.metric(&of_app("waiting")), 0);
    assert_eq!(gateway.metric("tollgate_upstream_failures_total"), 0, "who is not asked fails not");
    assert!(gateway.stderr().contains("`app`: 2 are in flight and 3 wait"));
}

#[test]
fn a_client_that_leaves_while_it_waits_holds_up_nobody() {
    let held = Held::start();
    let gateway = held.serve(ONE_AND_ONE);
    let mut first = begin(&gateway, "/first");
    held.has(1);
    let leaves = begin(&gateway, "/leaves");
    becomes(&gateway, &of_app("waiting"), 1);
    drop(leaves);
    becomes(&gateway, &of_app("waiting"), 0);
    let mut next = begin(&gateway, "/next");
    becomes(&gateway, &of_app("waiting"), 1);
    held.answer_one();
    held.answer_one();
    assert_eq!(first.answer().unwrap().status, 200);
    assert_eq!(next.answer().unwrap().status, 200);
    assert_eq!(held.upstream.asked(), ["GET /first", "GET /next"]);
}

#[test]
fn an_upstream_that_hangs_is_not_waited_for_and_who_leaves_it_frees_the_place() {
    let held = Held::start();
    let gateway = held.serve("max_in_flight = 1\nmax_wait = \"50ms\"");
    let hangs = begin(&gateway, "/hangs");
    held.has(1);
    let late = ask(&gateway);
    assert_eq!((late.status, late.header("retry-after")), (503, Some("1")));
    assert_eq!(late.json()["code"], "upstream_busy");
    assert_eq!(gateway.metric(&refused("late")), 1);
    drop(hangs);
    becomes(&gateway, &of_app("in_flight"), 0);
    assert_eq!(Client::ask(gateway.address, &get("/now")).status, 200);
}

#[test]
fn an_upstream_that_fails_frees_the_place() {
    let broken = Upstream::with(|_, _| Keep::Closed);
    let more = format!("{ONE}\nanswer = \"100ms\"");
    let gateway = Program::serve(&file(&broken.address.to_string(), &more));
    assert!((0..3).all(|_| ask(&gateway).status == 502));
    let held = Held::start();
    let gateway = held.serve(&more);
    assert!((0..3).all(|_| ask(&gateway).status == 504));
    becomes(&gateway, &of_app("in_flight"), 0);
}

#[test]
fn a_place_is_taken_to_the_end_of_the_body() {
    let (go_on, told) = channel::<()>();
    let told = Mutex::new(told);
    let upstream = Upstream::with(move |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
        let _ = told.lock().unwrap().recv();
        let _ = stream.write_all(b"k");
        Keep::Open
    });
    let gateway = Program::serve(&file(&upstream.address.to_string(), ONE));
    let mut reads = begin(&gateway, "/");
    assert!(reads.head().contains(" 200 "));
    assert_eq!(ask(&gateway).status, 503);
    go_on.send(()).unwrap();
    assert_eq!(reads.take(2), b"ok");
    becomes(&gateway, &of_app("in_flight"), 0);
    let mut leaves = begin(&gateway, "/");
    assert!(leaves.head().contains(" 200 "));
    assert_eq!(ask(&gateway).status, 503);
    drop(leaves);
    becomes(&gateway, &of_app("in_flight"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn t30_a_tunnel_holds_its_place_until_it_ends() {
    let echo = Echo::start().await;
    let gateway = Program::serve(&file(&echo.address.to_string(), ONE));
    for _ in 0..2 {
        let socket = open(&gateway).await;
        assert_eq!(gateway.metric(&of_app("in_flight")), 1);
        assert_eq!(ask(&gateway).json()["code"], "upstream_busy");
        drop(socket);
        becomes(&gateway, &of_app("in_flight"), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_one_connection_wait_and_leave_by_themselves() {
    let gate = Arc::new(Semaphore::new(0));
    let (asked, opens) = (Arc::new(Mutex::new(Vec::new())), gate.clone());
    let seen = asked.clone();
    let address = service::serve(Speaks::Http2, move |request: Request<_>| {
        seen.lock().unwrap().push(request.uri().path().to_owned());
        let opens = opens.clone();
        async move {
            opens.acquire().await.unwrap().forget();
            Response::new(service::text("ok"))
        }
    })
    .await;
    let more = format!("protocol = \"http2\"\n{ONE_AND_ONE}");
    let gateway = Program::serve(&file(&address.to_string(), &more));
    let sender = connect(gateway.address).await;
    let send = |path: &str| {
        let request = Request::get(format!("http://h{path}"));
        let mut sender = sender.clone();
        let request = request.body(Full::<Bytes>::default()).unwrap();
        tokio::spawn(async move { sender.send_request(request).await.unwrap().status().as_u16() })
    };
    let first = send("/first");
    becomes(&gateway, &of_app("in_flight"), 1);
    let leaves = send("/leaves");
    becomes(&gateway, &of_app("waiting"), 1);
    assert_eq!(send("/full").await.unwrap(), 503);
    leaves.abort();
    becomes(&gateway, &of_app("waiting"), 0);
    let next = send("/next");
    becomes(&gateway, &of_app("waiting"), 1);
    gate.add_permits(2);
    assert_eq!((first.await.unwrap(), next.await.unwrap()), (200, 200));
    assert_eq!(*asked.lock().unwrap(), ["/first", "/next"]);
}

#[test]
fn a_call_of_grpc_is_told_unavailable_and_when_to_come_again() {
    let held = Held::start();
    let gateway = held.serve("max_in_flight = 1\nmax_wait = \"1500ms\"\nmax_waiting = 1");
    let (_first, _second) = (begin(&gateway, "/1"), begin(&gateway, "/2"));
    becomes(&gateway, &of_app("waiting"), 1);
    let call = "POST /a.B/C HTTP/1.1\r\nHost: h\r\nContent-Type: application/grpc\r\n\
        Content-Length: 0\r\n\r\n";
    let answer = Client::ask(gateway.address, call);
    assert_eq!((answer.status, answer.header("grpc-status")), (200, Some("14")));
    assert_eq!(answer.header("grpc-retry-pushback-ms"), Some("2000"));
    assert_eq!(answer.header("content-type"), Some("application/grpc"));
}

/// A limit that counted no request while the upstream has enough would hold nobody back just then.
#[test]
fn a_request_that_is_not_sent_stays_charged_unless_successes_alone_count() {
    let held = Held::start();
    let limit = |count: &str| {
        format!(
            "{ONE}\n[[limit]]\nname = \"all\"\nby = \"global\"\nrate = \"3/hour\"\n\
             algorithm = \"fixed-window\"\ncount = \"{count}\"\n"
        )
    };
    let gateway = held.serve(&limit("all"));
    let first = begin(&gateway, "/1");
    held.has(1);
    assert_eq!([(); 4].map(|()| ask(&gateway).status), [503, 503, 429, 429]);
    drop(first);
    drop(gateway);
    let gateway = held.serve(&limit("successes"));
    let _first = begin(&gateway, "/2");
    held.has(2);
    assert_eq!([(); 4].map(|()| ask(&gateway).status), [503; 4]);
    assert_eq!(gateway.metric("tollgate_given_back_total{limit=\"all\"}"), 4);
}

#[test]
fn places_go_on_over_a_reload_that_leaves_them_as_they_are() {
    let held = Held::start();
    let gateway = held.serve(ONE);
    let mut first = begin(&gateway, "/1");
    held.has(1);
    // Another upstream in all but its places.
    reload(&gateway, &held.file(&format!("{ONE}\nbalance = \"least-loaded\"")));
    assert_eq!(gateway.metric(&of_app("in_flight")), 1);
    assert_eq!(ask(&gateway).status, 503);
    reload(&gateway, &held.file("max_in_flight = 2\nmax_waiting = 0"));
    assert_eq!(Client::ask(gateway.address, &get("/now")).status, 200);
    reload(&gateway, &held.file(""));
    let scrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let text = Client::ask(gateway.metrics.unwrap(), scrape).text();
    assert!(!text.contains("tollgate_upstream_in_flight{"), "{text}");
    held.answer_one();
    assert_eq!(first.answer().unwrap().status, 200);
}

/// Puts a file in force by a signal and waits until it is.
pub(super) fn reload(gateway: &Program, config: &str) {
    const APPLIED: &str = "tollgate_config_reloads_total{result=\"applied\"}";
    let before = gateway.metric(APPLIED);
    gateway.rewrite(config);
    gateway.signal("HUP");
    until("the file is in force", || (gateway.metric(APPLIED) > before).then_some(()));
}
