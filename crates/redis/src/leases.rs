//! What a server handed this instance ahead, for keys that are asked about all the time.
//!
//! A key that was asked about a moment ago is hot: its next call takes what its limit leases, at most,
//! and those after it are decided here until that is spent. The server has charged all of it, so with N
//! instances any span admits at most N leases more than the limit says. What an instance does not
//! spend is lost to the others until it leaks away. Limits lease nothing unless told to.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Duration, Instant};
use tollgate_core::algorithm::State;
use tollgate_core::{Answer, Charge, Decision, Effect, Tick, Verdict};

/// A key that was asked about so lately is hot.
const HOT: Duration = Duration::from_millis(20);

/// The most keys that are looked after.
const MOST: usize = 16_384;

/// The keys of late, and what is left of their leases.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    held: Mutex<HashMap<u64, Held>>,
    seed: RandomState,
}

#[derive(Debug)]
struct Held {
    asked_at: Instant,
    /// What is left, and the state that the server told when it leased it.
    left: u64,
    state: State,
    now: Tick,
    read_at: Instant,
    /// Whether somebody is asking for more.
    asking: bool,
    told: Arc<Notify>,
}

/// What to do about a charge.
#[derive(Debug)]
pub(crate) enum Lease<'s, 'l> {
    /// It was made here.
    Charged(Box<Decision<'l>>),
    /// The server has to be asked for a lease of this much.
    Ask(Leasing<'s>, u64),
    /// The server has to be asked for this charge alone.
    Exact,
}

impl Leases {
    /// Charges by what is left of a lease, if that is enough.
    pub(crate) fn spend<'l>(&self, charge: &Charge<'l, '_>) -> Option<Decision<'l>> {
        let key = self.key(charge)?;
        self.lock().get_mut(&key)?.spend(charge, Instant::now())
    }

    /// What to do about a charge; waits until `patience` for whoever asks for a lease, so that who asks
    /// himself after that still has time for the answer.
    pub(crate) async fn of<'l>(&self, charge: &Charge<'l, '_>, patience: Instant) -> Lease<'_, 'l> {
        let Some(key) = self.key(charge) else { return Lease::Exact };
        loop {
            let told = {
                let (mut held, now) = (self.lock(), Instant::now());
                let Some(known) = held.get_mut(&key) else {
                    meet(&mut held, key, now);
                    return Lease::Exact;
                };
                let is_hot = now.saturating_duration_since(known.asked_at) < HOT;
                known.asked_at = now;
                if let Some(decision) = known.spend(charge, now) {
                    return Lease::Charged(Box::new(decision));
                }
                if !is_hot {
                    return Lease::Exact;
                }
                if !known.asking {
                    known.asking = true;
                    return Lease::Ask(Leasing { leases: self, key }, charge.limit.lease());
                }
                known.told.clone().notified_owned()
            };
            if tokio::time::timeout_at(patience, told).await.is_err() {
                return Lease::Exact;
            }
        }
    }

    /// Where a charge's lease is held; `None` if it is never leased.
    fn key(&self, charge: &Charge<'_, '_>) -> Option<u64> {
        let Charge { limit, key, cost, effect, .. } = charge;
        let is_leased = (1..=limit.lease()).contains(cost) && *effect == Effect::Enforce;
        is_leased.then(|| self.seed.hash_one((limit.id(), limit.print(), key)))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn spend<'l>(&mut self, charge: &Charge<'l, '_>, now: Instant) -> Option<Decision<'l>> {
        self.left = self.left.checked_sub(charge.cost)?;
        self.asked_at = now;
        let elapsed = now.saturating_duration_since(self.read_at);
        Some(charged(charge, self.state, self.now.after(elapsed.into())))
    }
}

/// The decision of a charge that a lease covers.
pub(crate) fn charged<'l>(charge: &Charge<'l, '_>, state: State, now: Tick) -> Decision<'l> {
    let Charge { limit, cost, effect, .. } = *charge;
    let at = (now, limit.moment(now, &charge.key));
    Decision::of_one(Answer::new(limit, effect, Verdict::Allow, cost, state, at), cost)
}

/// A key is asked about for the first time in a while.
fn meet(held: &mut HashMap<u64, Held>, key: u64, now: Instant) {
    if held.len() >= MOST {
        held.retain(|_, known| now.saturating_duration_since(known.asked_at) < HOT);
    }
    if held.len() < MOST {
        let (state, told) = (State::FRESH, Arc::default());
        let known = Held {
            asked_at: now,
            left: 0,
            state,
            now: Tick::EPOCH,
            read_at: now,
            asking: false,
            told,
        };
        held.insert(key, known);
    }
}

/// Someone who asks for a lease; whoever waits for it goes on when it is dropped.
#[derive(Debug)]
pub(crate) struct Leasing<'s> {
    leases: &'s Leases,
    key: u64,
}

impl Leasing<'_> {
    /// So much was leased beyond the cost of whoever asked; the answer tells the state.
    pub(crate) fn leased(self, more: u64, answer: &Answer<'_>) {
        if let Some(known) = self.leases.lock().get_mut(&self.key) {
            known.left = known.left.saturating_add(more);
            (known.state, known.now) = (answer.state(), answer.now());
            known.read_at = Instant::now();
        }
    }
}

impl Drop for Leasing<'_> {
    fn drop(&mut self) {
        if let Some(known) = self.leases.lock().get_mut(&self.key) {
            known.asking = false;
            known.told.notify_waiters();
        }
    }
}
