//! Ambiguous framing and odd requests: what we answer, and that the upstream sees exactly the
//! requests that were answered, no more and no other.
//!
//! Each request is followed by a plain one on the same connection. Where the first is refused, the
//! second must get neither an answer nor to the upstream.

use crate::client::{Answer, Client};
use crate::program::{Program, until};
use crate::upstream::Upstream;

const LAST: &[u8] = b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

struct Outcome {
    answers: Vec<Answer>,
    upstream: Upstream,
}

impl Outcome {
    fn statuses(&self) -> Vec<u16> {
        self.answers.iter().map(|answer| answer.status).collect()
    }
}

fn outcome(request: &[u8]) -> Outcome {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    let answers = Client::exchange(gateway.address, &[request, LAST].concat());
    Outcome { answers, upstream }
}

#[track_caller]
fn is_refused(status: u16, request: impl AsRef<[u8]>) {
    let outcome = outcome(request.as_ref());
    let shown = String::from_utf8_lossy(request.as_ref()).chars().take(300).collect::<String>();
    assert_eq!(outcome.statuses(), [status], "{shown}");
    assert_eq!(outcome.upstream.asked(), [""; 0], "{shown}");
    let answer = &outcome.answers[0];
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{shown}");
    assert_eq!(answer.header("connection"), Some("close"), "{shown}");
    assert_eq!(answer.json()["status"], status, "{shown}");
}

/// The request passes and so does the one behind it; gives the first as the upstream saw it.
#[track_caller]
fn passes_as(what: &str, request: impl AsRef<[u8]>) -> crate::upstream::Seen {
    let outcome = outcome(request.as_ref());
    let shown = String::from_utf8_lossy(request.as_ref()).into_owned();
    assert_eq!(outcome.statuses(), [200, 200], "{shown}");
    assert_eq!(outcome.upstream.asked(), [what, "GET /last"], "{shown}");
    outcome.upstream.seen().remove(0)
}

fn post(headers: &str, body: &str) -> String {
    format!("POST /p HTTP/1.1\r\nHost: h\r\n{headers}\r\n{body}")
}

fn get(headers: &str) -> String {
    format!("GET /g HTTP/1.1\r\nHost: h\r\n{headers}\r\n")
}

