//! Clocks that step, lag or run ahead.

use tollgate_core::{Algorithm, Clock, Span, Tick};

use super::{START, Stage, bucket, denied_for, limit, ms};
use crate::subject::Subject;

pub(super) fn b63_a_clock_set_back_8_hours_costs_one_fill<S: Subject>(stage: Stage<S>) {
    // The system clock of a store in this process is monotonic and never shows such a step. A state
    // that meets one all the same costs a client one fill of the bucket, not eight hours.
    let limit = bucket("10/s burst 1");
    assert!(stage.at(0).passes(&limit) && stage.at(100).passes(&limit));
    let back = Tick::from_micros(START - Span::HOUR.as_micros() * 8);
    stage.clock.set(back);
    assert_eq!(denied_for(&stage.ask(&limit, 1)), ms(100));
    stage.wait(ms(100));
    assert!(stage.passes(&limit));
    stage.wait(ms(100));
    assert!(stage.passes(&limit));
}

pub(super) fn b65_older_times_mint_no_tokens<S: Subject>(stage: Stage<S>) {
    let limit = bucket("1/s burst 5");
    let left: Vec<u64> =
        [10, 5, 10].map(|s| stage.at(s * 1_000).ask(&limit, 1).remaining()).to_vec();
    assert_eq!(left, [4, 3, 2]);
    let more: u64 = (0..10_000)
        .map(|n| stage.at(if n % 2 == 0 { 5_000 } else { 10_000 }).passing(&limit, 1))
        .sum();
    assert_eq!(more, 2);
}

pub(super) fn b67_a_delayed_command_does_not_refill_twice<S: Subject>(stage: Stage<S>) {
    let limit = bucket("2/s burst 4");
    assert_eq!(stage.at(100_000).passing(&limit, 4), 4);
    assert_eq!(stage.at(90_000).passing(&limit, 1), 0);
    assert_eq!(stage.at(100_000).passing(&limit, 4), 0);
}

pub(super) fn b68_one_clock_decides_for_all_nodes<S: Subject>(stage: Stage<S>) {
    // Nodes bring no time of their own: the store's clock is the only one in a decision.
    let limit = limit(Algorithm::SlidingWindow, "10 per 10s");
    let mut passed = 0;
    let resets: Vec<Tick> = (0..20)
        .map(|n| {
            let decision = stage.at(n * 50).ask(&limit, 1);
            passed += u64::from(decision.is_allowed());
            stage.clock.now().after(decision.reset_after())
        })
        .collect();
    assert_eq!(passed, 10);
    assert!(resets.windows(2).all(|pair| pair[0] == pair[1]), "{resets:?}");
}

pub(super) fn b70_a_clock_that_jumps_56_years_overflows_nothing<S: Subject>(stage: Stage<S>) {
    for form in crate::Form::ALL {
        let limit = limit(form.algorithm(), "10/hour");
        stage.clock.set(Tick::from_micros(1_000_000));
        assert!(stage.passes(&limit));
        stage.clock.set(Tick::from_micros(START + 123_456));
        assert_eq!(stage.left(&limit), limit.capacity(), "{}", form.name());
        assert_eq!(stage.passing(&limit, 20), limit.capacity(), "{}", form.name());
    }
}
