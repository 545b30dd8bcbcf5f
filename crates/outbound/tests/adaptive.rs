//! The adaptive throttle: what it drops, what it lets through, and under which key.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends by a panic")]

use std::io;
use std::time::Duration;

use http::{Request, Response};
use tokio::time::advance;
use tollgate_outbound::CallError;
use tollgate_outbound::breaker::{AdaptiveThrottle, BreakerLayer, ThrottleState};
use tower::{Layer, ServiceExt, service_fn};

fn one(throttle: &AdaptiveThrottle) -> ThrottleState {
    throttle.state().into_iter().next().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_place_that_takes_every_call_has_none_dropped_however_many_are_under_way() {
    let throttle = AdaptiveThrottle::default();
    for _ in 0..10 {
        let under_way: Vec<_> = (0..500).map(|_| throttle.enter("a").unwrap()).collect();
        under_way.into_iter().for_each(|pass| pass.good());
    }
    let state = one(&throttle);
    assert_eq!((state.requests, state.accepts, state.dropped), (5_000, 5_000, 0));
}

#[tokio::test(start_paused = true)]
async fn calls_that_say_nothing_do_not_count_and_dropped_ones_do() {
    let throttle = AdaptiveThrottle::default();
    for _ in 0..100 {
        drop(throttle.enter("a").unwrap());
    }
    assert_eq!((one(&throttle).requests, one(&throttle).drops_percent), (0, 0));
    let mut sent = 0;
    for _ in 0..2_000 {
        if let Ok(pass) = throttle.enter("a") {
            pass.fault();
            sent += 1;
        }
    }
    let state = one(&throttle);
    assert_eq!((state.requests, state.accepts, state.drops_percent), (2_000, 0, 99));
    assert_eq!(state.dropped, 2_000 - sent);
    // The probabilities 1/(n + 1) of the n-th sum up to about 8.
    assert!((1..=30).contains(&sent), "{sent} calls reached a place that takes none");
}

#[tokio::test(start_paused = true)]
async fn after_two_minutes_all_is_forgotten() {
    let throttle = AdaptiveThrottle::default();
    for _ in 0..1_000 {
        let _ = throttle.enter("a").map(|pass| pass.fault());
    }
    assert_eq!(one(&throttle).drops_percent, 99);
    advance(Duration::from_secs(109)).await;
    assert_eq!(one(&throttle).drops_percent, 99);
    advance(Duration::from_secs(11)).await;
    assert_eq!(one(&throttle).drops_percent, 0);
    assert!(throttle.enter("a").is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_layer_takes_it_and_429_is_then_a_call_that_was_not_taken() {
    let throttle = AdaptiveThrottle::default();
    let inner = service_fn(async |_: Request<()>| {
        io::Result::Ok(Response::builder().status(429).body(()).unwrap())
    });
    let client = BreakerLayer::new(throttle.clone()).layer(inner);
    let mut dropped = 0;
    for _ in 0..200 {
        let request = Request::get("http://busy:8080/").body(()).unwrap();
        match client.clone().oneshot(request).await {
            Ok(response) => assert_eq!(response.status(), 429),
            Err(CallError::NotMade(error)) => {
                assert!(error.is_shed() && !error.is_open());
                dropped += 1;
            }
            Err(CallError::Failed(error)) => panic!("{error}"),
        }
    }
    let state = one(&throttle);
    assert_eq!((&*state.key, state.dropped), ("busy:8080", dropped));
    assert!(dropped > 150, "{dropped}");
}

#[tokio::test(start_paused = true)]
async fn keys_are_bounded_and_one_that_drops_nothing_goes_first() {
    let throttle = AdaptiveThrottle::builder().most_keys(3).multiplier_percent(150).build();
    for _ in 0..100 {
        let _ = throttle.enter("down").map(|pass| pass.fault());
    }
    for nth in 0..100 {
        throttle.enter(&format!("fine {nth}")).unwrap().good();
    }
    let keys: Vec<_> = throttle.state().into_iter().map(|state| state.key.to_string()).collect();
    assert_eq!(keys, ["down", "fine 98", "fine 99"]);
}
