//! Real threads on one store; `scripts/shuttle` explores the same claims in every order.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tollgate_core::{Algorithm, Charge, Limit, LocalStore, ManualClock, Mode, Span, Tick};
use tollgate_memory::Memory;

fn limit(name: &str, quota: &str, algorithm: Algorithm) -> Limit {
    Limit::builder(name, quota.parse().unwrap()).algorithm(algorithm).build().unwrap()
}

fn store(entries: u64) -> (ManualClock, Memory) {
    let clock = ManualClock::at(Tick::from_micros(1_764_000_000_000_000));
    let memory = Memory::builder().max_entries(entries).clock(clock.clone()).build().unwrap();
    (clock, memory)
}

#[test]
fn many_threads_on_few_keys_admit_exactly_the_bound_while_the_table_grows() {
    const KEYS: u64 = 30_000;
    let (_, memory) = store(2 * KEYS);
    let bucket = limit("bucket", "4/day", Algorithm::TokenBucket);
    let admitted = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for key in (0..KEYS).flat_map(|key| [key, key / 2, key]) {
                    let decision = memory.decide_one(Mode::Charge, &Charge::new(&bucket, key));
                    admitted.fetch_add(decision.granted(), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(admitted.load(Ordering::Relaxed), 4 * KEYS);
    assert_eq!(memory.stats().entries, KEYS);
}

#[test]
fn all_or_none_holds_for_crossing_pairs_of_every_kind_of_state() {
    let (_, memory) = store(1_000);
    let bucket = limit("bucket", "3000/day", Algorithm::TokenBucket);
    let log = limit("log", "3000/day", Algorithm::SlidingLog);
    let pairs = [(&bucket, &bucket), (&bucket, &log), (&log, &log)];
    for (index, (one, two)) in (0u64..).zip(pairs) {
        let (a, b) = (1_000 + 2 * index, 1_001 + 2 * index);
        let admitted = AtomicU64::new(0);
        thread::scope(|scope| {
            for turned in [false, true, false, true] {
                let admitted = &admitted;
                let memory = &memory;
                scope.spawn(move || {
                    let mut charges = [Charge::new(one, a), Charge::new(two, b)];
                    if turned {
                        charges.reverse();
                    }
                    for _ in 0..1_000 {
                        let decision = memory.decide_now(Mode::Charge, &charges);
                        admitted.fetch_add(decision.granted(), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(admitted.load(Ordering::Relaxed), 3_000);
        for (limit, key) in [(one, a), (two, b)] {
            let left = memory.decide_one(Mode::Peek, &Charge::new(limit, key).cost(0)).remaining();
            assert_eq!(left, 0, "both were charged each time");
        }
    }
}

#[test]
fn no_refund_is_lost() {
    let (_, memory) = store(1_000);
    let window = limit("window", "8/day", Algorithm::FixedWindow(Default::default()));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    let charge = Charge::new(&window, "a");
                    let mut decision = memory.decide_one(Mode::Charge, &charge);
                    if let Some(answer) = decision.answers_mut().next()
                        && let Some(receipt) = answer.take_receipt(charge.key)
                    {
                        memory.give_now(receipt, 0);
                    }
                }
            });
        }
    });
    let left = memory.decide_one(Mode::Peek, &Charge::new(&window, "a").cost(0)).remaining();
    assert_eq!(left, 8);
}

#[test]
fn threads_at_the_cap_keep_within_it() {
    const CAP: u64 = 1_000;
    let (clock, memory) = store(CAP);
    let bucket = limit("bucket", "10/hour", Algorithm::TokenBucket);
    let log = limit("log", "10/hour", Algorithm::SlidingLog);
    thread::scope(|scope| {
        for part in 0..4u64 {
            let (memory, clock, bucket, log) = (&memory, &clock, &bucket, &log);
            scope.spawn(move || {
                for key in 0..20_000u64 {
                    let key = part << 32 | key;
                    let charges = [Charge::new(bucket, key), Charge::new(log, key)];
                    assert!(memory.decide_now(Mode::Charge, &charges).is_allowed());
                    assert!(memory.decide_one(Mode::Charge, &charges[0]).is_allowed());
                    clock.advance(Span::from_micros(10));
                }
            });
        }
    });
    let entries = memory.stats().entries;
    assert!(entries <= CAP + 8, "{entries} entries");
    // Room is made even when every entry is a log.
    clock.advance(Span::DAY);
    assert!(memory.decide_one(Mode::Charge, &Charge::new(&bucket, 1u64)).is_allowed());
}
