//! Mistakes of widely read tutorials.

use std::collections::HashMap;

use tollgate_core::{Algorithm, Anchor, Queue, Receipt, Span, Verdict};

use super::{Stage, bucket, denied_for, limit, ms};
use crate::random::Random;
use crate::subject::Subject;

pub(super) fn t01_the_previous_window_weighs_after_a_roll<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::SlidingWindow, "100 per 60s");
    assert!(stage.at(0).ask(&limit, 100).is_allowed());
    assert_eq!(denied_for(&stage.at(59_999).ask(&limit, 1)), ms(601));
    assert_eq!(denied_for(&stage.at(60_000).ask(&limit, 1)), ms(600));
    assert!(stage.at(60_600).passes(&limit));
}

pub(super) fn t02_windows_abut<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::FixedWindow(Anchor::Clock), "10 per 10s");
    let (mut counts, mut random) = (HashMap::new(), Random::of(2));
    for n in 0..=20 {
        let time = n * 7_000;
        for burst in 0..random.between(1, 14) {
            let count: &mut u64 = counts.entry((time + burst) / 10_000).or_default();
            let passes = *count < 10;
            assert_eq!(stage.at(time + burst).passes(&limit), passes, "at {} ms", time + burst);
            *count += u64::from(passes);
        }
    }
}

pub(super) fn t03_no_leak_credit_while_empty<S: Subject>(stage: Stage<S>) {
    let limit = bucket("1/s burst 5");
    assert_eq!(stage.at(900).passing(&limit, 5), 5);
    assert_eq!(denied_for(&stage.at(1_000).ask(&limit, 1)), ms(900));
}

pub(super) fn t04_a_queue_lets_one_go_at_a_time<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::LeakyBucket(Queue::Length(5)), "1/s");
    for hour in 0..2 {
        stage.at(hour * 3_600_000);
        for second in 0..6 {
            let decision = stage.ask(&limit, 1);
            assert!(decision.is_allowed());
            assert_eq!(decision.wait(), Span::from_secs(second), "hour {hour}");
        }
        assert_eq!(denied_for(&stage.ask(&limit, 1)), Span::SECOND);
    }
}

pub(super) fn t05_a_wait_is_a_time_and_not_a_count<S: Subject>(stage: Stage<S>) {
    let limit = bucket("1/minute burst 10");
    assert!(stage.ask(&limit, 7).is_allowed());
    let decision = stage.ask(&limit, 5);
    assert_eq!(decision.remaining(), 3);
    assert_eq!(decision.verdict(), Verdict::Deny(Span::from_secs(120)));
    assert_eq!(decision.retry_after().map(Span::as_secs_ceil), Some(120));
}

pub(super) fn t06_a_slow_bucket_remembers_its_debt<S: Subject>(stage: Stage<S>) {
    let limit = bucket("1/minute burst 10");
    assert!(stage.at(0).ask(&limit, 10).is_allowed());
    assert_eq!(stage.at(61_000).left(&limit), 1);
    assert_eq!(stage.passing(&limit, 10), 1);
}

pub(super) fn t08_successes_given_back_do_not_count<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::SlidingWindow, "5 per 15 minutes");
    for login in 0..100 {
        let receipt = stage.at(login * 10).pay(&limit, 1);
        stage.store.give(receipt, 0);
    }
    let in_flight: Vec<Receipt<'_>> = (0..5).map(|_| stage.pay(&limit, 1)).collect();
    assert!(!stage.passes(&limit), "the sixth in flight");
    in_flight.into_iter().for_each(|receipt| stage.store.give(receipt, 0));
    assert_eq!(stage.left(&limit), 5);
}
