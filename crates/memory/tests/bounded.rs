//! Whoever chooses keys can neither grow the store past its cap nor wash a refusal away.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use tollgate_core::{
    Algorithm, Anchor, Charge, Effect, Limit, LocalStore, ManualClock, Mode, Span, Tick,
};
use tollgate_memory::{BuildError, Memory};

fn limit(name: &str, quota: &str) -> Limit {
    Limit::new(name, quota.parse().unwrap()).unwrap()
}

fn clock() -> ManualClock {
    ManualClock::at(Tick::from_micros(1_764_000_000_000_000))
}

fn store(entries: u64, clock: &ManualClock) -> Memory {
    Memory::builder().max_entries(entries).clock(clock.clone()).build().unwrap()
}

fn charge(memory: &Memory, limit: &Limit, key: u64, cost: u64) -> bool {
    memory.decide_one(Mode::Charge, &Charge::new(limit, key).cost(cost)).is_allowed()
}

#[test]
fn b181_a_cap_of_nothing_is_an_error_and_a_cap_of_one_is_enforced() {
    assert_eq!(Memory::builder().max_entries(0).build().unwrap_err(), BuildError::Entries(0));
    assert_eq!(Memory::builder().max_bytes(0).build().unwrap_err(), BuildError::Bytes(0));
    let (clock, limit) = (clock(), limit("one", "2/hour"));
    let memory = store(1, &clock);
    assert!(charge(&memory, &limit, 1, 2));
    assert!(!charge(&memory, &limit, 1, 1));
    assert!(charge(&memory, &limit, 2, 1), "a new key gets in");
    assert_eq!(memory.stats().entries, 1);
    assert_eq!((memory.stats().forgotten_in_debt, memory.stats().debt_forgiven), (1, 2));
}

#[test]
fn b179_one_shot_keys_are_gone_soon_after_their_windows_under_light_traffic() {
    const KEYS: u64 = 1_000_000;
    let clock = clock();
    let memory = store(2 * KEYS, &clock);
    let window = Limit::builder("window", "5/second".parse().unwrap())
        .algorithm(Algorithm::FixedWindow(Default::default()))
        .build()
        .unwrap();
    for key in 0..KEYS {
        assert!(charge(&memory, &window, key, 1));
    }
    assert_eq!(memory.stats().entries, KEYS);
    let bytes = memory.stats().bytes;

    // Five seconds in which some thousand calls come, as few as one every 5 ms.
    for call in 0..1_000 {
        clock.advance(Span::from_millis(5));
        charge(&memory, &window, u64::MAX - call % 7, 1);
    }
    assert!(memory.stats().entries < KEYS / 100, "{:?}", memory.stats());
    for key in 0..KEYS {
        charge(&memory, &window, KEYS + key, 1);
    }
    assert!(memory.stats().bytes <= bytes + bytes / 100, "the memory is used again");
    assert_eq!(memory.stats().forgotten_in_debt, 0);
}

#[test]
fn b12_keys_of_a_window_of_60_days_are_kept_for_it_and_swept_after_it() {
    // No thread sweeps, so no interval of one can overflow; calls do, at a pace of their own.
    const KEYS: u64 = 1_000;
    const DAY: u64 = 86_400;
    let (clock, long, short) = (clock(), limit("long", "1 per 60d"), limit("short", "1/s"));
    let memory = store(2 * KEYS, &clock);
    for key in 0..KEYS {
        assert!(charge(&memory, &long, key, 1));
    }
    for _ in 0..59 {
        clock.advance(Span::from_secs(DAY));
        charge(&memory, &short, 0, 1);
    }
    assert_eq!((0..KEYS).filter(|key| charge(&memory, &long, *key, 1)).count(), 0);
    clock.advance(Span::from_secs(DAY));
    for _ in 0..100 {
        clock.advance(Span::from_secs(1));
        charge(&memory, &short, 0, 1);
    }
    assert!(memory.stats().entries <= 1, "{:?}", memory.stats());
    assert_eq!(memory.stats().forgotten_in_debt, 0);
}

