//! Quotas, spans and limits as people write them: read, refused, and written back.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends by a panic")]

use proptest::prelude::*;
use tollgate_core::{
    Algorithm, Anchor, Limit, LimitError, Queue, Quota, QuotaError, Resolution, Span, SpanError,
};

#[test]
fn spans_are_read_as_people_write_them() {
    let read = [
        ("1us", 1),
        ("1µs", 1),
        ("500ms", 500_000),
        ("90s", 90_000_000),
        ("1 sec", 1_000_000),
        ("15 minutes", 900_000_000),
        ("10m", 600_000_000),
        ("2h30m", 9_000_000_000),
        ("1 hour 30 min", 5_400_000_000),
        ("1 DAY", 86_400_000_000),
        (" 2w ", 1_209_600_000_000),
        ("1_000ms", 1_000_000),
        ("9007199254740992us", 1 << 53),
    ];
    for (text, micros) in read {
        assert_eq!(text.parse(), Ok(Span::from_micros(micros)), "{text}");
    }
}

#[test]
fn spans_that_say_no_length_are_refused_with_the_reason() {
    let refused = [
        ("", SpanError::Empty),
        ("  ", SpanError::Empty),
        ("10", SpanError::NoUnit),
        ("1h 30", SpanError::NoUnit),
        ("h", SpanError::NoNumber),
        ("2h m", SpanError::NoNumber),
        ("_s", SpanError::NoNumber),
        ("10 parsecs", SpanError::UnknownUnit),
        ("-1s", SpanError::UnknownUnit),
        ("1.5s", SpanError::NoUnit),
        ("1 month", SpanError::Calendar),
        ("1y", SpanError::Calendar),
        ("0s", SpanError::Zero),
        ("0h0m", SpanError::Zero),
        ("300000w", SpanError::TooLong),
        ("9007199254740993us", SpanError::TooLong),
        ("99999999999999999999s", SpanError::TooLong),
    ];
    for (text, error) in refused {
        assert_eq!(text.parse::<Span>(), Err(error), "{text}");
    }
}

#[test]
fn quotas_are_read_as_people_write_them() {
    let read = [
        ("100/minute", (100, Span::MINUTE, None)),
        ("5 per 15 minutes", (5, Span::from_secs(900), None)),
        ("10/s burst 20", (10, Span::SECOND, Some(20))),
        ("1000 per day", (1_000, Span::DAY, None)),
        ("1 per 2h30m", (1, Span::from_secs(9_000), None)),
        ("0/hour", (0, Span::HOUR, None)),
        ("1_000/S", (1_000, Span::SECOND, None)),
        ("  7 / 10s   burst   3 ", (7, Span::from_secs(10), Some(3))),
        ("10 PER Minute, Burst 20", (10, Span::MINUTE, Some(20))),
        ("3 per week", (3, Span::from_secs(604_800), None)),
    ];
    for (text, (amount, period, burst)) in read {
        let quota: Quota = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((quota.amount(), quota.period(), quota.burst()), (amount, period, burst));
    }
}

#[test]
fn what_is_no_quota_is_refused_with_the_part_that_is_wrong() {
    let refused = [
        ("", QuotaError::NoAmount),
        ("/minute", QuotaError::NoAmount),
        ("per minute", QuotaError::Amount),
        ("ten/minute", QuotaError::Amount),
        ("-1/s", QuotaError::Amount),
        ("1.5/s", QuotaError::Amount),
        ("99999999999999999999/s", QuotaError::Amount),
        ("100", QuotaError::NoPeriod),
        ("100/", QuotaError::Period(SpanError::Empty)),
        ("100/10", QuotaError::Period(SpanError::NoUnit)),
        ("100/0s", QuotaError::Period(SpanError::Zero)),
        ("100/month", QuotaError::Period(SpanError::Calendar)),
        ("100 per blue moon", QuotaError::Period(SpanError::UnknownUnit)),
        ("9007199254740993/s", QuotaError::TooMuch),
        ("10/s burst", QuotaError::Burst),
        ("10/s burst 0", QuotaError::Burst),
        ("10/s burst many", QuotaError::Burst),
        ("10/s burst 5 burst 6", QuotaError::Burst),
        ("0/s burst 5", QuotaError::Burst),
        ("10/s burst 9007199254740993", QuotaError::TooMuch),
    ];
    for (text, error) in refused {
        assert_eq!(text.parse::<Quota>(), Err(error), "{text}");
    }
    assert!("10/s burstburst 5".parse::<Quota>().is_err());
    assert!("10/sburst 5".parse::<Quota>().is_err());
}

