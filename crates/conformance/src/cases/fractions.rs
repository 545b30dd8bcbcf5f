//! Lost fractions, drift, too coarse a clock.

use super::{Stage, bucket, denied_for, ms};
use crate::random::Random;
use crate::subject::Subject;

pub(super) fn b13_polling_often_loses_no_fraction<S: Subject>(stage: Stage<S>) {
    let limit = bucket("10/s");
    assert!(stage.ask(&limit, 10).is_allowed());
    let passed: u64 = (1..=500).map(|n| stage.at(n * 10).passing(&limit, 1)).sum();
    assert_eq!(passed, 50);
}

pub(super) fn b14_refill_is_continuous<S: Subject>(stage: Stage<S>) {
    let limit = bucket("2/s burst 10");
    assert_eq!(stage.at(0).ask(&limit, 1).remaining(), 9);
    assert!(stage.at(600).ask(&limit, 10).is_allowed());
}

pub(super) fn b15_leaks_while_hits_keep_coming<S: Subject>(stage: Stage<S>) {
    let limit = bucket("10 per 30s");
    let left: Vec<u64> = (0..=10).map(|s| stage.at(s * 1_000).ask(&limit, 1).remaining()).collect();
    assert_eq!(left, [9, 8, 7, 7, 6, 5, 5, 4, 3, 3, 2]);
}

pub(super) fn b16_never_jumps_to_full<S: Subject>(stage: Stage<S>) {
    let limit = bucket("3 per 1000ms");
    let passed: u64 = (0..100).map(|n| stage.at(n * 100).passing(&limit, 1)).sum();
    assert_eq!(passed, 32);
}

pub(super) fn b21_a_slow_client_is_never_refused<S: Subject>(stage: Stage<S>) {
    let (limit, mut random) = (bucket("20/s"), Random::of(21));
    for n in 1..=7_200 {
        stage.at(n * 500 - 20 + random.below(41));
        assert!(stage.passes(&limit), "request {n}");
    }
}

pub(super) fn b22_refill_within_a_second<S: Subject>(stage: Stage<S>) {
    let limit = bucket("10/s");
    assert!(stage.at(950).ask(&limit, 10).is_allowed());
    assert_eq!(denied_for(&stage.at(1_010).ask(&limit, 1)), ms(40));
    assert_eq!(stage.at(1_050).passing(&limit, 2), 1);
}
