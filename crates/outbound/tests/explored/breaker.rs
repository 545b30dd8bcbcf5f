//! Circuits, and the adaptive throttle.

use std::sync::Arc;

use shuttle::sync::Mutex;
use shuttle::sync::atomic::{AtomicU32, Ordering};
use shuttle::thread;
use tollgate_core::Span;
use tollgate_outbound::breaker::{AdaptiveThrottle, Breaker, Breakers, Mode, Status};

use crate::explore;

/// Opens at once, probes as soon as it is asked, and its only period of probes does not end.
fn breaker(permits: u32, good: u32) -> Breaker {
    Breaker::default()
        .opens_after(1)
        .blocks_for(Span::ZERO, Span::ZERO)
        .probes_each(Span::DAY, Span::DAY)
        .permits(permits)
        .closes_after(good)
}

fn at_once(tasks: Vec<Box<dyn FnOnce() + Send>>) {
    let threads: Vec<_> = tasks.into_iter().map(thread::spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn taken(breakers: &Breakers) -> u32 {
    breakers.state().circuits[0].permits_taken
}

#[test]
fn no_more_probes_are_out_than_there_are_permits_and_all_are_out_or_free() {
    explore(|| {
        let breakers = Breakers::new(breaker(2, 100));
        breakers.enter("a").unwrap().fault();
        // Permits that are out or used, counted after one is taken and before it is given back.
        let held = Arc::new(AtomicU32::new(0));
        let tasks = (0..4).map(|task| {
            let (breakers, held) = (breakers.clone(), held.clone());
            let run = move || {
                for turn in 0..2 {
                    let Ok(pass) = breakers.enter("a") else { continue };
                    assert!(pass.is_probe());
                    let others = held.fetch_add(1, Ordering::SeqCst);
                    assert!(others < 2, "{others} others held");
                    if task == 0 && turn == 0 {
                        pass.good();
                    } else {
                        held.fetch_sub(1, Ordering::SeqCst);
                        drop(pass);
                    }
                }
            };
            Box::new(run) as Box<dyn FnOnce() + Send>
        });
        at_once(tasks.collect());
        assert_eq!(taken(&breakers), held.load(Ordering::SeqCst));
    });
}

#[test]
fn faults_that_come_together_open_once() {
    explore(|| {
        let turns = Arc::new(Mutex::new(Vec::new()));
        let told = turns.clone();
        let breakers = Breakers::builder(breaker(1, 1).blocks_for(Span::DAY, Span::DAY))
            .on_turn(move |turn| told.lock().unwrap().push((turn.number, turn.status)))
            .build();
        let tasks = (0..3).map(|_| {
            let breakers = breakers.clone();
            let run = move || drop(breakers.enter("a").map(|pass| pass.fault()));
            Box::new(run) as Box<dyn FnOnce() + Send>
        });
        at_once(tasks.collect());
        assert_eq!(*turns.lock().unwrap(), [(1, Status::Open)]);
        assert_eq!(breakers.status("a"), Status::Open);
    });
}

#[test]
fn a_probe_that_closes_and_one_that_opens_again_turn_it_once_each_time() {
    explore(|| {
        let turns = Arc::new(Mutex::new(Vec::new()));
        let told = turns.clone();
        let breakers = Breakers::builder(breaker(2, 1))
            .on_turn(move |turn| told.lock().unwrap().push((turn.number, turn.status)))
            .build();
        breakers.enter("a").unwrap().fault();
        let (good, bad) = (breakers.enter("a").unwrap(), breakers.enter("a").unwrap());
        at_once(vec![Box::new(move || good.good()), Box::new(move || bad.fault())]);
        let mut turns = turns.lock().unwrap().clone();
        turns.sort_by_key(|(number, _)| *number);
        let ended = breakers.status("a");
        assert_ne!(ended, Status::HalfOpen);
        assert_eq!(turns, [(1, Status::Open), (2, Status::HalfOpen), (3, ended)]);
    });
}

#[test]
fn whoever_is_forgotten_while_calls_are_under_way_is_forgotten_whole() {
    explore(|| {
        let breakers = Breakers::builder(breaker(1, 1)).most_keys(1).build();
        let tasks = ["a", "b", "a"].map(|key| {
            let breakers = breakers.clone();
            let run = move || drop(breakers.enter(key).map(|pass| pass.good()));
            Box::new(run) as Box<dyn FnOnce() + Send>
        });
        at_once(tasks.into());
        let state = breakers.state();
        assert_eq!(state.circuits.len(), 1);
        assert!((1..=2).contains(&state.forgotten));
        assert_eq!(state.circuits[0].status, Status::Closed);
    });
}

#[test]
fn a_hand_that_closes_it_is_not_overruled_by_calls_of_before() {
    explore(|| {
        let breakers = Breakers::new(breaker(1, 1));
        let faults = (0..2).map(|_| {
            let breakers = breakers.clone();
            let run = move || drop(breakers.enter("a").map(|pass| pass.fault()));
            Box::new(run) as Box<dyn FnOnce() + Send>
        });
        let by_hand = breakers.clone();
        let mut tasks: Vec<_> = faults.collect();
        tasks.push(Box::new(move || by_hand.set_mode("a", Mode::ForcedClosed)));
        at_once(tasks);
        assert_eq!(breakers.status("a"), Status::Closed);
        assert!(breakers.enter("a").is_ok());
    });
}

#[test]
fn every_call_of_an_adaptive_throttle_is_counted_once() {
    explore(|| {
        let throttle = AdaptiveThrottle::default();
        let tasks = (0..3).map(|task| {
            let throttle = throttle.clone();
            let run = move || {
                for _ in 0..2 {
                    let pass = throttle.enter("a").unwrap();
                    if task == 0 { drop(pass) } else { pass.good() }
                }
            };
            Box::new(run) as Box<dyn FnOnce() + Send>
        });
        at_once(tasks.collect());
        let state = throttle.state();
        assert_eq!((state[0].requests, state[0].accepts), (4, 4));
    });
}
