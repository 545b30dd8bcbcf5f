//! A limit without a key decides as the store does for one key, also when threads share it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tollgate_conformance::Random;
use tollgate_core::{
    Algorithm, Anchor, Charge, Clock, Decision, Key, Limit, LocalStore, ManualClock, Mode, Queue,
    Span, Tick,
};
use tollgate_memory::{Memory, Single};

const KEY: Key<'static> = Key::Bytes(b"");
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::TokenBucket,
    Algorithm::LeakyBucket(Queue::Length(0)),
    Algorithm::LeakyBucket(Queue::Length(4)),
    Algorithm::LeakyBucket(Queue::MaxWait(Span::SECOND)),
    Algorithm::FixedWindow(Anchor::Spread),
    Algorithm::FixedWindow(Anchor::Clock),
    Algorithm::FixedWindow(Anchor::FirstHit),
    Algorithm::SlidingWindow,
    Algorithm::SlidingLog,
];

fn clock() -> ManualClock {
    ManualClock::at(Tick::from_micros(1_764_000_000_000_000))
}

fn limit(quota: &str, algorithm: Algorithm) -> Limit {
    Limit::builder("single", quota.parse().unwrap()).algorithm(algorithm).build().unwrap()
}

/// Everything that a decision tells.
fn told(decision: &Decision<'_>) -> impl PartialEq + std::fmt::Debug + use<> {
    let answer = decision.answers().next().unwrap();
    let spans = (decision.wait(), decision.retry_after(), decision.reset_after());
    let counts = (decision.remaining(), answer.remaining_at_once(), answer.charged());
    (decision.verdict(), decision.granted(), spans, counts, answer.now())
}

/// A limit and its twin over a store, asked the same.
struct Pair {
    clock: ManualClock,
    single: Single,
    memory: Memory,
}

impl Pair {
    fn new(limit: Limit) -> Pair {
        let clock = clock();
        let memory = Memory::builder().clock(clock.clone()).build().unwrap();
        Pair { single: Single::with_clock(limit, clock.clone()), memory, clock }
    }

    /// Moves the clock: back only while something is owed, since a store forgets what owes nothing.
    fn move_clock(&self, random: &mut Random) {
        let owes = !self.single.peek(0).reset_after().is_zero();
        let step = Span::from_micros(match random.below(8) {
            0..4 => 0,
            4..6 => random.below(2_000_000),
            6 => random.below(120_000_000),
            _ => random.of_any_size(34),
        });
        if owes && random.once_in(4) {
            let back = self.clock.now().as_micros() - step.as_micros();
            self.clock.set(Tick::from_micros(back));
        } else {
            self.clock.advance(step);
        }
    }

    fn decide(&self, mode: Mode, cost: u64, case: &str) {
        let charge = Charge::new(self.single.limit(), KEY).cost(cost);
        let now = self.clock.now();
        let one = self.single.decide_at(now, mode, cost);
        let other = self.memory.decide_at(now, mode, &[charge]);
        assert_eq!(told(&one), told(&other), "{case}: {mode:?} {cost}");
    }

    fn settle(&self, cost: u64, actual: u64, case: &str) {
        let (one, receipts) = self.single.charge(cost);
        let charge = Charge::new(self.single.limit(), KEY).cost(cost);
        let mut other = self.memory.decide_one(Mode::Charge, &charge);
        assert_eq!(told(&one), told(&other), "{case}: charge {cost}");
        let receipt = other.answers_mut().find_map(|answer| answer.take_receipt(KEY));
        self.single.settle(receipts, actual);
        if let Some(receipt) = receipt {
            self.memory.give_now(receipt, actual);
        }
        self.decide(Mode::Peek, 1, case);
    }
}

#[test]
fn whatever_is_asked_a_single_and_a_store_of_one_key_tell_the_same() {
    for (seed, algorithm) in (0u64..400).zip(ALGORITHMS.iter().cycle()) {
        let random = &mut Random::of(seed);
        let quota = random.one_of(&["1/s", "5/s", "10/minute", "7 per 1h", "3/day", "0/s"]);
        let pair = Pair::new(limit(quota, *algorithm));
        for step in 0..300 {
            let case = format!("seed {seed}, {algorithm} of {quota}, step {step}");
            pair.move_clock(random);
            let cost = random.below(pair.single.limit().capacity() + 3);
            match random.below(8) {
                0..4 => pair.decide(Mode::Charge, cost.min(random.below(4)), &case),
                4 => pair.decide(Mode::Charge, cost, &case),
                5 => pair.decide(Mode::Peek, cost, &case),
                6 => pair.decide(Mode::UpTo, cost, &case),
                _ => pair.settle(cost, random.below(cost + 3), &case),
            }
        }
    }
}

#[test]
fn threads_that_share_it_admit_exactly_the_bound_and_lose_no_refund() {
    for algorithm in ALGORITHMS {
        if let Algorithm::LeakyBucket(_) = algorithm {
            continue; // gives back only the tail of its queue
        }
        let single = Single::with_clock(limit("5000/day", algorithm), clock());
        let admitted = AtomicU64::new(0);
        thread::scope(|scope| {
            for thread in 0..4u64 {
                let (single, admitted) = (&single, &admitted);
                scope.spawn(move || {
                    for call in 0..4_000 {
                        let (decision, receipts) = single.charge(1);
                        if thread == 0 && call % 2 == 0 {
                            single.refund(receipts);
                        } else {
                            admitted.fetch_add(decision.granted(), Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let rest = single.take_up_to(u64::MAX).granted();
        assert_eq!(admitted.load(Ordering::Relaxed) + rest, 5_000, "{algorithm}");
        assert!(single.check().is_denied());
    }
}

#[test]
fn a_receipt_of_another_limit_changes_nothing() {
    let (one, other) = (
        Single::with_clock(limit("5/day", Algorithm::SlidingLog), clock()),
        Single::with_clock(limit("5/day", Algorithm::SlidingLog), clock()),
    );
    assert!(one.check_n(3).is_allowed());
    let (_, receipts) = other.charge(3);
    one.refund(receipts);
    assert_eq!((one.peek(0).remaining(), other.peek(0).remaining()), (2, 2));
}
