//! What stands before an upstream: places for so many requests at once, and a breaker.

mod breaker;
mod places;

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use crate::client::{Answer, Client};
use crate::program::{Program, Scratch, run, until};
use crate::upstream::{Keep, Upstream};

/// A gateway's file in front of the upstream `app` at this address.
fn file(address: &str, more: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
         [[route]]\nupstream = \"app\"\n\
         [[upstream]]\nname = \"app\"\nservers = [\"http://{address}\"]\n{more}\n"
    )
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n")
}

/// A client whose request is on its way.
fn begin(gateway: &Program, path: &str) -> Client {
    let mut client = Client::connect(gateway.address);
    client.send(get(path).as_bytes());
    client
}

fn ask(gateway: &Program) -> Answer {
    Client::ask(gateway.address, &get("/g"))
}

fn of_app(name: &str) -> String {
    format!("tollgate_upstream_{name}{{upstream=\"app\"}}")
}

fn refused(reason: &str) -> String {
    format!("tollgate_upstream_refused_total{{upstream=\"app\",reason=\"{reason}\"}}")
}

/// A server that answers each request once it is told to; `/now` and, with 500, `/fail` at once.
struct Held {
    upstream: Upstream,
    go_on: Sender<()>,
    /// The most requests that it had at once.
    most: Arc<AtomicUsize>,
}

impl Held {
    fn start() -> Held {
        let (go_on, told) = channel::<()>();
        let (told, most, now) =
            (Mutex::new(told), Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let seen_most = most.clone();
        let upstream = Upstream::with(move |seen, stream| {
            let at_once = now.fetch_add(1, Ordering::SeqCst) + 1;
            seen_most.fetch_max(at_once, Ordering::SeqCst);
            let status = if seen.what() == "GET /fail" { "500 Oh" } else { "200 OK" };
            if !["GET /now", "GET /fail"].contains(&&*seen.what()) {
                let _ = told.lock().unwrap().recv();
            }
            now.fetch_sub(1, Ordering::SeqCst);
            let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
            Keep::Open
        });
        Held { upstream, go_on, most }
    }

    fn serve(&self, more: &str) -> Program {
        Program::serve(&self.file(more))
    }

    fn file(&self, more: &str) -> String {
        file(&self.upstream.address.to_string(), more)
    }

    fn has(&self, count: usize) {
        until("the server has them", || (self.upstream.asked().len() == count).then_some(()));
    }

    fn answer_one(&self) {
        self.go_on.send(()).unwrap();
    }
}

fn becomes(gateway: &Program, series: &str, value: u64) {
    until(series, || (gateway.metric(series) == value).then_some(()));
}

#[test]
fn what_is_told_of_a_file_tells_of_its_gates() {
    let more = "max_in_flight = 100\nmax_wait = \"500ms\"\nbreaker = { slow_above = \"2s\" }\n\
        [[limit]]\nname = \"a\"\nrate = \"1/s\"\n";
    let told = "100 requests at once, 100 more wait 500ms at most; \
        a breaker opens for 1s, answers are slow above 2s";
    let text = file("127.0.0.1:1", more);
    let scratch = Scratch::new("gates.toml", &text);
    let output = |arguments: &[&str]| String::from_utf8(run(arguments).stdout).unwrap();
    let check = output(&["check", scratch.path()]);
    assert!(check.ends_with(&format!("\n  upstream app: {told}\n")), "{check}");
    let explain = output(&["explain", scratch.path(), "/"]);
    let goes = format!("  goes    to app (every request)\n          if it may: {told}\n");
    assert!(explain.contains(&goes), "{explain}");
    let gateway = Program::serve(&text);
    assert!(gateway.banner.contains(&format!("  upstream app: {told}\n")), "{}", gateway.banner);
    let plain = Scratch::new("plain.toml", &file("127.0.0.1:1", ""));
    assert!(!output(&["check", plain.path()]).contains("upstream app"));
}

#[test]
fn mistakes_are_told_with_their_place_and_what_to_do() {
    for (wrong, key, expected) in [
        (
            "max_waiting = 5",
            "`upstream.max_waiting` means nothing without `max_in_flight`",
            "`max_in_flight` beside it",
        ),
        ("max_in_flight = 0", "`upstream.max_in_flight` is out of range", "1 to 1000000"),
        (
            "max_in_flight = 5\nmax_waiting = 0\nmax_wait = \"1s\"",
            "nobody may wait",
            "no `max_wait`",
        ),
        (
            "max_in_flight = 5\nmax_wait = \"1h\"",
            "so long or so short",
            "`max_waiting = 0` lets nobody wait",
        ),
        ("max_inflight = 5", "max_inflight` is not a key", "did you mean `max_in_flight`?"),
        ("breaker = 5", "a bare number", "`true`, or a table such as"),
        (
            "breaker = { failure_rate = \"half\" }",
            "`half` is no such part",
            "`\"1%\"` to `\"100%\"`",
        ),
        ("breaker = { failure_rate = 50 }", "a bare number", "`\"1%\"` to `\"100%\"`"),
        (
            "breaker = { slow_rate = \"9%\" }",
            "means nothing without `slow_above`",
            "slow_above = \"2s\"",
        ),
        ("breaker = { window = 1025 }", "out of range", "1 to 1024"),
        (
            "breaker = { open_for = \"1h\", open_up_to = \"1m\" }",
            "shorter than `open_for`",
            "no shorter",
        ),
        (
            "breaker = { failurerate = \"9%\" }",
            "failurerate` is not a key",
            "did you mean `failure_rate`?",
        ),
    ] {
        let scratch = Scratch::new("wrong.toml", &file("127.0.0.1:1", wrong));
        let output = run(&["check", scratch.path()]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        let line = 8 + wrong.lines().count();
        assert!(told.contains(&format!(".toml:{line}:")), "{wrong}: {told}");
        assert!(told.contains(key) && told.contains(expected), "{wrong}: {told}");
        assert_eq!(told.matches("error: ").count(), 1, "{wrong}: {told}");
    }
}