proptest! {
    #[test]
    fn a_span_written_is_read_again(micros in 1..=1u64 << 53) {
        let span = Span::from_micros(micros);
        prop_assert_eq!(span.to_string().parse(), Ok(span));
    }

    #[test]
    fn a_quota_written_is_read_again(
        amount in 0..=1u64 << 53,
        micros in 1..=1u64 << 53,
        burst in proptest::option::of(1..=1u64 << 53),
    ) {
        let quota = Quota::new(amount, Span::from_micros(micros)).unwrap();
        let quota = match burst {
            Some(burst) if amount > 0 => quota.with_burst(burst).unwrap(),
            _ => quota,
        };
        prop_assert_eq!(quota.to_string().parse(), Ok(quota));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}") {
        let _ = text.parse::<Quota>();
        let _ = text.parse::<Span>();
    }

    #[test]
    fn nearly_a_quota_does_not_panic(
        text in "[0-9_]{0,22} ?(/|per)? ?([0-9_]{0,20} ?(us|µs|ms|s|m|h|d|w|y|month)? ?){0,3}(burst ?[0-9]{0,20})?",
    ) {
        let read = text.parse::<Quota>();
        if let Ok(quota) = read {
            prop_assert_eq!(quota.to_string().parse(), Ok(quota));
        }
    }

    /// Whatever is refused as too large or not whole names a tick only if that tick fits.
    #[test]
    fn a_tick_that_is_named_fits(
        amount in 1..=1u64 << 53,
        micros in 1..=1u64 << 53,
        queue in 0..=u64::MAX,
        resolution in proptest::option::of(0..3usize),
    ) {
        let quota = Quota::new(amount, Span::from_micros(micros)).unwrap();
        for algorithm in [
            Algorithm::TokenBucket,
            Algorithm::LeakyBucket(Queue::Length(queue)),
            Algorithm::LeakyBucket(Queue::MaxWait(Span::from_micros(queue))),
            Algorithm::FixedWindow(Anchor::Spread),
            Algorithm::SlidingWindow,
            Algorithm::SlidingLog,
        ] {
            let builder = || Limit::builder("l", quota).algorithm(algorithm);
            let built = match resolution {
                Some(index) => builder().resolution(Resolution::ALL[index]).build(),
                None => builder().build(),
            };
            let fits = |tick| builder().resolution(tick).build().is_ok();
            match built {
                Ok(limit) => prop_assert!(fits(limit.resolution())),
                Err(error) => match error.fitting_tick() {
                    Some(tick) => {
                        prop_assert!(fits(tick));
                        let named = format!("a tick of {tick} would fit");
                        prop_assert!(error.to_string().ends_with(&named), "{}", error);
                    }
                    None => prop_assert!(!Resolution::ALL.into_iter().any(fits), "{}", error),
                },
            }
        }
    }
}

fn refusal(algorithm: Algorithm, quota: &str, tick: Option<Resolution>) -> LimitError {
    let builder = Limit::builder("l", quota.parse().unwrap()).algorithm(algorithm);
    let built = match tick {
        Some(tick) => builder.resolution(tick).build(),
        None => builder.build(),
    };
    built.expect_err("a limit that cannot be counted")
}