#[test]
fn b182_two_limits_on_one_key_expire_like_one() {
    let (clock, limits) = (clock(), [limit("a", "1/second"), limit("b", "1/second")]);
    let memory = store(1_000, &clock);
    for key in 0..500u64 {
        let charges = limits.each_ref().map(|limit| Charge::new(limit, key));
        assert!(memory.decide_now(Mode::Charge, &charges).is_allowed());
        let twice = [Charge::new(&limits[0], key), Charge::new(&limits[0], key)];
        assert!(memory.decide_now(Mode::Charge, &twice).is_denied());
    }
    assert_eq!(memory.stats().entries, 1_000);
    clock.advance(Span::from_secs(5));
    for _ in 0..4 {
        charge(&memory, &limits[0], 0, 0);
        clock.advance(Span::from_secs(2));
    }
    assert_eq!(memory.stats().entries, 0);
}

#[test]
fn b183_a_full_table_lets_newcomers_in_and_forgives_no_one_over_the_limit() {
    const CAP: u64 = 100_000;
    let (clock, limit) = (clock(), limit("client", "100/hour"));
    let memory = store(CAP, &clock);
    for key in 0..1_000 {
        assert!(charge(&memory, &limit, key, 100));
        assert!(!charge(&memory, &limit, key, 1));
    }
    // Ten times the cap of new keys, each of one cheap call.
    for key in 0..10 * CAP {
        assert!(charge(&memory, &limit, CAP + key, 1), "newcomer {key} gets in");
        if key % 5_000 == 0 {
            clock.advance(Span::from_millis(1));
        }
    }
    let again = (0..1_000).filter(|key| charge(&memory, &limit, *key, 1)).count();
    assert_eq!(again, 0, "the refused stay refused");
    let stats = memory.stats();
    assert_eq!(stats.entries, CAP);
    assert!(stats.bytes <= CAP * 53 + (1 << 18), "{stats:?}");
    assert_eq!(stats.forgotten + stats.forgotten_in_debt, 9 * CAP + 1_000);
}

#[test]
fn b183_newcomers_of_small_debt_forgive_no_one_under_any_algorithm() {
    const CAP: u64 = 4_000;
    // Logs give way by their number and, in less memory, by their bytes.
    let logs = [8 << 20, 1 << 18].map(|bytes| (Algorithm::SlidingLog, bytes));
    let windows = [Anchor::Clock, Anchor::FirstHit, Anchor::Spread].map(Algorithm::FixedWindow);
    let words = windows.into_iter().chain([Algorithm::TokenBucket, Algorithm::SlidingWindow]);
    for (algorithm, bytes) in words.map(|algorithm| (algorithm, 1 << 18)).chain(logs) {
        let clock = clock();
        let memory = Memory::builder().max_entries(CAP).max_bytes(bytes).clock(clock.clone());
        let memory = memory.build().unwrap();
        let limit = Limit::builder("client", "100/hour".parse().unwrap()).algorithm(algorithm);
        let limit = limit.build().unwrap();
        let wait = |key| memory.inspect(&limit, key).retry_after();
        for key in 0..100 {
            assert!(charge(&memory, &limit, key, 100));
        }
        let waits: Vec<_> = (0..100u64).map(wait).collect();
        // All the windows end together, or each a little later than the one before.
        for key in 0..5 * CAP {
            assert!(charge(&memory, &limit, CAP + key, 1), "newcomer {key} gets in");
            if key % 100 == 0 {
                clock.advance(Span::from_millis(1));
            }
        }
        for (key, told) in (0..).zip(waits) {
            // Whoever is about to be let in anyway weighs no more than a newcomer.
            let soon = told.unwrap() <= Span::from_secs(72);
            assert!(soon || wait(key).is_some(), "{algorithm:?}: {key} waits {told:?}");
        }
        assert!(memory.stats().forgotten_in_debt >= 4 * CAP, "{algorithm:?}: it was full");
    }
}

#[test]
fn below_the_cap_nothing_in_debt_is_forgotten() {
    let (clock, limit) = (clock(), limit("client", "1/hour"));
    let memory = store(100_000, &clock);
    for key in 0..100_000 {
        assert!(charge(&memory, &limit, key, 1));
        clock.advance(Span::from_millis(20));
    }
    let again = (0..100_000).filter(|key| charge(&memory, &limit, *key, 1)).count();
    assert_eq!((again, memory.stats().forgotten_in_debt), (0, 0));
}

