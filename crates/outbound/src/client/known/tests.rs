use http::StatusCode;
use http::header::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use tollgate_core::{Limit, Limiter, ManualClock, Tick};
use tollgate_memory::Memory;

use super::*;

const DAY: Span = Span::DAY;

fn told(status: u16, lines: &[(&'static str, u64)]) -> Told {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.insert(*name, HeaderValue::from(*value));
    }
    Told::read(StatusCode::from_u16(status).unwrap(), &headers, Tick::EPOCH)
}

fn left(left: u64, limit: u64, reset: u64) -> Told {
    told(
        200,
        &[("ratelimit-remaining", left), ("ratelimit-limit", limit), ("ratelimit-reset", reset)],
    )
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A client of which one call was told this.
fn after(told: &Told, now: Instant) -> Known {
    let mut known = Known::default();
    let call = known.depart(now).unwrap();
    known.answered(call, told, now, DAY);
    known
}

#[test]
fn a_client_far_from_its_limit_is_not_slowed() {
    let now = Instant::now();
    let mut known = after(&left(100, 100, 60), now);
    for _ in 0..50 {
        assert!(known.depart(now).is_some());
        known.ended();
    }
    assert!(known.depart(now).is_some(), "half is left");
    assert!(known.depart(now).is_none(), "less than half is left");
}

#[test]
fn a_client_slower_than_what_is_left_is_not_slowed() {
    let now = Instant::now();
    let mut known = after(&left(5, 100, 60), now);
    for call in 1..=5 {
        assert!(known.depart(now + seconds(call * 10)).is_some());
    }
}

#[test]
fn nothing_leaves_before_what_was_told() {
    let now = Instant::now();
    let mut known = after(&told(503, &[("retry-after", 10)]), now);
    assert_eq!(known.free_at(now), Some(now + seconds(10)));
    // A call that left before and succeeds later changes nothing.
    known.in_flight += 1;
    known.answered(Call(1), &told(200, &[]), now + seconds(1), DAY);
    assert!(known.depart(now + seconds(10) - Duration::from_micros(1)).is_none());
    assert!(known.depart(now + seconds(10)).is_some());
}

#[test]
fn a_shorter_hold_does_not_end_a_longer_one() {
    let now = Instant::now();
    let mut known = after(&told(429, &[("retry-after", 10)]), now);
    known.answered(Call(1), &told(429, &[("retry-after", 1)]), now, DAY);
    assert_eq!(known.free_at(now), Some(now + seconds(10)));
}

#[test]
fn no_server_holds_for_longer_than_the_longest_hold() {
    let now = Instant::now();
    for status in [429, 503] {
        let mut known = Known::default();
        let call = known.depart(now).unwrap();
        known.answered(call, &told(status, &[("retry-after", u64::MAX)]), now, Span::HOUR);
        assert_eq!(known.free_at(now), Some(now + seconds(3_600)));
    }
}

#[test]
fn retry_after_comes_before_the_reset_of_what_is_used_up() {
    let now = Instant::now();
    let refused = told(
        429,
        &[
            ("retry-after", 1),
            ("ratelimit-remaining", 0),
            ("ratelimit-limit", 10),
            ("ratelimit-reset", 60),
        ],
    );
    assert_eq!(after(&refused, now).free_at(now), Some(now + seconds(1)));
}

#[test]
fn what_is_used_up_is_waited_for() {
    let now = Instant::now();
    assert_eq!(after(&left(0, 10, 7), now).free_at(now), Some(now + seconds(7)));
}

#[test]
fn an_answer_to_an_earlier_call_is_no_news() {
    let now = Instant::now();
    let mut known = Known::default();
    let (first, second) = (known.depart(now).unwrap(), known.depart(now).unwrap());
    known.answered(second, &left(0, 10, 7), now, DAY);
    known.answered(first, &left(1, 10, 7), now, DAY);
    assert_eq!(known.free_at(now), Some(now + seconds(7)));
}

#[test]
fn calls_without_an_answer_yet_are_counted() {
    let now = Instant::now();
    let mut known = Known::default();
    let calls: Vec<Call> = (0..4).filter_map(|_| known.depart(now)).collect();
    known.answered(calls[0], &left(3, 10, 7), now, DAY);
    assert_eq!(known.free_at(now), Some(now + seconds(7)), "three are on their way");
}

#[test]
fn nothing_is_known_of_a_limit_after_its_reset_unless_its_window_was_told() {
    let now = Instant::now();
    let mut known = after(&left(0, 10, 7), now);
    assert!(known.depart(now + seconds(7)).is_some());
    assert!(known.budgets.is_empty());
    assert!(!known.matters(now + seconds(8)) || known.in_flight > 0);
}

/// A server that counts in fixed windows, and says so in one of the dialects that tell no window.
struct Windows {
    limit: u64,
    window: u64,
}

/// What became of a client that calls as fast as it may, for five windows.
#[derive(Debug, Default)]
struct Ran {
    made: u64,
    refused: u64,
}

fn run_against(server: &Windows, at_once: u64) -> Ran {
    let start = Instant::now();
    let (mut known, mut now, mut ran) = (Known::default(), Duration::ZERO, Ran::default());
    let (mut window, mut used) = (0, 0);
    let end = seconds(server.window * 5);
    while now < end {
        // So many are in flight at once, and are answered together.
        let calls: Vec<Call> = (0..at_once).map_while(|_| known.depart(start + now)).collect();
        if calls.is_empty() {
            now = known.free_at(start + now).unwrap() - start;
            continue;
        }
        now += Duration::from_millis(20);
        if now.as_secs() / server.window != window {
            (window, used) = (now.as_secs() / server.window, 0);
        }
        for call in calls {
            ran.made += 1;
            let ends = seconds((window + 1) * server.window) - now;
            let reset = Span::from(ends).as_secs_ceil();
            let answer = if used < server.limit {
                used += 1;
                left(server.limit - used, server.limit, reset)
            } else {
                ran.refused += 1;
                told(429, &[("retry-after", reset)])
            };
            known.answered(call, &answer, start + now, DAY);
        }
    }
    ran
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_client_of_a_window_is_never_refused_and_uses_all(
        limit in 4_u64..150, window in 20_u64..200, at_once in 1_u64..4,
    ) {
        let ran = run_against(&Windows { limit, window }, at_once);
        prop_assert!(ran.refused == 0, "{ran:?}");
        // What is left is spread, so some of it is left at the end; the clock of headers has seconds.
        prop_assert!(ran.made * 10 >= limit * 5 * 8, "{ran:?}");
    }

    #[test]
    fn a_client_of_a_bucket_is_hardly_refused_and_has_most_of_its_rate(
        rate in 1_u64..50, seconds_to_fill in 1_u64..20,
    ) {
        // Headers have whole seconds: a bucket that fills faster seems to be slower than it is.
        let burst = rate * seconds_to_fill + 3;
        let clock = ManualClock::at(Tick::from_micros(1_796_068_800_000_000));
        let store = Memory::builder().clock(clock.clone()).build().unwrap();
        let quota = format!("{rate}/s burst {burst}").parse().unwrap();
        let server = Limiter::over(std::sync::Arc::new(store), [Limit::new("it", quota).unwrap()]);
        let (start, mut now, mut ran) = (Instant::now(), Duration::ZERO, Ran::default());
        let mut known = Known::default();
        while now < seconds(60) {
            let Some(call) = known.depart(start + now) else {
                let until = known.free_at(start + now).unwrap() - start;
                clock.advance(Span::from(until - now));
                now = until;
                continue;
            };
            let decision = server.check("me");
            ran.made += 1;
            let answer = match decision.retry_after() {
                Some(wait) => {
                    ran.refused += 1;
                    told(429, &[("retry-after", wait.as_secs_ceil())])
                }
                None => left(decision.remaining(), burst, decision.reset_after().as_secs_ceil()),
            };
            known.answered(call, &answer, start + now, DAY);
        }
        prop_assert!(ran.refused == 0, "{ran:?}");
        prop_assert!(ran.made * 10 >= (rate * 60) * 8, "{ran:?} of {}", rate * 60);
    }

}

proptest! {
    /// Whatever is told and in whatever order: nothing leaves before the latest `Retry-After` that
    /// was heard, and what is known does not grow.
    #[test]
    fn no_call_leaves_before_the_longest_hold_that_was_told(
        steps in proptest::collection::vec((0_u64..5_000, 0_usize..4, 0_u64..20, 0_u64..10), 1..200),
    ) {
        let start = Instant::now();
        let (mut known, mut now, mut held) = (Known::default(), start, start);
        let mut flying = Vec::new();
        for (millis, which, value, more) in steps {
            now += Duration::from_millis(millis);
            if let Some(call) = known.depart(now) {
                prop_assert!(now >= held);
                flying.push(call);
            }
            if which == 3 && !flying.is_empty() {
                flying.remove(0);
                known.ended();
            } else if let Some(call) = flying.pop() {
                let answer = match which {
                    0 => {
                        held = held.max(now + seconds(value));
                        told(429, &[("retry-after", value)])
                    }
                    1 => left(value, value + more, more),
                    _ => told(200, &[]),
                };
                known.answered(call, &answer, now, DAY);
            }
            prop_assert_eq!(usize::try_from(known.in_flight).unwrap(), flying.len());
            prop_assert!(known.budgets.len() <= 1);
        }
    }
}

/// GitHub's, of a secondary limit.
fn refused_without_a_word() -> Told {
    told(429, &[("x-github-request-id", 1)])
}

#[test]
fn a_refusal_without_a_word_waits_twice_as_long_each_time() {
    let (mut known, mut now) = (Known::default(), Instant::now());
    for minutes in [1, 2, 4, 8, 16, 32, 64] {
        let call = known.depart(now).unwrap();
        let held = known.answered(call, &refused_without_a_word(), now, DAY);
        assert_eq!(held, Some(Span::from_secs(minutes * 60)));
        assert!(known.depart(now + seconds(minutes * 60 - 1)).is_none());
        now += seconds(minutes * 60);
    }
    // Never longer than a server is believed, however often.
    for _ in 0..100 {
        let call = known.depart(now).unwrap();
        let held = known.answered(call, &refused_without_a_word(), now, Span::HOUR);
        assert_eq!(held, Some(Span::HOUR));
        now += seconds(60 * 60);
    }
    // And from the start once a call was taken.
    let call = known.depart(now).unwrap();
    known.answered(call, &told(200, &[]), now, DAY);
    let call = known.depart(now).unwrap();
    assert_eq!(known.answered(call, &refused_without_a_word(), now, DAY), Some(Span::MINUTE));
}

#[test]
fn calls_that_are_refused_together_are_refused_once() {
    let (mut known, now) = (Known::default(), Instant::now());
    let before = known.depart(now).unwrap();
    let calls: Vec<_> = (0..20).map(|_| known.depart(now).unwrap()).collect();
    for call in calls {
        let held = known.answered(call, &refused_without_a_word(), now, DAY);
        assert_eq!(held, Some(Span::MINUTE));
    }
    // One of them that was taken after all says nothing of the next.
    known.answered(before, &told(200, &[]), now, DAY);
    let later = now + seconds(60);
    let call = known.depart(later).unwrap();
    let held = known.answered(call, &refused_without_a_word(), later, DAY);
    assert_eq!(held, Some(Span::from_secs(120)));
}

/// A policy of none, or one whose size is not told, is asked again when its window is over.
#[test]
fn a_limit_of_nothing_is_asked_again_after_each_window() {
    let now = Instant::now();
    let policy = "0;w=60";
    let lines = [
        ("ratelimit-limit", "0"),
        ("ratelimit-remaining", "0"),
        ("ratelimit-reset", "60"),
        ("ratelimit-policy", policy),
    ];
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let told = Told::read(StatusCode::OK, &headers, Tick::EPOCH);
    assert_eq!(told.allowances()[0].window, Some(Span::MINUTE));
    let mut known = after(&told, now);
    assert!(known.depart(now + seconds(59)).is_none());
    assert!(known.depart(now + seconds(60)).is_some());
    known.ended();
    assert!(known.depart(now + seconds(119)).is_none());
    assert!(known.depart(now + seconds(120)).is_some());
}

#[test]
fn no_window_that_follows_is_believed_for_longer_than_the_longest_hold() {
    let now = Instant::now();
    let lines = [
        ("ratelimit-limit", "1, 1;w=31536000"),
        ("ratelimit-remaining", "0"),
        ("ratelimit-reset", "1"),
    ];
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let told = Told::read(StatusCode::OK, &headers, Tick::EPOCH);
    let mut known = Known::default();
    let call = known.depart(now).unwrap();
    known.answered(call, &told, now, Span::HOUR);
    // It leaves, and brings no answer.
    assert!(known.depart(now + seconds(1)).is_some());
    known.ended();
    assert_eq!(known.free_at(now + seconds(1)), Some(now + seconds(3_601)));
}

#[test]
fn calls_are_slow_when_nothing_is_left_of_a_limit_of_unknown_size() {
    let now = Instant::now();
    let mut known = after(&told(200, &[("ratelimit-remaining", 0), ("ratelimit-reset", 60)]), now);
    assert!(known.free_at(now).is_some());
    assert_eq!(known.pace(now), Pace::Slow);
}
