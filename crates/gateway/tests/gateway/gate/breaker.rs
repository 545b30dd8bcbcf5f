//! A breaker before an upstream.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::places::reload;
use super::{Held, ask, becomes, begin, file, get, of_app, refused};
use crate::client::Client;
use crate::program::{Program, until};
use crate::upstream::{Keep, Upstream};

const STATE: &str = "breaker_state";

fn turns(to: &str) -> String {
    format!("tollgate_upstream_breaker_turns_total{{upstream=\"app\",to=\"{to}\"}}")
}

/// A server that answers 500 while it is not well.
fn flapping() -> (Upstream, Arc<AtomicBool>) {
    let well = Arc::new(AtomicBool::new(false));
    let told = well.clone();
    let upstream = Upstream::with(move |_, stream| {
        let status = if told.load(Ordering::SeqCst) { "200 OK" } else { "500 Oh" };
        let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
        Keep::Open
    });
    (upstream, well)
}

#[test]
fn a_breaker_opens_probes_and_closes() {
    let (upstream, well) = flapping();
    let breaker = "breaker = { failures_in_a_row = 3, open_for = \"200ms\", probes = 1, \
        close_after = 2, reopen_after = 1 }";
    let gateway = Program::serve(&file(&upstream.address.to_string(), breaker));
    assert_eq!(gateway.metric(&of_app(STATE)), 0);
    assert_eq!([(); 3].map(|()| ask(&gateway).status), [500; 3]);
    let open = ask(&gateway);
    assert_eq!((open.status, open.header("retry-after")), (503, Some("1")));
    assert_eq!(open.json()["code"], "upstream_open");
    assert_eq!(open.header("cache-control"), Some("no-store"));
    assert_eq!((upstream.asked().len(), gateway.metric(&of_app(STATE))), (3, 2));
    // The gateway works: to be sent nothing would help nobody.
    let ready = "GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(Client::ask(gateway.metrics.unwrap(), ready).status, 200);

    let answered = until("a probe", || Some(ask(&gateway).status).filter(|status| *status != 503));
    assert_eq!((answered, upstream.asked().len()), (500, 4));
    assert_eq!(ask(&gateway).status, 503, "one bad probe opens it again");
    well.store(true, Ordering::SeqCst);
    let answered = until("a probe", || Some(ask(&gateway).status).filter(|status| *status != 503));
    assert_eq!(answered, 200);
    becomes(&gateway, &of_app(STATE), 1);
    until("it is closed", || {
        ask(&gateway);
        (gateway.metric(&of_app(STATE)) == 0).then_some(())
    });
    assert!((0..10).all(|_| ask(&gateway).status == 200));
    let turned = ["open", "half_open", "closed"].map(|to| gateway.metric(&turns(to)));
    assert_eq!(turned, [2, 2, 1]);
    assert!(gateway.metric(&refused("open")) > 0);
    assert_eq!(gateway.metric("tollgate_upstream_failures_total"), 0);
    let log = gateway.stderr();
    for (line, times) in [("a breaker has opened", 2), ("a breaker probes", 2), ("has closed", 1)] {
        assert_eq!(log.matches(line).count(), times, "{line}: {log}");
    }
    assert!(log.contains("upstream=\"app\"") && !log.contains("circuit="), "{log}");
}

#[test]
fn a_breaker_that_is_only_switched_on_opens_when_half_of_twenty_fail() {
    for breaker in ["breaker = true", "breaker = {}"] {
        let (upstream, well) = flapping();
        let gateway = Program::serve(&file(&upstream.address.to_string(), breaker));
        for nth in 0..20 {
            well.store(nth % 2 == 0, Ordering::SeqCst);
            assert_ne!(ask(&gateway).status, 503, "{nth}");
        }
        let open = ask(&gateway);
        assert_eq!((open.status, open.json()["code"].as_str()), (503, Some("upstream_open")));
        let wait: u64 = open.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=2).contains(&wait), "{wait}");
    }
    let (upstream, _) = flapping();
    let gateway = Program::serve(&file(&upstream.address.to_string(), "breaker = false"));
    assert!((0..30).all(|_| ask(&gateway).status == 500));
}

#[test]
fn no_answer_is_a_failure_and_a_client_that_leaves_or_errs_is_none() {
    let once = "max_in_flight = 9\nbreaker = { failures_in_a_row = 1, open_for = \"1h\" }";
    let held = Held::start();
    let gateway = held.serve(once);
    let leaves = begin(&gateway, "/hangs");
    held.has(1);
    drop(leaves);
    becomes(&gateway, &of_app("in_flight"), 0);
    let chunk = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    assert_eq!(Client::ask(gateway.address, chunk).status, 400);
    assert_eq!(gateway.metric(&of_app(STATE)), 0);
    assert_eq!(Client::ask(gateway.address, &get("/now")).status, 200);

    let gateway = held.serve(&format!("answer = \"100ms\"\n{once}"));
    assert_eq!(ask(&gateway).status, 504);
    let open = ask(&gateway);
    assert_eq!((open.status, open.json()["code"].as_str()), (503, Some("upstream_open")));
    let wait: u64 = open.header("retry-after").unwrap().parse().unwrap();
    assert!((3599..=5400).contains(&wait), "{wait}");

    let closes = Upstream::with(|_, _| Keep::Closed);
    let gateway = Program::serve(&file(&closes.address.to_string(), once));
    assert_eq!([(); 2].map(|()| ask(&gateway).status), [502, 503]);
}

