//! Blocks, resets and looks at a key, and the clock.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_core::{
    Algorithm, Anchor, Charge, Clock, Key, Limit, LocalStore, ManualClock, Mode, Span, Tick,
    Verdict,
};
use tollgate_memory::{Memory, SystemClock};

fn setting() -> (ManualClock, Memory, Limit) {
    let clock = ManualClock::at(Tick::from_micros(1_764_000_000_000_000));
    let memory = Memory::builder().clock(clock.clone()).build().unwrap();
    (clock, memory, Limit::new("client", "5/minute".parse().unwrap()).unwrap())
}

#[test]
fn a_block_refuses_until_it_ends_and_charges_nothing() {
    let (clock, memory, limit) = setting();
    let key = Key::from("mallory");
    memory.block(&limit, key, Span::MINUTE);
    let refused = memory.decide_one(Mode::Charge, &Charge::new(&limit, key));
    assert_eq!(refused.verdict(), Verdict::Deny(Span::MINUTE));
    assert_eq!(refused.remaining(), 5);
    assert_eq!(memory.inspect(&limit, key).retry_after(), Some(Span::MINUTE));
    assert!(memory.decide_one(Mode::Charge, &Charge::new(&limit, "alice")).is_allowed());
    clock.advance(Span::from_micros(59_999_999));
    assert!(memory.decide_one(Mode::Charge, &Charge::new(&limit, key)).is_denied());
    clock.advance(Span::from_micros(1));
    assert!(memory.decide_one(Mode::Charge, &Charge::new(&limit, key)).is_allowed());
}

#[test]
fn a_blocked_key_refuses_the_whole_decision_and_an_unblocked_one_does_not() {
    let (_, memory, limit) = setting();
    let other = Limit::new("other", "5/minute".parse().unwrap()).unwrap();
    memory.block(&limit, Key::from("a"), Span::HOUR);
    let charges = [Charge::new(&other, "a"), Charge::new(&limit, "a")];
    let refused = memory.decide_now(Mode::Charge, &charges);
    assert_eq!(refused.verdict(), Verdict::Deny(Span::HOUR));
    assert_eq!(memory.stats().entries, 0);
    memory.unblock(&limit, Key::from("a"));
    assert!(memory.decide_now(Mode::Charge, &charges).is_allowed());
}

#[test]
fn a_reset_forgets_the_debt_of_every_kind_of_state() {
    let (_, memory, limit) = setting();
    let log = Limit::builder("log", limit.quota()).algorithm(Algorithm::SlidingLog).build();
    for limit in [limit, log.unwrap()] {
        let five = Charge::new(&limit, "a").cost(5);
        assert!(memory.decide_one(Mode::Charge, &five).is_allowed());
        assert!(memory.inspect(&limit, five.key).is_denied());
        memory.reset(&limit, five.key);
        memory.reset(&limit, five.key);
        assert_eq!(memory.stats().entries, 0);
        assert!(memory.decide_one(Mode::Charge, &five).is_allowed());
        memory.reset(&limit, five.key);
    }
}

#[test]
fn a_lowered_limit_gives_nothing_back_of_what_was_charged_before() {
    let (_, memory, limit) = setting();
    let lowered = Limit::new("client", "2/minute".parse().unwrap()).unwrap();
    let mut charged = memory.decide_one(Mode::Charge, &Charge::new(&limit, "a").cost(3));
    let receipt = charged.answers_mut().next().unwrap().take_receipt(Key::from("a")).unwrap();
    // Written under the lowered limit: from here on the store knows that it was lowered.
    memory.reset(&limit, Key::from("a"));
    assert!(memory.decide_one(Mode::Charge, &Charge::new(&lowered, "a").cost(2)).is_allowed());
    memory.give_now(receipt, 0);
    assert!(memory.inspect(&lowered, Key::from("a")).is_denied());
}

#[test]
fn a_decision_as_of_a_time_reads_no_clock_and_keeps_to_that_time() {
    let (clock, memory, limit) = setting();
    let decide =
        |now, cost| memory.decide_at(now, Mode::Charge, &[Charge::new(&limit, "a").cost(cost)]);
    let then = Tick::from_micros(1_000_000_000_000_000);
    assert_eq!(decide(then, 5).remaining(), 0);
    assert_eq!(decide(then, 1).verdict(), Verdict::Deny(Span::from_secs(12)));
    assert!(decide(then.after(Span::from_micros(11_999_999)), 1).is_denied());
    assert!(decide(then.after(Span::from_secs(12)), 1).is_allowed());
    clock.advance(Span::HOUR);
    assert!(decide(then.after(Span::from_secs(12)), 1).is_denied(), "the clock is not asked");
}

/// A clock that shows a second more whenever it is read.
#[derive(Clone, Default)]
struct Ticking(Arc<AtomicU64>);

impl Clock for Ticking {
    fn now(&self) -> Tick {
        let read = self.0.fetch_add(1, Ordering::SeqCst);
        Tick::from_micros(1_764_000_000_000_000).after(Span::from_secs(9 + read))
    }
}

#[test]
fn b146_a_decision_reads_the_clock_once_so_usage_and_reset_are_of_one_window() {
    for algorithm in [Algorithm::FixedWindow(Anchor::Clock), Algorithm::SlidingWindow] {
        let clock = Ticking::default();
        let memory = Memory::builder().clock(clock.clone()).build().unwrap();
        let limit = Limit::builder("edge", "5 per 10s".parse().unwrap()).algorithm(algorithm);
        let (limit, other) = (limit.build().unwrap(), setting().2);
        let charges = [Charge::new(&limit, "a").cost(5), Charge::new(&other, "a").cost(5)];
        // The last second of one window; a second read would stand in the next.
        let last = memory.decide_now(Mode::Charge, &charges);
        assert_eq!(clock.0.load(Ordering::SeqCst), 1, "{algorithm}");
        let answer = last.answers().next().unwrap();
        assert_eq!(answer.remaining(), 0, "{algorithm}");
        let one = memory.decide_one(Mode::Charge, &Charge::new(&limit, "b"));
        assert_eq!((clock.0.load(Ordering::SeqCst), one.remaining()), (2, 4), "{algorithm}");
        if algorithm != Algorithm::SlidingWindow {
            assert_eq!(answer.reset_after(), Span::SECOND);
            assert_eq!(one.reset_after(), Span::from_secs(10));
        }
    }
}

#[test]
fn b148_threads_share_one_count() {
    let (_, memory, _) = setting();
    let limit = Limit::new("all", "10000/hour".parse().unwrap()).unwrap();
    let ask = || memory.decide_one(Mode::Charge, &Charge::new(&limit, "a")).remaining();
    for expected in [9_999, 9_998, 9_997] {
        let told = std::thread::scope(|scope| scope.spawn(ask).join().unwrap());
        assert_eq!(told, expected);
    }
}

#[test]
fn the_machines_clock_starts_at_wall_time_and_never_steps_back() {
    let clock = SystemClock::new();
    let start = clock.now();
    // After 2024, before 2200.
    assert!((1_704_067_200_000_000..7_258_118_400_000_000).contains(&start.as_micros()));
    let mut last = start;
    for _ in 0..100_000 {
        let now = clock.now();
        assert!(now >= last);
        last = now;
    }
}
