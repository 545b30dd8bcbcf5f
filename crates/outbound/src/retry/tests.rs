use std::io;

use http::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use proptest::prelude::*;
use tollgate_core::Tick;

use super::*;

fn told(status: u16, retry_after: Option<u64>) -> (StatusCode, Told) {
    let status = StatusCode::from_u16(status).unwrap();
    let mut headers = HeaderMap::new();
    if let Some(seconds) = retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    (status, Told::read(status, &headers, Tick::EPOCH))
}

fn waits(retry: &Retry, repeat: Repeats, status: u16, retry_after: Option<u64>) -> Vec<Span> {
    let mut tries = Tries::new(retry, repeat);
    let (status, told) = told(status, retry_after);
    std::iter::from_fn(|| tries.after_answer(status, &told)).take(100).collect()
}

/// B211: `Retry-After: 0`, five times, is no invitation to hammer.
#[test]
fn b211_retry_after_zero_waits_the_least_delay_with_jitter() {
    let retry = Retry::default().tries(5).least(Span::from_millis(20));
    let mut all = Vec::new();
    for _ in 0..50 {
        let waits = waits(&retry, Repeats::Allowed, 429, Some(0));
        assert_eq!(waits.len(), 4);
        assert!(waits.iter().all(|wait| *wait >= Span::from_millis(20)));
        all.extend(waits);
    }
    all.sort();
    all.dedup();
    assert!(all.len() > 150, "the waits are drawn: {} differ", all.len());
}

/// B209: a day is not slept through; the caller has the answer.
#[test]
fn b209_a_wait_that_is_too_long_is_the_callers() {
    let retry = Retry::default();
    for status in [429, 503] {
        assert_eq!(waits(&retry, Repeats::Allowed, status, Some(86_400)), []);
        assert_eq!(waits(&retry, Repeats::Allowed, status, Some(u64::MAX)), []);
        assert_eq!(waits(&retry, Repeats::Allowed, status, Some(30)), [Span::from_secs(30); 2]);
    }
}

#[test]
fn what_may_not_be_made_twice_is_not() {
    for status in [408, 425, 429, 502, 503, 504] {
        assert_eq!(waits(&Retry::default(), Repeats::OnlyUnsent, status, None), []);
        assert_eq!(waits(&Retry::default(), Repeats::Allowed, status, None).len(), 2, "{status}");
    }
}

#[test]
fn answers_that_another_try_does_not_change_are_the_callers() {
    for status in [200, 204, 301, 400, 401, 403, 404, 409, 413, 421, 500, 501, 505] {
        assert_eq!(waits(&Retry::default(), Repeats::Allowed, status, None), [], "{status}");
    }
}

#[test]
fn a_failure_is_tried_again_where_that_is_safe_or_nothing_was_sent() {
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    let reset = io::Error::from(io::ErrorKind::ConnectionReset);
    let retry = Retry::default();
    let tried = |retry: &Retry, repeat, error: &io::Error| {
        Tries::new(retry, repeat).after_failure(error).is_some()
    };
    assert!(tried(&retry, Repeats::Allowed, &reset));
    assert!(tried(&retry, Repeats::OnlyUnsent, &refused));
    assert!(!tried(&retry, Repeats::OnlyUnsent, &reset));
    let knows = Retry::default().unsent(|error| error.to_string().contains("reset"));
    assert!(tried(&knows, Repeats::OnlyUnsent, &reset));
    let wrapped = crate::CallError::Failed(Connecting(refused));
    assert!(Tries::new(&retry, Repeats::OnlyUnsent).after_failure(&wrapped).is_some());
}

/// An error with a source, as those of clients are.
#[derive(Debug)]
struct Connecting(io::Error);

impl fmt::Display for Connecting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot connect")
    }
}

impl Error for Connecting {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn one_try_is_made_even_if_none_is_asked_for() {
    let never = Retry::default().tries(0);
    assert!(!Tries::new(&never, Repeats::Allowed).may_follow());
}

fn jitters() -> impl Strategy<Value = Backoff> {
    let spans = (any::<u64>(), any::<u64>());
    (0..3, spans).prop_map(|(kind, (base, cap))| {
        let (base, cap) = (Span::from_micros(base), Span::from_micros(cap));
        match kind {
            0 => Backoff::full(base, cap),
            1 => Backoff::equal(base, cap),
            _ => Backoff::decorrelated(base, cap),
        }
    })
}

proptest! {
    /// Whatever is drawn: never before what was told, never below the least, never above the longest.
    #[test]
    fn no_wait_ends_before_the_server_said(
        backoff in jitters(),
        least in 0_u64..5_000, longest in 5_000_u64..200_000,
        after in proptest::option::of(0_u64..300), tries in 0_u32..20,
    ) {
        let (least, longest) = (Span::from_millis(least), Span::from_millis(longest));
        let retry = Retry::default().backoff(backoff).least(least).longest_wait(longest).tries(tries);
        let waits = waits(&retry, Repeats::Allowed, 503, after);
        let told = Span::from_secs(after.unwrap_or(0));
        let fits = told <= longest;
        prop_assert_eq!(u32::try_from(waits.len()).unwrap(), if fits { tries.saturating_sub(1) } else { 0 });
        for wait in waits {
            prop_assert!(wait >= told && wait >= least && wait <= longest);
        }
    }
}
