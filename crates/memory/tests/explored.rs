//! The store's own code under shuttle: thousands of random orders of its atomic steps.
//! `scripts/shuttle` runs this; an ordinary `cargo test` finds no tests here.

#![allow(unexpected_cfgs, reason = "`--cfg shuttle` is set by scripts/shuttle alone")]
#![cfg(shuttle)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::sync::Arc;

use shuttle::thread;
use tollgate_core::{Algorithm, Charge, Limit, LocalStore, ManualClock, Mode, Span, Tick};
use tollgate_memory::{Memory, Single};

const ORDERS: usize = 3_000;

/// Runs a claim under random schedules, and under those that change tasks seldom but anywhere.
fn explore(claim: impl Fn() + Send + Sync + 'static) {
    let claim = Arc::new(claim);
    let again = claim.clone();
    shuttle::check_random(move || claim(), ORDERS);
    shuttle::check_pct(move || again(), ORDERS, 3);
}

fn limit(name: &str, quota: &str, algorithm: Algorithm) -> Arc<Limit> {
    Arc::new(Limit::builder(name, quota.parse().unwrap()).algorithm(algorithm).build().unwrap())
}

fn store(entries: u64) -> (ManualClock, Arc<Memory>) {
    let clock = ManualClock::at(Tick::from_micros(1_764_000_000_000_000));
    let memory = Memory::builder().max_entries(entries).clock(clock.clone()).build().unwrap();
    (clock, Arc::new(memory))
}

fn left(memory: &Memory, limit: &Limit, key: u64) -> u64 {
    memory.decide_one(Mode::Peek, &Charge::new(limit, key).cost(0)).remaining()
}

/// Runs `task` on several threads and sums up what it returns.
fn sum(tasks: u64, task: impl Fn(u64) -> u64 + Send + Sync + 'static) -> u64 {
    let task = Arc::new(task);
    let threads: Vec<_> = (0..tasks)
        .map(|index| {
            let task = task.clone();
            thread::spawn(move || task(index))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).sum()
}

#[test]
fn tasks_on_one_new_key_admit_the_bound_and_make_one_entry() {
    explore(|| {
        let (_, memory) = store(100);
        let bucket = limit("bucket", "3/day", Algorithm::TokenBucket);
        let on = memory.clone();
        let admitted = sum(3, move |_| {
            let ask = || on.decide_one(Mode::Charge, &Charge::new(&bucket, 1u64)).granted();
            ask() + ask()
        });
        assert_eq!((admitted, memory.stats().entries), (3, 1));
    });
}

#[test]
fn a_split_loses_and_doubles_no_charge() {
    explore(|| {
        let (_, memory) = store(1_000);
        let bucket = limit("bucket", "2/day", Algorithm::TokenBucket);
        for key in 0..8u64 {
            memory.decide_one(Mode::Charge, &Charge::new(&bucket, key));
        }
        let on = memory.clone();
        // New keys split a bucket while the old ones are charged again.
        let admitted = sum(3, move |task| {
            let keys = [task, 100 + 2 * task, task + 3, 101 + 2 * task];
            let ask = |key| on.decide_one(Mode::Charge, &Charge::new(&bucket, key).cost(1));
            keys.map(|key| ask(key).granted()).iter().sum()
        });
        assert_eq!((admitted, memory.stats().entries), (12, 14));
    });
}

#[test]
fn crossing_pairs_are_charged_on_both_or_on_none() {
    for algorithm in [Algorithm::TokenBucket, Algorithm::SlidingLog] {
        explore(move || {
            let (_, memory) = store(100);
            let (one, two) =
                (limit("a", "2/day", algorithm), limit("b", "3/day", Algorithm::TokenBucket));
            let (on, a, b) = (memory.clone(), one.clone(), two.clone());
            let admitted = sum(3, move |task| {
                let mut charges = [Charge::new(&a, 1u64), Charge::new(&b, 2u64)];
                if task % 2 == 1 {
                    charges.reverse();
                }
                on.decide_now(Mode::Charge, &charges).granted()
            });
            assert_eq!(admitted, 2);
            assert_eq!((left(&memory, &one, 1), left(&memory, &two, 2)), (0, 1));
        });
    }
}

#[test]
fn no_refund_is_lost() {
    explore(|| {
        let (_, memory) = store(100);
        let window = limit("window", "4/day", Algorithm::FixedWindow(Default::default()));
        let (on, of) = (memory.clone(), window.clone());
        sum(3, move |task| {
            let charge = Charge::new(&of, 1u64);
            let mut decision = on.decide_one(Mode::Charge, &charge);
            let receipt = decision.answers_mut().next().and_then(|a| a.take_receipt(charge.key));
            if let Some(receipt) = receipt.filter(|_| task != 0) {
                on.give_now(receipt, 0);
            }
            0
        });
        assert_eq!(left(&memory, &window, 1), 3);
    });
}

#[test]
fn eviction_and_sweeping_keep_the_count_true_and_the_cap() {
    explore(|| {
        let (clock, memory) = store(3);
        let bucket = limit("bucket", "10/second", Algorithm::TokenBucket);
        let on = memory.clone();
        sum(3, move |task| {
            for key in 0..3 {
                let charge = Charge::new(&bucket, 10 * task + key);
                assert!(on.decide_one(Mode::Charge, &charge).is_allowed());
            }
            clock.advance(Span::from_millis(60));
            0
        });
        let bucket = limit("bucket", "10/second", Algorithm::TokenBucket);
        // What is left recovers and is swept: the count returns to nothing.
        assert!(memory.stats().entries <= 6, "{:?}", memory.stats());
        let now = Tick::from_micros(1_764_000_900_000_000);
        memory.decide_at(now, Mode::Charge, &[Charge::new(&bucket, 1u64).cost(0)]);
        assert_eq!(memory.stats().entries, 0, "{:?}", memory.stats());
    });
}

#[test]
fn tasks_that_share_a_single_admit_the_bound_and_lose_no_refund() {
    let window = Algorithm::FixedWindow(Default::default());
    for algorithm in [Algorithm::TokenBucket, window, Algorithm::SlidingLog] {
        explore(move || {
            let clock = ManualClock::at(Tick::from_micros(1_764_000_000_000_000));
            let three = Limit::builder("three", "3/day".parse().unwrap()).algorithm(algorithm);
            let single = Arc::new(Single::with_clock(three.build().unwrap(), clock));
            let on = single.clone();
            let admitted = sum(3, move |task| {
                let (first, receipts) = on.charge(1);
                if task == 0 {
                    on.refund(receipts);
                    return on.check().granted();
                }
                first.granted() + on.check().granted()
            });
            assert_eq!(admitted + single.take_up_to(3).granted(), 3);
            assert!(single.check().is_denied());
        });
    }
}
