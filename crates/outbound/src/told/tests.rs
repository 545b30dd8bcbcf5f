use http::header::{HeaderName, HeaderValue};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// 2026-11-30 20:00:00 UTC, as the server's clock has it.
const NOW: Tick = Tick::from_micros(1_796_068_800_000_000);
const DATE: &str = "Mon, 30 Nov 2026 20:00:00 GMT";
/// A clock that is years off, so that a test sees whether it is read.
const WRONG: Tick = Tick::EPOCH;

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    headers
}

/// An answer of a server that has a clock.
fn told(status: u16, lines: &[(&'static str, &str)]) -> Told {
    let mut all = headers(lines);
    all.append("date", HeaderValue::from_static(DATE));
    Told::read(StatusCode::from_u16(status).unwrap(), &all, WRONG)
}

fn only(lines: &[(&'static str, &str)]) -> Allowance {
    match told(200, lines).allowances() {
        [only] => *only,
        others => panic!("{lines:?}: {others:?}"),
    }
}

fn allowance(left: u64, reset: Option<u64>, limit: Option<u64>, window: Option<u64>) -> Allowance {
    let seconds = |seconds: Option<u64>| seconds.map(Span::from_secs);
    Allowance { left, reset: seconds(reset), limit, window: seconds(window) }
}

/// B209: a date in any of the three forms is understood, on a 5xx as on a 429.
#[test]
fn b209_retry_after_is_read_in_both_forms_and_three_dates() {
    let forms = [
        "120",
        "Mon, 30 Nov 2026 20:02:00 GMT",
        "Monday, 30-Nov-26 20:02:00 GMT",
        "Mon Nov 30 20:02:00 2026",
    ];
    for form in forms {
        for status in [429, 500, 502, 503, 504] {
            let told = told(status, &[("retry-after", form)]);
            assert_eq!(told.retry_after(), Some(Span::from_secs(120)), "{status} {form}");
            assert_eq!(told.is_refusal(), status == 429);
        }
    }
}

#[test]
fn what_is_no_retry_after_is_none() {
    for wrong in ["", "2.0", "-5", "+5", "soon", "1e3", "5 s", "Sun, 99 Nov 2026 20:02:00 GMT", "é"]
    {
        assert_eq!(told(429, &[("retry-after", wrong)]).retry_after(), None, "{wrong}");
    }
    // On an answer that is no failure it speaks of that resource, not of the server.
    for status in [200, 202, 302] {
        assert_eq!(told(status, &[("retry-after", "5")]).retry_after(), None);
    }
}

#[test]
fn an_instant_that_has_passed_is_no_wait() {
    let told = told(503, &[("retry-after", "Mon, 30 Nov 2026 19:00:00 GMT")]);
    assert_eq!(told.retry_after(), Some(Span::ZERO));
}

#[test]
fn more_seconds_than_can_be_counted_are_the_longest_span() {
    let told = told(503, &[("retry-after", "99999999999999999999999999")]);
    assert_eq!(told.retry_after(), Some(Span::from_secs(u64::MAX)));
}

#[test]
fn a_wrong_clock_here_shortens_and_lengthens_nothing() {
    let lines = headers(&[
        ("date", DATE),
        ("retry-after", "Mon, 30 Nov 2026 20:00:07 GMT"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1796068807"),
    ]);
    for local in [0, 1, 1_000_000_000_000_000, NOW.as_micros(), 4_000_000_000_000_000] {
        let told = Told::read(StatusCode::TOO_MANY_REQUESTS, &lines, Tick::from_micros(local));
        assert_eq!(told.retry_after(), Some(Span::from_secs(7)));
        assert_eq!(told.allowances()[0].reset, Some(Span::from_secs(7)));
    }
}

#[test]
fn without_a_date_this_machines_clock_counts() {
    let lines = headers(&[("retry-after", "Mon, 30 Nov 2026 20:00:07 GMT")]);
    let told = Told::read(StatusCode::SERVICE_UNAVAILABLE, &lines, NOW);
    assert_eq!(told.retry_after(), Some(Span::from_secs(7)));
}

#[test]
fn every_dialect_is_read() {
    let table: &[(&[(&'static str, &str)], Allowance)] = &[
        // The IETF's, newest first.
        (
            &[("ratelimit-policy", r#""burst";q=100;w=60"#), ("ratelimit", r#""burst";r=50;t=30"#)],
            allowance(50, Some(30), Some(100), Some(60)),
        ),
        (&[("ratelimit", "quota;r=50; t=30")], allowance(50, Some(30), None, None)),
        (
            // As express-rate-limit writes it.
            &[
                ("ratelimit-policy", r#""10-in-1min"; q=10; w=60; pk=:YWJjZGVmZ2hpamts:"#),
                ("ratelimit", r#""10-in-1min"; r=9; t=60"#),
            ],
            allowance(9, Some(60), Some(10), Some(60)),
        ),
        (
            &[("ratelimit", "limit=100, remaining=50, reset=5"), ("ratelimit-policy", "100;w=10")],
            allowance(50, Some(5), Some(100), Some(10)),
        ),
        (
            &[
                ("ratelimit-limit", "10"),
                ("ratelimit-remaining", "1"),
                ("ratelimit-reset", "7"),
                ("ratelimit-policy", "10;w=1;burst=1000, 1000;w=3600"),
            ],
            allowance(1, Some(7), Some(10), Some(1)),
        ),
        (
            &[
                ("ratelimit-limit", "10, 10;w=1, 50;w=60, 1000;w=3600"),
                ("ratelimit-remaining", "9"),
                ("ratelimit-reset", "1"),
            ],
            allowance(9, Some(1), Some(10), Some(1)),
        ),
        // GitHub.
        (
            &[
                ("x-ratelimit-limit", "5000"),
                ("x-ratelimit-remaining", "4999"),
                ("x-ratelimit-used", "1"),
                ("x-ratelimit-reset", "1796072400"),
                ("x-ratelimit-resource", "core"),
            ],
            allowance(4999, Some(3600), Some(5000), None),
        ),
        // X.
        (
            &[
                ("x-rate-limit-limit", "15"),
                ("x-rate-limit-remaining", "14"),
                ("x-rate-limit-reset", "1796069700"),
            ],
            allowance(14, Some(900), Some(15), None),
        ),
        // Envoy.
        (
            &[
                ("x-ratelimit-limit", r#"10, 10;w=1;name="per-ip", 1000;w=3600"#),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1"),
            ],
            allowance(0, Some(1), Some(10), Some(1)),
        ),
        // Reddit.
        (
            &[("x-ratelimit-remaining", "598.0"), ("x-ratelimit-reset", "120")],
            allowance(598, Some(120), None, None),
        ),
        // Atlassian.
        (
            &[
                ("x-ratelimit-limit", "350"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "2026-11-30T20:01Z"),
            ],
            allowance(0, Some(60), Some(350), None),
        ),
    ];
    for (lines, expected) in table {
        assert_eq!(only(lines), *expected, "{lines:?}");
    }
}

#[test]
fn discords_fractions_of_a_second_are_kept() {
    let discord = only(&[
        ("x-ratelimit-limit", "5"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1796068801.432"),
        ("x-ratelimit-reset-after", "1.25"),
    ]);
    assert_eq!(discord.reset, Some(Span::from_millis(1_250)));
    let without = only(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1796068801.432")]);
    assert_eq!(without.reset, Some(Span::from_millis(1_432)));
}

#[test]
fn lists_over_several_lines_are_one() {
    let told = told(
        200,
        &[
            ("ratelimit-policy", r#""burst";q=100;w=60"#),
            ("ratelimit-policy", r#""daily";q=1000;w=86400"#),
            ("ratelimit", r#""daily";r=990;t=40000"#),
            ("ratelimit", r#""burst";r=50;t=30"#),
        ],
    );
    let daily = allowance(990, Some(40_000), Some(1000), Some(86_400));
    assert_eq!(told.allowances(), [daily, allowance(50, Some(30), Some(100), Some(60))]);
}

#[test]
fn a_policy_that_counts_bytes_says_nothing_of_calls() {
    let told = told(
        200,
        &[
            ("ratelimit-policy", r#""bytes";q=100000;qu="content-bytes";w=60, "calls";q=10;w=60"#),
            ("ratelimit", r#""bytes";r=0;t=30, "calls";r=9;t=30"#),
        ],
    );
    assert_eq!(told.allowances(), [allowance(9, Some(30), Some(10), Some(60))]);
}

#[test]
fn a_field_that_is_malformed_is_passed_over_and_the_others_are_read() {
    let told = told(
        429,
        &[
            ("ratelimit", r#""burst";r=50;t=30, "#),
            ("ratelimit-remaining", "none"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "NaN"),
            ("x-rate-limit-remaining", "0"),
            ("x-rate-limit-reset", "9"),
            ("retry-after", "later"),
        ],
    );
    assert_eq!(
        told.allowances(),
        [allowance(0, None, None, None), allowance(0, Some(9), None, None)]
    );
    assert_eq!(told.retry_after(), Some(Span::from_secs(9)));
}

#[test]
fn members_without_what_is_left_are_passed_over() {
    let told = told(
        200,
        &[("ratelimit", r#""a";t=30, "b";r=-1;t=5, "c";r=1.5, 7;r=1, ("d");r=1, "e";r=2"#)],
    );
    assert_eq!(told.allowances(), [allowance(2, None, None, None)]);
}

#[test]
fn retry_after_comes_before_every_reset() {
    let told = told(
        429,
        &[
            ("retry-after", "3"),
            ("ratelimit", r#""a";r=0;t=30"#),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1796072400"),
        ],
    );
    assert_eq!(told.retry_after(), Some(Span::from_secs(3)));
}

#[test]
fn of_header_sets_that_disagree_the_longest_wait_counts() {
    let told = told(
        429,
        &[
            ("ratelimit", r#""burst";r=0;t=7, "daily";r=990;t=40000"#),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "60"),
            ("x-ratelimit-remaining", "3"),
            ("x-ratelimit-reset", "20"),
        ],
    );
    assert_eq!(told.retry_after(), Some(Span::from_secs(60)));
}

#[test]
fn a_limit_that_has_something_left_is_not_the_one_that_refused() {
    let told = told(429, &[("ratelimit", r#""daily";r=990;t=40000"#)]);
    assert_eq!(told.retry_after(), None);
}

#[test]
fn a_reset_that_is_not_told_is_when_one_more_call_is_due() {
    let told = told(200, &[("ratelimit-policy", r#""a";q=20;w=60"#), ("ratelimit", r#""a";r=0"#)]);
    assert_eq!(told.allowances()[0].reset, Some(Span::from_secs(3)));
}

#[test]
fn a_reset_beyond_reason_is_not_believed() {
    for reset in ["2678401", "99999999", "999999999999999", "18446744073709551615"] {
        let lines = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset)];
        assert_eq!(told(429, &lines).retry_after(), None, "{reset}");
        let lines = [("ratelimit-remaining", "0"), ("ratelimit-reset", reset)];
        assert_eq!(told(429, &lines).retry_after(), None, "{reset}");
    }
}

#[test]
fn github_refuses_with_403_too() {
    let used_up = [
        ("x-github-request-id", "A1"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1796072400"),
    ];
    let primary = told(403, &used_up);
    assert!(primary.is_refusal());
    assert_eq!(primary.retry_after(), Some(Span::HOUR));
    let secondary = told(403, &[("retry-after", "60"), ("x-ratelimit-remaining", "4000")]);
    assert!(secondary.is_refusal());
    assert_eq!(secondary.retry_after(), Some(Span::MINUTE));
    assert!(
        !told(403, &[("x-github-request-id", "A1"), ("x-ratelimit-remaining", "9")]).is_refusal()
    );
    // Elsewhere the last call that was left may be one that is not allowed to whoever calls.
    assert!(!told(403, &[("x-ratelimit-remaining", "0")]).is_refusal());
}

#[test]
fn github_says_429_without_a_word_of_when_to_come_back() {
    let lines = [
        ("x-github-request-id", "A1"),
        ("x-ratelimit-limit", "5000"),
        ("x-ratelimit-remaining", "4000"),
        ("x-ratelimit-reset", "1796072400"),
    ];
    let secondary = told(429, &lines);
    assert_eq!((secondary.retry_after(), secondary.wait()), (Some(Span::MINUTE), Wait::Doubling));
    // What is told counts, and nothing is made up for others.
    let mut said = lines.to_vec();
    said.push(("retry-after", "7"));
    let said = told(429, &said);
    assert_eq!((said.retry_after(), said.wait()), (Some(Span::from_secs(7)), Wait::AsTold));
    assert_eq!(told(429, &lines[1..]).retry_after(), None);
    assert_eq!(told(429, &[("x-github-request-id", "A1")]).retry_after(), Some(Span::MINUTE));
    // Mostly one that may not: the body would tell.
    assert_eq!(told(403, &lines).retry_after(), None);
}

#[test]
fn envoys_mark_is_a_refusal_under_any_status() {
    assert!(told(503, &[("x-envoy-ratelimited", "true")]).is_refusal());
    assert!(!told(503, &[]).is_refusal());
}

#[test]
fn numbers_of_a_cached_answer_are_those_of_another_call() {
    let lines = [("age", "3"), ("ratelimit", r#""a";r=0;t=30"#), ("retry-after", "5")];
    let cached = told(503, &lines);
    assert_eq!(cached.allowances(), []);
    assert_eq!(cached.retry_after(), Some(Span::from_secs(5)));
    assert_eq!(told(200, &[("age", "0"), ("ratelimit", r#""a";r=0;t=30"#)]).allowances().len(), 1);
}

#[test]
fn no_answer_tells_of_more_than_sixteen_limits() {
    let many: Vec<String> = (0..1_000).map(|n| format!("\"{n}\";r=1;t=1")).collect();
    assert_eq!(told(200, &[("ratelimit", &many.join(", "))]).allowances().len(), MOST);
}

fn names() -> impl Strategy<Value = &'static str> {
    select(vec![
        "date",
        "age",
        "retry-after",
        "ratelimit",
        "ratelimit-policy",
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "x-ratelimit-reset-after",
        "x-rate-limit-limit",
        "x-rate-limit-remaining",
        "x-rate-limit-reset",
        "x-envoy-ratelimited",
        "x-github-request-id",
    ])
}

#[test]
fn of_a_flood_of_policies_only_the_first_are_read() {
    let list = |parameter: &str| {
        let members: Vec<String> =
            (0..2_000).map(|name| format!("\"{name}\";{parameter}")).collect();
        members.join(", ")
    };
    let told = told(200, &[("ratelimit", &list("r=1")), ("ratelimit-policy", &list("q=9"))]);
    assert_eq!(told.allowances(), [allowance(1, None, Some(9), None); MOST]);
    let last = only(&[("ratelimit", "\"1999\";r=1"), ("ratelimit-policy", &list("q=9"))]);
    assert_eq!(last, allowance(1, None, None, None));
}

fn values() -> impl Strategy<Value = Vec<u8>> {
    let pieces = select(vec![
        "0",
        "1",
        "9",
        "99999999999999999999",
        "1796068800",
        "1796068800123",
        ".",
        "-",
        "+",
        ";",
        "=",
        ",",
        " ",
        "\"a\"",
        "q=",
        "r=",
        "t=",
        "w=",
        "2026-11-30T20:00:00",
        "Z",
        "+01:00",
        ":",
        "T",
        "Mon, 30 Nov 2026 20:00:00 GMT",
        "(",
        ")",
        "*",
        "limit=1",
        "remaining=0",
        "reset=5",
    ]);
    let pieced = vec(pieces, 0..8).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![pieced, vec(any::<u8>(), 0..40)]
}

proptest! {
    /// Whatever stands in the headers: no panic, and no reset beyond reason.
    #[test]
    fn any_headers_are_read_without_a_panic(
        status in 100_u16..600,
        lines in vec((names(), values()), 0..12),
        local in any::<u64>(),
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                headers.append(name, value);
            }
        }
        let status = StatusCode::from_u16(status).unwrap();
        let told = Told::read(status, &headers, Tick::from_micros(local));
        prop_assert!(told.allowances().iter().all(|a| a.reset.is_none_or(|reset| reset <= FURTHEST)));
        if !headers.contains_key("retry-after") {
            prop_assert!(told.retry_after().is_none_or(|span| span <= FURTHEST));
        }
    }
}
