//! A limit in the windows of a calendar, held to a model that only counts per window.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::num::NonZeroU32;
use std::sync::Arc;

use tollgate_conformance::Random;
use tollgate_core::{
    Algorithm, Anchor, Calendar, Limit, Limiter, ManualClock, Quota, Span, Tick, Verdict,
};
use tollgate_memory::Memory;

/// Windows of 20 to 30 hours, as many as `count`.
fn uneven(count: usize, random: &mut Random) -> &'static Calendar {
    let mut edge = Tick::EPOCH;
    let edges = (0..count).map(|_| {
        edge = edge.after(Span::from_secs(random.between(20 * 3_600, 30 * 3_600)));
        edge
    });
    Box::leak(Box::new(Calendar::new("uneven", edges).unwrap()))
}

fn daily(amount: u64, calendar: &'static Calendar) -> Limit {
    let limit = Limit::builder("daily", Quota::per_day(amount.try_into().unwrap()));
    limit.algorithm(Algorithm::FixedWindow(Anchor::Calendar(calendar))).build().unwrap()
}

#[test]
fn each_window_admits_its_amount_and_a_refusal_ends_with_its_window() {
    for seed in 0..20 {
        let random = &mut Random::of(seed);
        let calendar = uneven(200, random);
        // Beyond the last edge as well.
        let mut now = calendar.window(Tick::from_micros(random.below(1 << 44))).0;
        let clock = ManualClock::at(now);
        let memory = Arc::new(Memory::builder().clock(clock.clone()).build().unwrap());
        let limit = daily(random.between(1, 9), calendar);
        let limiter = Limiter::over(memory, [limit.clone()]);
        let mut counted = ((now, now), 0);
        for _ in 0..5_000 {
            let step = Span::from_micros(random.of_any_size(37));
            clock.advance(step);
            now = now.after(step);
            let window = calendar.window(now);
            assert!(window.0 <= now && now < window.1);
            if counted.0 != window {
                counted = (window, 0);
            }
            let cost = random.between(1, 3);
            let decision = limiter.check_n("ann", cost);
            let verdict = match cost {
                cost if cost > limit.capacity() => Verdict::Never,
                cost if counted.1 + cost > limit.capacity() => Verdict::Deny(window.1.since(now)),
                cost => {
                    counted.1 += cost;
                    Verdict::Allow
                }
            };
            assert_eq!(decision.verdict(), verdict, "seed {seed}");
            assert_eq!(decision.remaining(), limit.capacity() - counted.1, "seed {seed}");
            let reset = if counted.1 == 0 { Span::ZERO } else { window.1.since(now) };
            assert_eq!(decision.reset_after(), reset, "seed {seed}");
        }
    }
}

#[test]
fn a_receipt_gives_back_in_its_own_window_alone() {
    let calendar = uneven(10, &mut Random::of(1));
    let (first, second) = calendar.window(Tick::EPOCH);
    let clock = ManualClock::at(first);
    let memory = Arc::new(Memory::builder().clock(clock.clone()).build().unwrap());
    let limiter = Limiter::over(memory, [daily(3, calendar)]);
    let charge = || limiter.charge("ann", 1).1;
    let (same, other) = (charge(), charge());
    limiter.refund(same);
    assert_eq!(limiter.peek("ann", 1).remaining(), 1, "one is used, and one would be");
    clock.advance(second.since(first));
    assert!(limiter.check("ann").is_allowed());
    limiter.refund(other);
    assert_eq!(limiter.peek("ann", 1).remaining(), 1);
}

#[test]
fn an_idle_key_is_forgotten_once_its_window_is_over() {
    let calendar = uneven(100, &mut Random::of(3));
    let clock = ManualClock::at(calendar.window(Tick::from_micros(1 << 42)).0);
    let memory = Arc::new(Memory::builder().clock(clock.clone()).build().unwrap());
    let limiter = Limiter::over(memory.clone(), [daily(3, calendar)]);
    (0..10_000_u64).for_each(|key| assert!(limiter.check(key).is_allowed()));
    clock.advance(calendar.longest());
    // Sweeping rides on calls.
    for call in 0..20_000_u64 {
        clock.advance(Span::from_millis(1));
        limiter.check(call % 10);
    }
    assert!(memory.stats().entries < 1_000, "{} are kept", memory.stats().entries);
}

#[test]
fn shares_together_admit_what_the_limit_does() {
    let calendar = uneven(10, &mut Random::of(5));
    let three = NonZeroU32::new(3).unwrap();
    let share = daily(10, calendar).share(three);
    assert_eq!((share.capacity(), share.calendar()), (3, Some(calendar)));
    let thin = daily(2, calendar).share(three);
    assert_eq!((thin.capacity(), thin.calendar()), (1, None));
    assert!(thin.quota().period().as_micros() * 2 >= calendar.longest().as_micros() * 3);
}
