//! Circuits by key: what is kept, what is forgotten, and what a hand may set.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends by a panic")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::advance;
use tollgate_core::Span;
use tollgate_outbound::Throttle;
use tollgate_outbound::breaker::{
    Breaker, Breakers, BreakersBuilder, CircuitState, Mode, Pass, Status,
};

const WAIT: Span = Span::from_secs(5);

fn builder() -> BreakersBuilder {
    Breakers::builder(Breaker::default().opens_after(1).probes_each(WAIT, WAIT))
}

fn fail(breakers: &Breakers, key: &str) {
    breakers.enter(key).unwrap().fault();
}

fn keys(breakers: &Breakers) -> Vec<String> {
    breakers.state().circuits.iter().map(|circuit| circuit.key.to_string()).collect()
}

fn one(breakers: &Breakers, key: &str) -> CircuitState {
    let circuits = breakers.state().circuits;
    circuits.into_iter().find(|circuit| &*circuit.key == key).unwrap()
}

#[tokio::test(start_paused = true)]
async fn keys_are_bounded_and_what_is_forgotten_first_is_closed_and_idle() {
    let breakers = builder().most_keys(4).build();
    fail(&breakers, "open");
    for key in ["a", "b", "c", "a"] {
        breakers.enter(key).unwrap().good();
    }
    breakers.enter("d").unwrap().good();
    assert_eq!(keys(&breakers), ["a", "c", "d", "open"]);
    for nth in 0..1_000 {
        breakers.enter(&format!("flood {nth}")).unwrap().good();
        assert_eq!(breakers.state().circuits.len(), 4);
    }
    assert_eq!(breakers.status("open"), Status::Open, "it was never called meanwhile");
    assert_eq!(breakers.state().forgotten_open, 0);

    for key in ["x", "y", "z"] {
        fail(&breakers, key);
    }
    assert_eq!(keys(&breakers), ["open", "x", "y", "z"]);
    breakers.enter("new").unwrap().good();
    assert_eq!(keys(&breakers), ["new", "x", "y", "z"], "the oldest, as none is closed");
    assert_eq!(breakers.state().forgotten_open, 1);
    assert_eq!(breakers.state().forgotten, 1 + 1_000 + 3 + 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_forgotten_and_came_back_owes_nothing_to_its_past() {
    let breakers = builder().most_keys(1).build();
    let late = breakers.enter("a").unwrap();
    breakers.enter("b").unwrap().good();
    breakers.enter("a").unwrap().good();
    late.fault();
    assert_eq!(breakers.status("a"), Status::Closed);
}

#[tokio::test(start_paused = true)]
async fn each_key_turns_alone() {
    let breakers = builder().build();
    fail(&breakers, "a");
    assert!(breakers.enter("a").unwrap_err().is_open());
    assert!(breakers.enter("b").is_ok());
    let clone = breakers.clone();
    assert_eq!(clone.status("a"), Status::Open, "clones share");
}

#[tokio::test(start_paused = true)]
async fn a_forced_circuit_stays_so_until_it_is_set_again() {
    let breakers = builder().most_keys(2).build();
    breakers.set_mode("a", Mode::ForcedOpen);
    advance(Duration::from_secs(3_600)).await;
    let refused = breakers.enter("a").unwrap_err();
    assert!(refused.is_open() && refused.retry_after().is_none());
    assert_eq!(refused.to_string(), "the circuit was opened by hand");
    for key in ["b", "c", "d"] {
        fail(&breakers, key);
    }
    assert_eq!(breakers.status("a"), Status::Open, "forgotten last");

    breakers.set_mode("a", Mode::ForcedClosed);
    for _ in 0..10 {
        fail(&breakers, "a");
    }
    assert_eq!(breakers.status("a"), Status::Closed);
    breakers.set_mode("a", Mode::Auto);
    fail(&breakers, "a");
    assert_eq!(breakers.status("a"), Status::Open);
}

#[tokio::test(start_paused = true)]
async fn in_shadow_it_counts_and_turns_and_blocks_nothing() {
    let turns = Arc::new(Mutex::new(Vec::new()));
    let told = turns.clone();
    let breakers = builder()
        .mode(Mode::Shadow)
        .on_turn(move |turn| {
            assert_eq!(turn.mode, Mode::Shadow);
            told.lock().unwrap().push(turn.status);
        })
        .build();
    for _ in 0..5 {
        fail(&breakers, "a");
    }
    let state = one(&breakers, "a");
    assert_eq!((state.let_through, state.blocked, state.opened), (5, 4, 1));
    advance(WAIT.into()).await;
    let probe = breakers.enter("a").unwrap();
    assert!(probe.is_probe() && !breakers.enter("a").unwrap().is_probe());
    probe.good();
    advance(WAIT.into()).await;
    breakers.enter("a").unwrap().good();
    assert_eq!(*turns.lock().unwrap(), [Status::Open, Status::HalfOpen, Status::Closed]);
}

#[tokio::test(start_paused = true)]
async fn turns_are_told_once_and_a_listener_may_ask_what_it_is_told_of() {
    let asked: Arc<Mutex<Option<Breakers>>> = Arc::default();
    let (lent, seen) = (asked.clone(), Arc::new(Mutex::new(Vec::new())));
    let told = seen.clone();
    let breakers = builder()
        .on_turn(move |turn| {
            let breakers = lent.lock().unwrap().clone().unwrap();
            assert_eq!(breakers.status(turn.key), turn.status);
            told.lock().unwrap().push((turn.key.to_owned(), turn.number, turn.status));
        })
        .build();
    *asked.lock().unwrap() = Some(breakers.clone());
    for _ in 0..2 {
        fail(&breakers, "a");
        advance(WAIT.into()).await;
    }
    breakers.set_mode("a", Mode::ForcedOpen);
    breakers.set_mode("a", Mode::ForcedClosed);
    let a = |number, status| ("a".to_owned(), number, status);
    let expected =
        [a(1, Status::Open), a(2, Status::HalfOpen), a(3, Status::Open), a(4, Status::Closed)];
    assert_eq!(*seen.lock().unwrap(), expected);
    *asked.lock().unwrap() = None;
}

#[tokio::test(start_paused = true)]
async fn who_waits_when_a_circuit_opens_goes_on_unless_it_asks_when_its_turn_has_come() {
    let (breakers, throttle) = (builder().build(), Throttle::builder().max_in_flight(1).build());
    let first = throttle.acquire("", 1).await.unwrap();
    let pass = breakers.enter("database").unwrap();
    let asked_before = throttle.call("").run(async || pass.good());
    let asks_then = throttle.call("").run(async || breakers.enter("database").map(Pass::good));
    let opens = async {
        fail(&breakers, "database");
        drop(first);
    };
    let (before, then, ()) = tokio::join!(asked_before, asks_then, opens);
    before.unwrap();
    assert!(then.unwrap().unwrap_err().is_open());
    assert_eq!(breakers.status("database"), Status::Open, "what came of it no longer counts");
}
