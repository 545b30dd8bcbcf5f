//! The laws of every rule, over random limits, costs, gaps, clock steps, refunds and settlements.
//!
//! Fresh is zero; a refusal changes no budget; waits are exact; what has recovered may be forgotten;
//! never more than the documented bound; an earlier now never admits more; n at once are n singles;
//! `0 ≤ remaining ≤ capacity`; a refund and the same charge again change nothing. Each answer is
//! held against the rule's model in [`crate::oracle`].
//!
//! `cargo run --profile laws -p tollgate-conformance --example laws 0 FORM SEED` tells each step of the
//! life that a failure named.

mod draw;
mod held;
mod ledger;
mod life;

use std::panic::{AssertUnwindSafe, catch_unwind};

use tollgate_core::{Algorithm, Anchor, Limit, Queue};

use crate::oracle::{Arrivals, Entries, OneWindow, TwoWindows};
use crate::random::Random;
pub use ledger::Ledger;
use life::Life;

/// The forms of limits that the laws are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A token bucket.
    TokenBucket,
    /// A leaky bucket as a queue.
    LeakyBucket,
    /// Fixed windows with a phase of the key's own.
    FixedSpread,
    /// Fixed windows by the clock.
    FixedClock,
    /// Fixed windows from the first hit.
    FixedFirstHit,
    /// Two windows.
    SlidingWindow,
    /// Every charge.
    SlidingLog,
}

impl Form {
    /// Every form.
    pub const ALL: [Form; 7] = [
        Form::TokenBucket,
        Form::LeakyBucket,
        Form::FixedSpread,
        Form::FixedClock,
        Form::FixedFirstHit,
        Form::SlidingWindow,
        Form::SlidingLog,
    ];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Form::TokenBucket => "token-bucket",
            Form::LeakyBucket => "leaky-bucket",
            Form::FixedSpread => "fixed-window-spread",
            Form::FixedClock => "fixed-window-clock",
            Form::FixedFirstHit => "fixed-window-first-hit",
            Form::SlidingWindow => "sliding-window",
            Form::SlidingLog => "sliding-log",
        }
    }

    /// A legal limit of this form: small ones that collide, and the largest there are.
    #[must_use]
    pub fn limit(self, random: &mut Random) -> Limit {
        draw::limit(self, random)
    }

    /// The same counter with another amount or burst; the same one when none other is legal.
    #[must_use]
    pub fn changed(self, limit: &Limit, random: &mut Random) -> Limit {
        draw::changed(self, limit, random)
    }

    /// Whether time counts by windows, and so as the clock shows it. The others hold time still
    /// until a clock that stepped back has caught up.
    const fn is_windowed(self) -> bool {
        match self {
            Form::TokenBucket | Form::LeakyBucket | Form::SlidingLog => false,
            Form::FixedSpread | Form::FixedClock | Form::FixedFirstHit | Form::SlidingWindow => {
                true
            }
        }
    }

    /// The algorithm; a leaky bucket with no queue as yet.
    #[must_use]
    pub const fn algorithm(self) -> Algorithm {
        match self {
            Form::TokenBucket => Algorithm::TokenBucket,
            Form::LeakyBucket => Algorithm::LeakyBucket(Queue::Length(0)),
            Form::FixedSpread => Algorithm::FixedWindow(Anchor::Spread),
            Form::FixedClock => Algorithm::FixedWindow(Anchor::Clock),
            Form::FixedFirstHit => Algorithm::FixedWindow(Anchor::FirstHit),
            Form::SlidingWindow => Algorithm::SlidingWindow,
            Form::SlidingLog => Algorithm::SlidingLog,
        }
    }
}

/// What happened while the laws held, so that a report can show that all of it was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Operations in all.
    pub operations: u64,
    /// Charges that passed, at once or after a wait.
    pub passed: u64,
    /// Charges that passed after a wait.
    pub waited: u64,
    /// Charges that were refused for a while.
    pub denied: u64,
    /// Charges that never pass.
    pub never: u64,
    /// Refusals that brought a stored time back.
    pub re_anchored: u64,
    /// Refunds and settlements that still mattered.
    pub given: u64,
    /// States that were forgotten once they owed nothing.
    pub forgotten: u64,
}

/// Holds the laws of one form against at least `operations` random operations.
///
/// # Panics
/// When a law is broken; the message names the form and the seed, and [`laws`] of that seed and one
/// operation breaks it again.
pub fn laws(form: Form, seed: u64, operations: u64) -> Tally {
    let mut tally = Tally::default();
    let mut seed = seed;
    while tally.operations < operations {
        let life = catch_unwind(AssertUnwindSafe(|| one_life(form, seed, &mut tally, false)));
        if let Err(broken) = life {
            let text = broken.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| broken.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            panic!("{}, seed {seed}: {text}", form.name());
        }
        seed = seed.wrapping_add(1);
    }
    tally
}

/// Runs the one life of this seed and tells each step of it, for whoever looks for a fault.
///
/// # Panics
/// As [`laws`].
pub fn narrate(form: Form, seed: u64) {
    one_life(form, seed, &mut Tally::default(), true);
}

fn one_life(form: Form, seed: u64, tally: &mut Tally, narrated: bool) {
    match form {
        Form::TokenBucket | Form::LeakyBucket => {
            Life::<Arrivals>::begin(form, seed, tally, narrated).run()
        }
        Form::FixedSpread | Form::FixedClock | Form::FixedFirstHit => {
            Life::<OneWindow>::begin(form, seed, tally, narrated).run();
        }
        Form::SlidingWindow => Life::<TwoWindows>::begin(form, seed, tally, narrated).run(),
        Form::SlidingLog => Life::<Entries>::begin(form, seed, tally, narrated).run(),
    }
}