/// A probe has one permit a period, and its client leaves: the next request is the probe.
#[test]
fn a_probe_whose_client_leaves_gives_its_permit_back() {
    let held = Held::start();
    let breaker = "max_in_flight = 9\n\
        breaker = { failures_in_a_row = 1, open_for = \"1s\", probes = 1, close_after = 1 }";
    let gateway = held.serve(breaker);
    assert_eq!(Client::ask(gateway.address, &get("/fail")).status, 500);
    // A period is a second at least; one in which this machine was too slow shows nothing.
    until("the permit is given back within a period", || {
        let before = held.upstream.asked().len();
        let probe = until("a probe goes", || {
            let open = gateway.metric(&refused("open"));
            let client = begin(&gateway, "/hangs");
            until("it is sent or refused", || {
                let sent = held.upstream.asked().len() > before;
                (sent || gateway.metric(&refused("open")) > open).then_some(())
            });
            (held.upstream.asked().len() > before).then_some(client)
        });
        let began = Instant::now();
        assert_eq!(ask(&gateway).status, 503, "its permit is out");
        drop(probe);
        becomes(&gateway, &of_app("in_flight"), 0);
        let answer = Client::ask(gateway.address, &get("/now"));
        let in_time = began.elapsed() < Duration::from_millis(900);
        in_time.then(|| assert_eq!(answer.status, 200))
    });
    assert_eq!(gateway.metric(&of_app(STATE)), 0);
}

#[test]
fn slow_answers_open_it_and_slow_clients_do_not() {
    let upstream = Upstream::with(|seen, stream| {
        if seen.what() == "GET /slow" {
            let began = Instant::now();
            until("it is slow", || (began.elapsed() > Duration::from_millis(300)).then_some(()));
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        Keep::Open
    });
    let breaker = "breaker = { slow_above = \"200ms\", slow_rate = \"100%\", min_calls = 2, \
        window = 2, open_for = \"1h\" }";
    let gateway = Program::serve(&file(&upstream.address.to_string(), breaker));
    for _ in 0..3 {
        let mut client = Client::connect(gateway.address);
        client.send(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbo");
        let began = Instant::now();
        until("it is slow", || (began.elapsed() > Duration::from_millis(300)).then_some(()));
        client.send(b"dy");
        assert_eq!(client.answer().unwrap().status, 200);
    }
    assert_eq!(gateway.metric(&of_app(STATE)), 0);
    for _ in 0..2 {
        assert_eq!(Client::ask(gateway.address, &get("/slow")).status, 200);
    }
    assert_eq!(ask(&gateway).json()["code"], "upstream_open");
}

#[test]
fn who_waits_for_a_place_hears_that_the_breaker_opened_meanwhile() {
    let held = Held::start();
    let gateway = held.serve(
        "answer = \"300ms\"\nmax_in_flight = 1\nmax_wait = \"20s\"\n\
         breaker = { failures_in_a_row = 1, open_for = \"1h\" }",
    );
    let (mut first, mut waits) = (begin(&gateway, "/1"), Client::connect(gateway.address));
    held.has(1);
    waits.send(get("/2").as_bytes());
    assert_eq!(first.answer().unwrap().status, 504);
    assert_eq!(waits.answer().unwrap().json()["code"], "upstream_open");
    assert_eq!(held.upstream.asked(), ["GET /1"]);
    becomes(&gateway, &of_app("in_flight"), 0);
}

#[test]
fn a_breaker_goes_on_over_a_reload_that_leaves_it_as_it_is() {
    let (upstream, well) = flapping();
    let file = |more: &str| file(&upstream.address.to_string(), more);
    let breaker = "breaker = { failures_in_a_row = 1, open_for = \"1h\" }";
    let gateway = Program::serve(&file(breaker));
    assert_eq!([(); 2].map(|()| ask(&gateway).status), [500, 503]);
    well.store(true, Ordering::SeqCst);
    reload(&gateway, &file(&format!("{breaker}\nmax_in_flight = 5\nanswer = \"5s\"")));
    assert_eq!((ask(&gateway).status, gateway.metric(&of_app(STATE))), (503, 2));
    reload(&gateway, &file("breaker = { failures_in_a_row = 2, open_for = \"1h\" }"));
    assert_eq!((ask(&gateway).status, gateway.metric(&of_app(STATE))), (200, 0));
}
