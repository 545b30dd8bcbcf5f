//! The known ways to make two servers disagree on where a request ends or whose it is.

use crate::client::Client;
use crate::program::Program;
use crate::upstream::Upstream;
use crate::verdict::Verdict;

const LAST: &str = "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

/// Name, request, and the one status that it is answered with; with 200 it passes, and so does the
/// request behind it.
fn vectors() -> Vec<(&'static str, String, u16)> {
    let post =
        |headers: &str, body: &str| format!("POST /p HTTP/1.1\r\nHost: h\r\n{headers}\r\n{body}");
    let get = |headers: &str| format!("GET /g HTTP/1.1\r\nHost: h\r\n{headers}\r\n");
    let chunked = |body: &str| post("Transfer-Encoding: chunked\r\n", body);
    let smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
    let end = "0\r\n\r\n";
    vec![
        ("CL.TE", post("Content-Length: 43\r\nTransfer-Encoding: chunked\r\n", smuggled), 400),
        ("TE.CL", post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", smuggled), 400),
        ("two lengths, different", post("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd"), 400),
        ("two lengths, the same", post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), 400),
        ("length 3, 3", post("Content-Length: 3, 3\r\n", "abc"), 400),
        ("length +3", post("Content-Length: +3\r\n", "abc"), 400),
        ("length 2^64+3", post("Content-Length: 18446744073709551619\r\n", "abc"), 400),
        ("TE xchunked", post("Transfer-Encoding: xchunked\r\n", end), 400),
        ("TE chunked, identity", post("Transfer-Encoding: chunked, identity\r\n", end), 400),
        ("TE twice", post(&"Transfer-Encoding: chunked\r\n".repeat(2), end), 400),
        ("TE with a space before the colon", post("Transfer-Encoding : chunked\r\n", end), 400),
        ("TE with a vertical tab", post("Transfer-Encoding: \x0bchunked\r\n", end), 400),
        ("HTTP/1.0 and TE", chunked(end).replace("/1.1", "/1.0"), 400),
        ("folded line", get("X: a\r\n b\r\n"), 400),
        ("bare CR", get("X: a\rb\r\n"), 400),
        ("NUL", get("X: a\0b\r\n"), 400),
        ("bare LF line ends", get("X: a\r\n").replace("\r\n", "\n"), 400),
        ("chunk extension with LF", chunked("3;x\n\r\nabc\r\n0\r\n\r\n"), 400),
        ("chunk size overflow", chunked("10000000000000003\r\nabc\r\n0\r\n\r\n"), 400),
        ("bad end of a chunk", chunked("3\r\nabcXX0\r\n\r\n"), 400),
        (
            "GET with a broken chunk",
            get("Transfer-Encoding: chunked\r\n") + "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n",
            400,
        ),
        ("two hosts", get("Host: i\r\n"), 400),
        ("no host", "GET /g HTTP/1.1\r\n\r\n".to_owned(), 400),
        (
            "absolute form, other host",
            "GET http://evil/g HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(),
            200,
        ),
        ("Connection: X-Forwarded-For", get("Connection: X-Forwarded-For\r\n"), 400),
        ("x_forwarded_for", get("x_forwarded_for: 6.6.6.6\r\n"), 200),
        ("method get", get("").replace("GET", "get"), 400),
        ("64 KiB header", get(&format!("X: {}\r\n", "a".repeat(65_536))), 431),
        (
            "200 headers",
            get(&(0..200).map(|nth| format!("X-{nth}: a\r\n")).collect::<String>()),
            431,
        ),
        ("%2f", "GET /a%2fb HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 400),
        ("%00", "GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 400),
        ("#frag", "GET /a#frag HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 400),
        ("folded path", "GET //a/./b/../%67 HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 200),
    ]
}

pub(crate) fn judged() -> Verdict {
    let mut verdict = Verdict::default();
    let upstream = Upstream::start();
    let gateway = Program::serve(&upstream.config());
    let (mut answered, mut refused) = (0, 0);
    let vectors = vectors();
    for (name, request, status) in &vectors {
        let answers = Client::exchange(gateway.address, (request.clone() + LAST).as_bytes());
        let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        answered += statuses.iter().filter(|status| **status == 200).count();
        refused += usize::from(*status != 200);
        let wanted: &[u16] = if *status == 200 { &[200, 200] } else { &[*status] };
        verdict.demand(statuses == wanted, format!("{name}: {wanted:?}, but {statuses:?}"));
        let seen = upstream.asked().len();
        verdict.demand(
            seen == answered,
            format!("{name}: {answered} seen by the upstream, but {seen}"),
        );
    }
    for seen in upstream.seen() {
        verdict.demand(seen.lines("host") == 1, "one host");
        verdict.demand(seen.header("x_forwarded_for").is_none(), "no name with underscores");
        let evil = seen.header("host") == Some("evil");
        verdict.demand(!evil || seen.what() == "GET /g", "the host of the absolute form, once");
    }
    let hosts = upstream.seen().iter().filter(|seen| seen.header("host") == Some("evil")).count();
    verdict.demand(hosts == 1, "the host of the absolute form");
    verdict.fact(format!(
        "{} requests: {refused} refused and closed; {answered} answered 200, {} seen by the upstream",
        vectors.len(),
        upstream.asked().len()
    ));
    verdict
}