#[test]
fn a_limit_that_cannot_be_counted_says_why_and_what_would_fit() {
    let bucket = Algorithm::TokenBucket;
    let cases = [
        // 10^9 × 60 × 10^6 units of 1/P token pass 2^53, in milliseconds they do not.
        (refusal(bucket, "1000000000/minute", None), Some(Resolution::Millis), "too large"),
        (refusal(bucket, "9007199254740992/s", None), None, "too large"),
        (refusal(bucket, "1/1500us", Some(Resolution::Millis)), Some(Resolution::Micros), "whole"),
        (refusal(bucket, "5000000/hour burst 1", None), Some(Resolution::Micros), "at least 2"),
        (refusal(bucket, "7000000/s burst 1", None), None, "at least 7"),
        (refusal(Algorithm::SlidingWindow, "5/s burst 7", None), None, "gives a burst"),
        (refusal(Algorithm::SlidingLog, "10001/s", None), None, "at most 10000"),
        (refusal(Algorithm::SlidingWindow, "2147483648/s", None), None, "too large"),
        (
            refusal(Algorithm::SlidingLog, "5/10000w", Some(Resolution::Micros)),
            Some(Resolution::Millis),
            "too large",
        ),
    ];
    for (error, tick, text) in cases {
        assert_eq!(error.fitting_tick(), tick, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn without_a_burst_the_capacity_is_the_amount_and_1_for_a_queue() {
    let capacity = |algorithm, quota: &str| {
        let builder = Limit::builder("l", quota.parse().unwrap()).algorithm(algorithm);
        builder.build().unwrap().capacity()
    };
    assert_eq!(capacity(Algorithm::TokenBucket, "10/s"), 10);
    assert_eq!(capacity(Algorithm::TokenBucket, "10/s burst 20"), 20, "not 30");
    assert_eq!(capacity(Algorithm::LeakyBucket(Queue::Length(5)), "10/s"), 6);
    assert_eq!(capacity(Algorithm::LeakyBucket(Queue::MaxWait(Span::SECOND)), "10/s burst 2"), 12);
    assert_eq!(capacity(Algorithm::SlidingLog, "10/s"), 10);
    assert_eq!(capacity(Algorithm::TokenBucket, "0/s"), 0);
}

#[test]
fn the_tick_follows_from_the_period() {
    let tick = |quota: &str| Limit::new("l", quota.parse().unwrap()).unwrap().resolution();
    assert_eq!(tick("10/minute"), Resolution::Micros);
    assert_eq!(tick("10 per 61s"), Resolution::Millis);
    assert_eq!(tick("10/day"), Resolution::Millis);
    assert_eq!(tick("10 per 86401s"), Resolution::Seconds);
}

#[test]
fn a_counter_is_named_by_limit_algorithm_period_and_tick() {
    let build = |name, algorithm, quota: &str| {
        let builder = Limit::builder(name, quota.parse().unwrap()).algorithm(algorithm);
        builder.build().unwrap().id()
    };
    let (bucket, window) = (Algorithm::TokenBucket, Algorithm::SlidingWindow);
    let one = build("l", bucket, "10/minute");
    assert_eq!(one, build("l", bucket, "99/minute burst 7"), "rate and burst may change");
    let queue = |length| build("l", Algorithm::LeakyBucket(Queue::Length(length)), "10/minute");
    assert_eq!(queue(1), queue(2), "so may a queue");
    let fixed = |anchor| build("l", Algorithm::FixedWindow(anchor), "10/minute");
    let mut ids = vec![
        one,
        build("m", bucket, "10/minute"),
        build("l", window, "10/minute"),
        build("l", bucket, "10/hour"),
        queue(1),
        fixed(Anchor::Spread),
        fixed(Anchor::Clock),
        fixed(Anchor::FirstHit),
    ];
    let coarse = Limit::builder("l", "10/minute".parse().unwrap()).resolution(Resolution::Millis);
    ids.push(coarse.build().unwrap().id());
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 9);
}
