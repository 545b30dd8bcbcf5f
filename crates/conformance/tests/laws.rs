//! Ten million random operations per rule (under the profile `laws`; fewer without optimisation,
//! which no law depends on).

use tollgate_conformance::{Form, laws};

/// With `cargo test --profile laws`, assertions and overflow checks are on as in any test.
const OPERATIONS: u64 = 10_000_000;

fn hold(form: Form) {
    let tally = laws(form, 0, OPERATIONS);
    println!("{}: {tally:?}", form.name());
    assert!(tally.operations >= OPERATIONS);
    let reached = [tally.passed, tally.denied, tally.never, tally.re_anchored, tally.given];
    assert!(reached.iter().all(|n| *n > 1_000), "all of it was reached: {tally:?}");
    assert!(tally.forgotten > 1_000, "all of it was reached: {tally:?}");
    assert_eq!(tally.waited > 1_000, form == Form::LeakyBucket);
}

#[test]
fn token_bucket_keeps_the_laws() {
    hold(Form::TokenBucket);
}

#[test]
fn leaky_bucket_keeps_the_laws() {
    hold(Form::LeakyBucket);
}

#[test]
fn fixed_window_spread_keeps_the_laws() {
    hold(Form::FixedSpread);
}

#[test]
fn fixed_window_clock_keeps_the_laws() {
    hold(Form::FixedClock);
}

#[test]
fn fixed_window_first_hit_keeps_the_laws() {
    hold(Form::FixedFirstHit);
}

#[test]
fn sliding_window_keeps_the_laws() {
    hold(Form::SlidingWindow);
}

#[test]
fn sliding_log_keeps_the_laws() {
    hold(Form::SlidingLog);
}
