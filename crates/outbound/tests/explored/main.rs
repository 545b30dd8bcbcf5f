//! The crate's own code under shuttle: thousands of random orders of its steps. `scripts/shuttle` runs
//! this; an ordinary `cargo test` finds no tests here.

#![allow(unexpected_cfgs, reason = "`--cfg shuttle` is set by scripts/shuttle alone")]
#![cfg(shuttle)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod breaker;
mod throttle;

use std::sync::Arc;

const ORDERS: usize = 3_000;

/// Runs a claim under random schedules, and under those that change tasks seldom but anywhere.
fn explore(claim: impl Fn() + Send + Sync + 'static) {
    let claim = Arc::new(claim);
    let again = claim.clone();
    shuttle::check_random(move || claim(), ORDERS);
    shuttle::check_pct(move || again(), ORDERS, 3);
}