#[test]
fn length_and_chunked_together_are_refused_in_either_order() {
    is_refused(400, post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"));
    is_refused(400, post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"));
    let smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
    is_refused(400, post("Content-Length: 43\r\nTransfer-Encoding: chunked\r\n", smuggled));
}

#[test]
fn two_lengths_are_refused_whether_or_not_they_differ() {
    is_refused(400, post("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd"));
    is_refused(400, post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"));
}

#[test]
fn lengths_that_are_no_plain_number_are_refused() {
    for length in ["3, 3", "+3", "18446744073709551619", "-1", "0x3", "3 3", "", "3.0", "３"] {
        is_refused(400, post(&format!("Content-Length: {length}\r\n"), "abc"));
    }
}

#[test]
fn codings_other_than_chunked_are_refused() {
    for coding in ["xchunked", "chunked, identity", "identity", "gzip, chunked", "chunked, chunked"]
    {
        is_refused(400, post(&format!("Transfer-Encoding: {coding}\r\n"), "0\r\n\r\n"));
    }
}

#[test]
fn two_transfer_encodings_are_refused() {
    let twice = "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n";
    is_refused(400, post(twice, "0\r\n\r\n"));
}

#[test]
fn disguised_transfer_encodings_are_refused() {
    is_refused(400, post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"));
    is_refused(400, post("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"));
    is_refused(400, post("Transfer-Encoding\x0b: chunked\r\n", "0\r\n\r\n"));
}

#[test]
fn chunked_is_refused_in_http_1_0() {
    is_refused(400, "POST /p HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

#[test]
fn folded_lines_and_stray_control_characters_are_refused() {
    is_refused(400, get("X: a\r\n b\r\n"));
    is_refused(400, get(" X: a\r\n"));
    is_refused(400, get("X: a\rb\r\n"));
    is_refused(400, get("X: a\0b\r\n"));
    is_refused(400, get("X\0: a\r\n"));
    is_refused(400, "GET /g\r HTTP/1.1\r\nHost: h\r\n\r\n");
}

#[test]
fn bare_line_feeds_are_refused() {
    is_refused(400, "GET /g HTTP/1.1\nHost: h\n\n");
    is_refused(400, get("X: a\nY: b\r\n"));
    is_refused(400, "GET /g HTTP/1.1\r\nHost: h\r\n\n");
}

/// The request was begun before its body could be seen to be broken: both sides are cut off.
#[track_caller]
fn is_cut_off(body: &str) {
    let outcome = outcome(post("Transfer-Encoding: chunked\r\n", body).as_bytes());
    assert_eq!(outcome.statuses(), [400], "{body}");
    assert_eq!(outcome.upstream.asked(), [""; 0], "{body}");
    // What the upstream was sent, if anything, ends without the last chunk.
    for sent in outcome.upstream.broken() {
        assert!(!String::from_utf8_lossy(&sent).contains("0\r\n\r\n"), "{body}");
    }
}

#[test]
fn broken_chunks_cut_off_both_sides() {
    is_cut_off("3;x\n\r\nabc\r\n0\r\n\r\n");
    is_cut_off("3\nabc\r\n0\r\n\r\n");
    is_cut_off("10000000000000003\r\nabc\r\n0\r\n\r\n");
    is_cut_off("3\r\nabcXX0\r\n\r\n");
    is_cut_off("3\r\nabcd\r\n0\r\n\r\n");
    is_cut_off("+3\r\nabc\r\n0\r\n\r\n");
    is_cut_off("0x3\r\nabc\r\n0\r\n\r\n");
    is_cut_off("3 \r\nabc\r\n0\r\n\r\n");
    is_cut_off("\r\nabc\r\n0\r\n\r\n");
    is_cut_off("-1\r\nabc\r\n0\r\n\r\n");
    is_cut_off("0\r\nX y\r\n\r\n");
}

#[test]
fn a_connection_to_the_upstream_is_not_used_again_behind_a_broken_body() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    let broken = post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n3\r\nabcXX");
    assert_eq!(Client::exchange(gateway.address, broken.as_bytes())[0].status, 400);
    assert_eq!(Client::exchange(gateway.address, LAST)[0].status, 200);
    for sent in until("the broken one has ended", || {
        Some(upstream.broken()).filter(|broken| !broken.is_empty())
    }) {
        assert!(!String::from_utf8_lossy(&sent).contains("/last"));
    }
}

#[test]
fn two_hosts_or_none_are_refused() {
    is_refused(400, "GET /g HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n");
    is_refused(400, "GET /g HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n");
    is_refused(400, "GET /g HTTP/1.1\r\n\r\n");
    for host in ["h,i", "h i", "user@h", "h/x", "", ":80", "h:", "h:99999", "h:x", "[::1", "h?x"] {
        is_refused(400, format!("GET /g HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    }
}

#[test]
fn the_host_of_an_absolute_target_replaces_the_other() {
    let seen = passes_as(
        "GET /a?q=1",
        "GET http://Evil.Example:80/a?q=1 HTTP/1.1\r\nHost: good.example\r\n\r\n",
    );
    assert_eq!((seen.header("host"), seen.lines("host")), (Some("evil.example"), 1));
    is_refused(400, "GET ftp://h/a HTTP/1.1\r\nHost: h\r\n\r\n");
    is_refused(400, "GET http://u@h/a HTTP/1.1\r\nHost: h\r\n\r\n");
    is_refused(400, "GET http://g/a HTTP/1.1\r\nHost: h\r\nHost: g\r\n\r\n");
}

#[test]
fn hosts_have_one_form() {
    for host in ["Shop.Example", "shop.example:80", "shop.example.", "SHOP.example.:80"] {
        let seen = passes_as("GET /", format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(seen.header("host"), Some("shop.example"));
    }
    let seen = passes_as("GET /", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n");
    assert_eq!(seen.header("host"), Some("[::1]:8080"));
}

#[test]
fn an_offer_of_http_2_opens_no_tunnel_and_what_follows_is_a_request() {
    let h2c = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
    let seen = passes_as("GET /g", get(h2c));
    assert_eq!((seen.header("upgrade"), seen.header("http2-settings")), (None, None));
    is_refused(501, "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n");
}

#[test]
fn a_connection_header_that_names_what_identifies_the_client_is_refused() {
    for name in [
        "X-Forwarded-For",
        "x-forwarded-proto",
        "Forwarded",
        "X-Real-IP",
        "Host",
        "Authorization",
        "Cookie",
        "Content-Length",
        "close, X-Forwarded-For",
        "a b",
        "CF-Connecting-IP",
    ] {
        is_refused(400, get(&format!("Connection: {name}\r\nX-Forwarded-For: 1.2.3.4\r\n")));
    }
    is_refused(400, get("Connection: close\r\nConnection: x-forwarded-for\r\n"));
}

#[test]
fn names_with_underscores_are_dropped() {
    let seen =
        passes_as("GET /g", get("x_forwarded_for: 1.2.3.4\r\nX_Api_Key: k\r\nX-Api-Key: l\r\n"));
    assert_eq!((seen.lines("x_forwarded_for"), seen.lines("x_api_key")), (0, 0));
    assert_eq!(seen.header("x-api-key"), Some("l"));
    assert_eq!(seen.header("x-forwarded-for"), Some("127.0.0.1"));
}

#[test]
fn methods_in_small_letters_are_refused() {
    for method in ["get", "Get", "gET", "pOST"] {
        is_refused(400, format!("{method} /g HTTP/1.1\r\nHost: h\r\n\r\n"));
    }
    for method in ["G(T", "\"GET\"", "G\u{e9}T"] {
        is_refused(400, format!("{method} /g HTTP/1.1\r\nHost: h\r\n\r\n"));
    }
    passes_as("M-SEARCH /g", "M-SEARCH /g HTTP/1.1\r\nHost: h\r\n\r\n");
}

#[test]
fn heads_that_are_too_large_are_refused() {
    is_refused(431, get(&format!("X: {}\r\n", "a".repeat(64 * 1024))));
    let many: String = (0..200).map(|nth| format!("X-{nth}: a\r\n")).collect();
    is_refused(431, get(&many));
    let target = "a".repeat(10_000);
    is_refused(414, format!("GET /{target} HTTP/1.1\r\nHost: h\r\n\r\n"));
}

#[test]
fn a_path_is_sent_on_in_one_form() {
    let forms = [
        ("//a//b", "/a/b"),
        ("/a/../b", "/b"),
        ("/a/%2e%2e/b", "/b"),
        ("/%61", "/a"),
        ("/a\\b", "/a/b"),
        ("/./a/.", "/a/"),
        ("/a%c3%a9?x=%2f..//", "/a%C3%A9?x=%2f..//"),
        ("/a;v=1/", "/a;v=1/"),
        ("http://h//a", "/a"),
    ];
    for (sent, seen) in forms {
        let request = format!("GET {sent} HTTP/1.1\r\nHost: h\r\n\r\n");
        passes_as(&format!("GET {seen}"), request);
    }
}

#[test]
fn a_path_that_servers_read_differently_is_refused() {
    for path in [
        "/a%2fb",
        "/a%5cb",
        "/a%00b",
        "/a#frag",
        "/..",
        "/a/../../b",
        "/%",
        "/%zz",
        "/%ff",
        "/..;/a",
        "/%0d%0aX:y",
        "a",
        "h:80",
        "?x",
        "/a\u{7f}",
        "/a%7f",
        "*",
        "/a<b",
        "/a?b<c",
        "/{a}|`",
        "http://u@v@w/",
    ] {
        is_refused_somehow(&format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
    }
}

/// Refused by us, in our words and not in those of the library that reads targets; never sent on.
#[track_caller]
fn is_refused_somehow(request: &str) {
    let outcome = outcome(request.as_bytes());
    assert_eq!(outcome.statuses(), [400], "{request}");
    let kind = outcome.answers[0].header("content-type");
    assert_eq!(kind, Some("application/problem+json"), "{request}");
    assert_eq!(outcome.upstream.asked(), [""; 0], "{request}");
}

#[test]
fn versions_that_are_not_spoken_are_refused() {
    is_refused(505, "GET /g HTTP/1.2\r\nHost: h\r\n\r\n");
    is_refused(505, "GET /g HTTP/3.0\r\nHost: h\r\n\r\n");
    is_refused(400, "GET /g\r\n\r\n");
    is_refused(400, "GET  /g HTTP/1.1\r\nHost: h\r\n\r\n");
    is_refused(400, "GET /g http/1.1\r\nHost: h\r\n\r\n");
}

#[test]
fn requests_behind_each_other_are_answered_in_order() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    let mut stream = Vec::new();
    for nth in 0..20 {
        let body = "x".repeat(nth * 100);
        let length = body.len();
        stream.extend(
            format!(
                "POST /{nth} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}\r\n"
            )
            .bytes(),
        );
    }
    stream.extend(LAST);
    let answers = Client::exchange(gateway.address, &stream);
    assert_eq!(answers.len(), 21);
    let seen = upstream.seen();
    for (nth, seen) in seen.iter().take(20).enumerate() {
        assert_eq!((seen.what(), seen.body.len()), (format!("POST /{nth}"), nth * 100));
    }
}

/// A small generator, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides).unwrap()).unwrap()
    }
}

/// Three requests spoiled at one to three places.
fn spoiled(dice: &mut Dice) -> Vec<u8> {
    const WHOLE: [&str; 5] = [
        "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 30\r\n\r\nGET /in HTTP/1.1\r\nHost: h\r\n\r\n..",
        "POST /3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1e\r\nGET /in HTTP/1.1\r\nHost: h\r\n\r\n..\r\n0\r\n\r\n",
        "POST /4 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "PUT /5 HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nab",
    ];
    const SPOILERS: [&str; 16] = [
        "\n",
        "\r",
        "\r\n",
        " ",
        "\t",
        "\0",
        "\x0b",
        ":",
        ",",
        "0",
        "9",
        ";",
        "chunked",
        "Content-Length: 1\r\n",
        "Transfer-Encoding: chunked\r\n",
        "GET / HTTP/1.1\r\n",
    ];
    let mut stream = Vec::new();
    for _ in 0..3 {
        stream.extend(WHOLE[dice.roll(WHOLE.len())].bytes());
    }
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(stream.len());
        match dice.roll(3) {
            0 => drop(stream.remove(at)),
            1 => drop(stream.splice(at..at, SPOILERS[dice.roll(SPOILERS.len())].bytes())),
            _ => stream[at] = SPOILERS[dice.roll(12)].as_bytes()[0],
        }
    }
    stream
}

#[test]
fn whatever_is_sent_the_upstream_sees_what_was_answered() {
    const STREAMS: usize = 1_500;
    let upstream = Upstream::start();
    let patience = "[server.timeouts]\nhead = \"300ms\"\nbody = \"300ms\"\nidle = \"300ms\"\n";
    let gateway = Program::serve(&(upstream.config() + patience));
    let answered: usize = std::thread::scope(|scope| {
        let runners: Vec<_> = (1..=16)
            .map(|seed| {
                let address = gateway.address;
                scope.spawn(move || {
                    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (seed << 32));
                    let mut answered = 0;
                    for _ in 0..STREAMS / 16 {
                        let stream = spoiled(&mut dice);
                        let answers = Client::exchange(address, &stream);
                        answered += answers.iter().filter(|answer| answer.status == 200).count();
                        let whole = String::from_utf8_lossy(&stream).into_owned();
                        assert!(
                            answers.iter().all(|a| a.status == 200 || a.status >= 400),
                            "{whole:?}"
                        );
                    }
                    answered
                })
            })
            .collect();
        runners.into_iter().map(|runner| runner.join().unwrap()).sum()
    });
    let asked = upstream.asked();
    assert!(answered > STREAMS / 2, "most were refused: {answered}");
    assert_eq!(asked.len(), answered);
}
