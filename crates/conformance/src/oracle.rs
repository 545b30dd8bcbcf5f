//! Exact reference models: what each rule must answer, told without its formulas.
//!
//! A model answers questions of yes and no ("may this cost pass at that tick?", "is anything owed
//! then?") from cumulative counts of what was admitted, in 128 bits. It never computes a wait: the
//! laws hold a rule's wait against the model's answer at the very tick and at the one before.

mod arrivals;
mod log;
mod two_windows;
mod window;

use tollgate_core::algorithm::Patience;
use tollgate_core::{Algorithm, Anchor, Limit, Queue, Span};

pub use arrivals::Arrivals;
pub use log::Entries;
pub use two_windows::TwoWindows;
pub use window::OneWindow;

/// A quota in plain numbers, read off what a person wrote and not off the rule.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// R, or L of a window.
    pub amount: u128,
    /// P or W, in ticks.
    pub period: u128,
    /// Burst times P.
    pub burst: u128,
    /// Burst and queue, times P.
    pub full: u128,
    /// How far this key's windows are shifted, in ticks.
    pub phase: u128,
    /// How far ahead a stored time may lie before a refusal re-anchors it, in ticks.
    pub far: u128,
}

impl Terms {
    /// The terms of a limit for a key of this phase.
    ///
    /// # Panics
    /// When the limit is `0/…`, which has no terms.
    #[must_use]
    pub fn of(limit: &Limit, phase: u64) -> Terms {
        let quota = limit.quota();
        let tick = limit.resolution().micros();
        let amount = u128::from(quota.amount());
        let period = u128::from(quota.period().as_micros() / tick);
        let ticks = |span: Span| u128::from(span.as_micros() / tick);
        let (burst, queue) = match limit.algorithm() {
            Algorithm::LeakyBucket(Queue::Length(n)) => (1, u128::from(n) * period),
            Algorithm::LeakyBucket(Queue::MaxWait(span)) => (1, ticks(span) * amount),
            _ => (amount, 0),
        };
        let burst = quota.burst().map_or(burst, u128::from) * period;
        let full = burst + queue;
        let takes = match limit.algorithm() {
            Algorithm::TokenBucket | Algorithm::LeakyBucket(_) => full.div_ceil(amount),
            _ => period,
        };
        let far = takes.max(ticks(Span::MINUTE));
        Terms { amount, period, burst, full, phase: phase.into(), far }
    }
}

/// A charge as a model remembers it.
#[derive(Clone, Copy, Debug)]
pub struct Admitted {
    /// What it cost.
    pub cost: u64,
    /// The tick it counts at.
    pub time: i128,
    /// What was owed right after it (buckets only).
    pub owed: i128,
    /// Its number.
    pub id: u64,
    /// The terms it was charged under.
    pub terms: Terms,
}

/// A model of one key of one limit.
pub trait Oracle: Sized {
    /// A key never seen.
    fn fresh(terms: Terms, anchor: Option<Anchor>) -> Self;

    /// Whether a cost above 0 may pass.
    fn allows(&self, now: u64, cost: u64, patience: Patience) -> bool;

    /// Whether anything still counts.
    fn owes(&self, now: u64) -> bool;

    /// Takes down an admitted charge.
    fn admit(&mut self, now: u64, cost: u64, id: u64) -> Admitted;

    /// Replaces a charge by what it turned out to cost. Whether it still mattered.
    fn replace(&mut self, now: u64, charge: &Admitted, actual: u64) -> bool;

    /// Whether the stored time lies so far ahead that the clock must have stepped back.
    fn is_far_ahead(&self, now: u64) -> bool;

    /// Brings the stored time back to now.
    fn re_anchor(&mut self, now: u64);

    /// Goes on under another rate or burst.
    fn change(&mut self, terms: Terms);

    /// Whether a charge admitted last may start (only a queue makes it wait).
    fn starts(&self, _now: u64) -> bool {
        true
    }
}

fn wide(number: u128) -> i128 {
    i128::try_from(number).expect("products of two numbers below 2^53")
}
