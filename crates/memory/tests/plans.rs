//! A limiter under other quotas counts on, and refuses what would be another count.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::sync::Arc;

use allocation_counter::measure;
use tollgate_conformance::Random;
use tollgate_core::{Algorithm, Anchor, Limit, Limiter, ManualClock, Quota, Span, Tick};
use tollgate_memory::Memory;

const WINDOW: Algorithm = Algorithm::FixedWindow(Anchor::Spread);

fn limit(name: &str, quota: &str, algorithm: Algorithm) -> Limit {
    Limit::builder(name, quota.parse().unwrap()).algorithm(algorithm).build().unwrap()
}

fn limiter(limits: impl IntoIterator<Item = Limit>) -> (ManualClock, Limiter<Memory>) {
    let clock = ManualClock::at(Tick::from_micros(1_764_000_000_000_000));
    let memory = Memory::builder().clock(clock.clone()).build().unwrap();
    (clock, Limiter::over(Arc::new(memory), limits))
}

#[test]
fn a_quota_told_with_the_call_decides_as_a_limit_that_was_built_of_it() {
    for algorithm in [Algorithm::TokenBucket, WINDOW, Algorithm::SlidingWindow] {
        let random = &mut Random::of(7);
        let (clock, told) = limiter([limit("plan", "5/minute", algorithm)]);
        let (same, built) = limiter([limit("plan", "5/minute", algorithm)]);
        for _ in 0..2_000 {
            // So long that all is swept meanwhile: one store forgets no sooner than the other.
            let step = Span::from_micros(random.between(4_000_000, 20_000_000));
            clock.advance(step);
            same.advance(step);
            let quota = format!("{}/minute", random.below(12));
            let plan = limit("plan", &quota, algorithm);
            let (key, cost) = (random.below(3), random.below(4));
            let one = told.with_quotas(|_| Some(plan.quota())).unwrap();
            let (one, other) = (one.check_n(key, cost), built.check_under(&plan, key, cost));
            assert_eq!(one.verdict(), other.verdict(), "{algorithm} {quota}");
            assert_eq!(one.remaining(), other.remaining(), "{algorithm} {quota}");
        }
    }
}

#[test]
fn limits_that_are_told_nothing_stay_and_all_are_charged_or_none() {
    let (_, limiter) = limiter([limit("burst", "3/s", WINDOW), limit("plan", "2/day", WINDOW)]);
    let paid = limiter
        .with_quotas(|limit| (limit.name() == "plan").then_some(Quota::per_day(10)))
        .unwrap();
    assert!(paid.check_n("a", 3).is_allowed());
    let refused = paid.check("a");
    assert_eq!(refused.decisive().unwrap().limit().name(), "burst");
    let left: Vec<_> = refused.answers().map(|answer| answer.remaining()).collect();
    assert_eq!(left, [0, 7]);
    let back = limiter.check("a");
    assert_eq!(back.decisive().unwrap().limit().name(), "plan", "the plan is over: 3 of 2 used");
}

#[test]
fn receipts_of_a_limiter_made_for_one_call_are_given_back_through_any() {
    let (_, limiter) = limiter([limit("tokens", "100/day", WINDOW)]);
    let paid = limiter.with_quotas(|_| Some(Quota::per_day(1_000))).unwrap();
    let (decision, receipts) = paid.charge("a", 600);
    assert!(decision.is_allowed());
    limiter.settle(receipts, 40);
    assert_eq!(limiter.peek("a", 0).remaining(), 60);
}

#[test]
fn a_quota_of_another_period_or_one_that_does_not_fit_says_why_and_charges_nothing() {
    let (_, limiter) =
        limiter([limit("first", "5/minute", WINDOW), limit("plan", "5/day", WINDOW)]);
    let told = |quota: &str| {
        let quota = quota.parse().unwrap();
        limiter.with_quotas(|limit| (limit.name() == "plan").then_some(quota)).unwrap_err()
    };
    assert_eq!(
        told("100/hour").to_string(),
        "`100/h` would be another count; expected the period of the limit, 1d"
    );
    assert!(told("5/day burst 9").to_string().contains("a fixed-window has none"));
    assert_eq!(limiter.store().stats().entries, 0);
}

#[test]
fn where_no_quota_differs_nothing_is_allocated() {
    let limits = ["a", "b", "c", "d"].map(|name| limit(name, "5/minute", WINDOW));
    let (_, limiter) = limiter(limits);
    let used = measure(|| {
        let same = limiter.with_quotas(|limit| Some(limit.quota())).unwrap();
        let none = same.with_quotas(|_| None).unwrap();
        assert!(std::ptr::eq(none.limits(), limiter.limits()));
    });
    assert_eq!(used.count_total, 0);
}
