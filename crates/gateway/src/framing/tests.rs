use http::StatusCode;
use proptest::prelude::*;

use super::{Fault, Framing, HeadLimits, Judged};

const LIMITS: HeadLimits = HeadLimits { bytes: 64 * 1024, headers: 100, target: 8 * 1024 };

/// The bytes of each head and of each body, and how it ended.
type Read = (Vec<Vec<u8>>, Vec<Vec<u8>>, Result<(), Fault>);

/// What comes of a stream of bytes that arrive in portions of these sizes, over and over.
fn judged(stream: &[u8], portions: &[usize]) -> Read {
    let mut framing = Framing::new(LIMITS);
    let (mut heads, mut bodies) = (Vec::new(), Vec::new());
    let (mut from, mut shown) = (0, 0);
    let mut sizes = portions.iter().cycle();
    loop {
        let more = match framing.judge(&stream[from..shown]) {
            Err(fault) => return (heads, bodies, Err(fault)),
            Ok(Judged::Incomplete) => true,
            Ok(Judged::Blank(length)) => {
                from += length;
                from == shown
            }
            Ok(Judged::Head(length)) => {
                heads.push(stream[from..from + length].to_vec());
                bodies.push(Vec::new());
                from += length;
                from == shown
            }
            Ok(Judged::Body(length)) => {
                let body = bodies.last_mut().expect("a body follows a head");
                body.extend_from_slice(&stream[from..from + length]);
                from += length;
                from == shown
            }
        };
        if more && shown == stream.len() {
            return (heads, bodies, Ok(()));
        }
        if more {
            shown = stream.len().min(shown.saturating_add(*sizes.next().expect("not empty")));
        }
    }
}

fn fault(stream: &str) -> Option<StatusCode> {
    judged(stream.as_bytes(), &[usize::MAX]).2.err().map(|fault| fault.status)
}

#[test]
fn requests_in_a_row_are_told_apart() {
    let stream = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n\
        POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nGET /\r\n\
        POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n\
        3;x=\"y\"\r\nGET\r\n0\r\nTrailer: t\r\n\r\n\
        GET /d HTTP/1.0\r\n\r\n";
    let (heads, bodies, end) = judged(stream, &[usize::MAX]);
    assert_eq!(end, Ok(()));
    let firsts: Vec<_> = heads.iter().map(|head| String::from_utf8_lossy(&head[..7])).collect();
    assert_eq!(firsts, ["GET /a ", "POST /b", "POST /c", "GET /d "]);
    assert_eq!(bodies[1], b"GET /");
    assert_eq!(bodies[2], b"3;x=\"y\"\r\nGET\r\n0\r\nTrailer: t\r\n\r\n");
}

#[test]
fn a_head_at_each_limit_passes_and_one_beyond_is_refused() {
    let request = |target: usize, headers: usize, value: usize| {
        let mut text = format!("GET /{} HTTP/1.1\r\n", "t".repeat(target - 1));
        for nth in 0..headers {
            text +=
                &format!("n{nth}: {}\r\n", if nth == 0 { "v".repeat(value) } else { "v".into() });
        }
        text + "\r\n"
    };
    assert_eq!(fault(&request(8 * 1024, 100, 1)), None);
    assert_eq!(fault(&request(8 * 1024 + 1, 1, 1)), Some(StatusCode::URI_TOO_LONG));
    assert_eq!(fault(&request(1, 101, 1)), Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
    let rest = request(1, 1, 0).len();
    assert_eq!(fault(&request(1, 1, LIMITS.bytes - rest)), None);
    assert_eq!(
        fault(&request(1, 1, LIMITS.bytes - rest + 1)),
        Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
    );
}

fn portions() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..40, 1..8)
}

/// Requests in a row, spoiled at one place or not.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop::sample::select(vec![
        "GET /a HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello\r\n\r\nab",
        "POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;e\r\n0123456789\r\n0\r\n\r\n",
        "\r\n",
        "POST /d HTTP/1.0\r\ncontent-length: 0\r\n\r\n",
    ]);
    let spoilers =
        prop::sample::select(vec!["", "\n", "\r", "\0", " ", ":", "0", ";", "\r\n", "é"]);
    (prop::collection::vec(parts, 1..6), any::<prop::sample::Index>(), spoilers).prop_map(
        |(parts, place, spoiler)| {
            let mut stream = parts.concat().into_bytes();
            let at = place.index(stream.len());
            stream.splice(at..at, spoiler.bytes());
            stream
        },
    )
}

proptest! {
    #[test]
    fn how_bytes_arrive_does_not_change_what_is_judged(
        stream in streams(), portions in portions(),
    ) {
        prop_assert_eq!(judged(&stream, &portions), judged(&stream, &[usize::MAX]));
    }

    #[test]
    fn a_target_passes_if_hyper_takes_it_and_it_has_no_fragment(target in "[!-~]|/[!-~]{0,6}") {
        let refused = fault(&format!("GET {target} HTTP/1.1\r\n\r\n")).is_some();
        prop_assert_eq!(refused, target.contains('#') || http::Uri::try_from(&*target).is_err());
    }

    #[test]
    fn any_bytes_are_judged_without_a_panic(
        stream in prop::collection::vec(any::<u8>(), 0..400), portions in portions(),
    ) {
        let (heads, bodies, _) = judged(&stream, &portions);
        prop_assert_eq!(heads.len(), bodies.len());
    }
}
