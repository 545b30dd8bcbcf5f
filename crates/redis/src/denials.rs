//! Refusals that are still true: a key that is flooded costs the server next to nothing.
//!
//! A refusal holds until its `retry_after` has passed, since what others spend can only postpone it.
//! What is given back elsewhere may end it sooner, so it is believed for 100 ms at most; what is given
//! back here ends it at once. It answers the same charges at the same costs only.
//!
//! When it has run out, not everyone who waits may ask: the server would be asked as often as without
//! it. As many may as the last reply left room for, one at least; the others wait for what those are
//! told, and are refused once more if that takes long.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Duration, Instant};
use tollgate_core::{Charge, Decision, Key, Limit, Mode, Span};

use crate::reading::Reading;
use crate::request::Question;

/// The longest that a refusal is believed.
const BELIEVED: Duration = Duration::from_millis(100);

/// The most refusals, and keys to which something was given back, that are remembered.
const MOST: usize = 16_384;

/// The refusals of late.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    known: Mutex<Refusals>,
    seed: RandomState,
}

#[derive(Debug, Default)]
struct Refusals {
    /// By a hash of the charges.
    refused: HashMap<u64, Refused>,
    /// When something was last given back, by a hash of limit and key; and to anyone not listed.
    given: HashMap<u64, Instant>,
    given_to_others: Option<Instant>,
}

/// A set of charges that was refused.
#[derive(Debug)]
struct Refused {
    reading: Reading,
    asked_at: Instant,
    read_at: Instant,
    until: Instant,
    wait: Duration,
    /// How many ask now, and how many may.
    asking: u64,
    room: u64,
    told: Arc<Notify>,
}

impl Refused {
    /// The refusal as it is so long after it was read, if it is still one.
    fn denied<'l>(
        &self,
        question: &Question<'_, 'l, '_>,
        elapsed: Duration,
    ) -> Option<Known<'static, 'l>> {
        let reading = self.reading.later(Span::from(elapsed));
        let decision = reading.decide(question, Mode::Charge, None);
        decision.is_denied().then(|| Known::Denied(Box::new(decision)))
    }
}

/// What is known of a set of charges.
#[derive(Debug)]
pub(crate) enum Known<'d, 'l> {
    /// It is refused.
    Denied(Box<Decision<'l>>),
    /// Nothing: the server has to be asked.
    Ask(Asking<'d>),
}

impl Denials {
    /// What is known of these charges; waits for those who ask about them, for a quarter of the time
    /// until the deadline: whoever asks then still has time for the answer.
    pub(crate) async fn of<'l>(
        &self,
        question: &Question<'_, 'l, '_>,
        deadline: Instant,
    ) -> Known<'_, 'l> {
        let set = self.set(question.charges);
        let within = deadline.saturating_duration_since(Instant::now());
        let patience = deadline.checked_sub(within * 3 / 4).unwrap_or(deadline);
        loop {
            let told = {
                let mut known = self.lock();
                let now = Instant::now();
                let asking = Asking { denials: self, set, asked_at: now, counted: false };
                let Refusals { refused, given, given_to_others } = &mut *known;
                let Some(refused) = refused.get_mut(&set) else { return Known::Ask(asking) };
                let given = |charge: &Charge<'_, '_>| {
                    let given = given.get(&self.key(charge.limit, charge.key)).copied();
                    given.max(*given_to_others).is_some_and(|given| given >= refused.asked_at)
                };
                let is_given = question.charges.iter().any(given);
                let elapsed = now.saturating_duration_since(refused.read_at);
                if now < refused.until
                    && !is_given
                    && let Some(denied) = refused.denied(question, elapsed)
                {
                    return denied;
                }
                if refused.asking < refused.room.max(1) {
                    refused.asking = refused.asking.saturating_add(1);
                    return Known::Ask(Asking { counted: true, ..asking });
                }
                if now >= patience {
                    // Who asks is slow to be told. Refused once more is late by that call at most.
                    let last = refused.wait.saturating_sub(Duration::from_micros(1));
                    let recent = !is_given && elapsed < refused.wait + within;
                    let denied =
                        recent.then(|| refused.denied(question, elapsed.min(last))).flatten();
                    return denied.unwrap_or(Known::Ask(asking));
                }
                refused.told.clone().notified_owned()
            };
            // Told or not, all is looked at anew.
            let _ = tokio::time::timeout_at(patience, told).await;
        }
    }

    /// Believes no refusal of a key from before now, since something was given back to it.
    pub(crate) fn given(&self, limit: &Limit, key: Key<'_>) {
        let (mut known, now) = (self.lock(), Instant::now());
        if known.given.len() >= MOST {
            known.given.retain(|_, given| now.saturating_duration_since(*given) < BELIEVED);
        }
        if known.given.len() < MOST {
            known.given.insert(self.key(limit, key), now);
        } else {
            known.given_to_others = Some(now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Refusals> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // Whoever chooses keys does not know the seed, so that no two can be made to meet.
    fn key(&self, limit: &Limit, key: Key<'_>) -> u64 {
        self.seed.hash_one((limit.id(), key))
    }

    fn set(&self, charges: &[Charge<'_, '_>]) -> u64 {
        let mut hasher = self.seed.build_hasher();
        for Charge { limit, key, cost, effect, patience, home } in charges {
            (limit.id(), limit.print(), key, home, cost, effect, patience).hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// Someone who asks the server; whoever waits for it goes on when it is dropped.
#[derive(Debug)]
pub(crate) struct Asking<'d> {
    denials: &'d Denials,
    set: u64,
    asked_at: Instant,
    /// Whether others may be waiting for it.
    counted: bool,
}

impl Asking<'_> {
    /// Tells what the server said.
    pub(crate) fn told(self, reading: &Reading, decision: &Decision<'_>) {
        let (mut known, now) = (self.denials.lock(), Instant::now());
        let refused = &mut known.refused;
        let Some(wait) = decision.retry_after() else {
            if let Some(refused) = refused.get_mut(&self.set)
                && decision.is_allowed()
            {
                refused.room = decision.remaining();
            }
            return;
        };
        if refused.len() >= MOST && !refused.contains_key(&self.set) {
            refused.retain(|_, refused| refused.asking > 0 || now < refused.until);
            if refused.len() >= MOST {
                return;
            }
        }
        let before = refused.remove(&self.set);
        let (asking, told) = before.map(|before| (before.asking, before.told)).unwrap_or_default();
        let (reading, asked_at, wait) = (reading.clone(), self.asked_at, Duration::from(wait));
        let until = now + BELIEVED.min(wait);
        let read_at = now;
        refused.insert(
            self.set,
            Refused { reading, asked_at, read_at, until, wait, asking, room: 0, told },
        );
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if !self.counted {
            return;
        }
        let mut known = self.denials.lock();
        let Some(refused) = known.refused.get_mut(&self.set) else { return };
        refused.asking = refused.asking.saturating_sub(1);
        refused.told.notify_waiters();
        // Nobody asks or waits, and what was refused passes again: nothing is left to remember.
        if refused.asking == 0 && refused.room > 0 && Arc::strong_count(&refused.told) == 1 {
            known.refused.remove(&self.set);
        }
    }
}