#[test]
fn b187_only_a_charge_makes_an_entry() {
    let (clock, limit) = (clock(), limit("client", "5/hour"));
    let never = Limit::new("never", "0/hour".parse().unwrap()).unwrap();
    let log = Limit::builder("log", "5/hour".parse().unwrap())
        .algorithm(Algorithm::SlidingLog)
        .build()
        .unwrap();
    let memory = store(1_000_000, &clock);
    for key in 0..100_000u64 {
        let charge = Charge::new(&limit, key);
        memory.decide_one(Mode::Peek, &charge);
        memory.decide_one(Mode::Charge, &charge.cost(0));
        memory.decide_one(Mode::Charge, &charge.cost(6));
        memory.decide_one(Mode::UpTo, &charge.cost(0));
        memory.decide_one(Mode::Charge, &Charge::new(&never, key));
        memory.decide_now(Mode::Peek, &[Charge::new(&log, key), charge]);
        memory.decide_now(Mode::Charge, &[charge, Charge::new(&never, key)]);
        memory.decide_now(Mode::Charge, &[Charge::new(&log, key).cost(9), charge]);
    }
    assert_eq!(memory.stats().entries, 0);
}

#[test]
fn logs_stay_within_their_bytes_and_let_newcomers_in() {
    let clock = clock();
    let memory = Memory::builder().max_bytes(1 << 20).clock(clock.clone()).build().unwrap();
    let log = Limit::builder("log", "1000/hour".parse().unwrap())
        .algorithm(Algorithm::SlidingLog)
        .build()
        .unwrap();
    for key in 0..20_000u64 {
        clock.advance(Span::from_millis(1));
        assert!(charge(&memory, &log, key, 1));
    }
    let stats = memory.stats();
    assert!(stats.bytes <= 1 << 20, "{stats:?}");
    assert!(stats.forgotten_in_debt > 0 && stats.debt_forgiven == stats.forgotten_in_debt);
    clock.advance(Span::from_secs(7_200));
    for _ in 0..600 {
        clock.advance(Span::from_millis(10));
        charge(&memory, &log, 1, 1);
    }
    assert!(memory.stats().entries < 300, "recovered logs are swept: {:?}", memory.stats());
}

#[test]
fn more_rules_than_are_told_apart_are_enforced_and_stay_within_the_cap() {
    const CAP: u64 = 2_000;
    let clock = clock();
    let memory = store(CAP, &clock);
    let limits: Vec<Limit> = (1..=1_500).map(|n| limit("client", &format!("{n}/hour"))).collect();
    for (key, limit) in (0u64..).zip(&limits) {
        assert!(charge(&memory, limit, key, limit.capacity()));
        assert!(!charge(&memory, limit, key, 1), "the limit of {} holds", limit.capacity());
    }
    let swept = |after| {
        clock.advance(after);
        for _ in 0..10 {
            clock.advance(Span::from_secs(2));
            charge(&memory, &limits[0], 0, 0);
        }
        1_500 - memory.stats().entries
    };
    assert_eq!(swept(Span::from_secs(58 * 60)), 0, "all owe for an hour");
    // What is not told apart is kept for longer than it owes, but not for good.
    assert_eq!(swept(Span::from_secs(2 * 60)), 963);
    let last = [Span::from_secs(64 * 60); 2].map(swept);
    assert_eq!(last[1], 1_500);
    for key in 10_000..10_000 + 3 * CAP {
        assert!(charge(&memory, &limits[1_499], key, 1), "newcomer {key} gets in");
    }
    let stats = memory.stats();
    assert_eq!(stats.entries, CAP);
    assert!(stats.bytes <= CAP * 53 + (1 << 18), "{stats:?}");
}

#[test]
fn keys_that_collide_without_a_seed_stay_spread() {
    // Equal in their low 32 bits, or multiples of powers of two: one chain in a table that takes the
    // bits as they are. A chain that is full beyond measure forgets an entry in debt.
    let (clock, limit) = (clock(), limit("client", "1/hour"));
    let memory = store(400_000, &clock);
    for key in 0..200_000u64 {
        assert!(charge(&memory, &limit, key << 32, 1));
        assert!(charge(&memory, &limit, key << 17 | 1, 1));
    }
    assert_eq!(memory.stats().forgotten_in_debt, 0);
    assert!(memory.stats().bytes < 400_000 * 41);
}

#[test]
fn shadow_charges_fill_the_table_like_any_other() {
    let (clock, limit) = (clock(), limit("client", "1/hour"));
    let memory = store(10, &clock);
    let shadow = Charge { effect: Effect::Shadow, ..Charge::new(&limit, 1u64) };
    assert_eq!(memory.decide_one(Mode::Charge, &shadow).answers().next().unwrap().charged(), 1);
    assert_eq!(memory.decide_one(Mode::Charge, &shadow).answers().next().unwrap().charged(), 0);
    assert_eq!(memory.stats().entries, 1);
}
