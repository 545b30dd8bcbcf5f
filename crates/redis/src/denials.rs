//! Refusals that are still true: a key that is flooded costs the server next to nothing.
//!
//! A refusal holds until its `retry_after` has passed, since what others spend can only postpone it.
//! What is given back elsewhere may end it sooner, so it is believed for 100 ms at most; what is given
//! back here ends it at once. It answers the same charges at the same costs only.
//!
//! Where no refusal is known, or one has run out, not everyone who waits may ask: a flood would be with
//! the server before the first of it was refused. As many may at once as the last reply left room for,
//! one at least, and before the first reply as many as the limits ever pass; the others wait for what
//! those are told, and are refused once more if that takes long.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Duration, Instant};
use tollgate_core::{Charge, Decision, Effect, Key, Limit, Mode, Span};

use crate::reading::Reading;
use crate::request::Question;

/// The longest that a refusal is believed.
const BELIEVED: Duration = Duration::from_millis(100);

/// The most sets of charges, and keys to which something was given back, that are remembered.
const MOST: usize = 16_384;

/// Limits that pass so many at once need not be told who asks: no more calls than that fly.
const WIDE: u64 = 1_024;

/// The refusals of late.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    known: Mutex<Refusals>,
    seed: RandomState,
}

#[derive(Debug, Default)]
struct Refusals {
    /// By a hash of the charges.
    sets: HashMap<u64, Set>,
    /// When something was last given back, by a hash of limit and key; and to anyone not listed.
    given: HashMap<u64, Instant>,
    given_to_others: Option<Instant>,
}

/// A set of charges that was refused, or is being asked about.
#[derive(Debug)]
struct Set {
    refused: Option<Refused>,
    /// How many ask now, and how many may.
    asking: u64,
    room: u64,
    told: Option<Arc<Notify>>,
}

/// How a set of charges was refused.
#[derive(Debug)]
struct Refused {
    reading: Reading,
    asked_at: Instant,
    read_at: Instant,
    until: Instant,
    wait: Duration,
}

impl Set {
    /// Whether anyone waits for what those who ask are told.
    fn is_awaited(&self) -> bool {
        self.told.as_ref().is_some_and(|told| Arc::strong_count(told) > 1)
    }
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
                let Refusals { sets, given, given_to_others } = &mut *known;
                let is_full = sets.len() >= MOST;
                let entry = match sets.entry(set) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => {
                        let room = most_at_once(question.charges);
                        if is_full || room >= WIDE {
                            return Known::Ask(asking);
                        }
                        entry.insert(Set { refused: None, asking: 0, room, told: None })
                    }
                };
                let given = |charge: &Charge<'_, '_>| {
                    given.get(&self.key(charge.limit, charge.key)).copied().max(*given_to_others)
                };
                let given = question.charges.iter().filter_map(given).max();
                let refused = entry.refused.as_ref().filter(|refused| {
                    // What is given back ends a refusal at once.
                    given.is_none_or(|given| given < refused.asked_at)
                });
                let elapsed = |refused: &Refused| now.saturating_duration_since(refused.read_at);
                if let Some(refused) = refused.filter(|refused| now < refused.until)
                    && let Some(denied) = refused.denied(question, elapsed(refused))
                {
                    return denied;
                }
                if entry.asking < entry.room.max(1) {
                    entry.asking = entry.asking.saturating_add(1);
                    return Known::Ask(Asking { counted: true, ..asking });
                }
                if now >= patience {
                    // Who asks is slow to be told. Refused once more is late by that call at most.
                    let recent = refused.filter(|refused| elapsed(refused) < refused.wait + within);
                    let denied = recent.and_then(|refused| {
                        let last = refused.wait.saturating_sub(Duration::from_micros(1));
                        refused.denied(question, elapsed(refused).min(last))
                    });
                    return denied.unwrap_or(Known::Ask(asking));
                }
                entry.told.get_or_insert_default().clone().notified_owned()
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

/// How often these may pass at once, whatever their keys have left; without bound if that decides
/// nothing, or if they never do.
fn most_at_once(charges: &[Charge<'_, '_>]) -> u64 {
    let enforcing = charges.iter().filter(|charge| charge.effect == Effect::Enforce);
    let most =
        enforcing.filter_map(|charge| charge.limit.capacity().checked_div(charge.cost)).min();
    most.filter(|most| *most > 0).unwrap_or(u64::MAX)
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
        let sets = &mut known.sets;
        let Some(wait) = decision.retry_after() else {
            if let Some(set) = sets.get_mut(&self.set)
                && decision.is_allowed()
            {
                set.room = decision.remaining();
            }
            return;
        };
        if sets.len() >= MOST && !sets.contains_key(&self.set) {
            sets.retain(|_, set| {
                let is_refused = set.refused.as_ref().is_some_and(|refused| now < refused.until);
                set.asking > 0 || is_refused
            });
            if sets.len() >= MOST {
                return;
            }
        }
        let wait = Duration::from(wait);
        let refused = Refused {
            reading: reading.clone(),
            asked_at: self.asked_at,
            read_at: now,
            until: now + BELIEVED.min(wait),
            wait,
        };
        let fresh = Set { refused: None, asking: 0, room: 0, told: None };
        let set = sets.entry(self.set).or_insert(fresh);
        (set.refused, set.room) = (Some(refused), 0);
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if !self.counted {
            return;
        }
        let mut known = self.denials.lock();
        let Some(set) = known.sets.get_mut(&self.set) else { return };
        set.asking = set.asking.saturating_sub(1);
        if let Some(told) = &set.told {
            told.notify_waiters();
        }
        // Nobody asks or waits, and what was refused passes again: nothing is left to remember.
        let is_refused = set.refused.is_some() && set.room == 0;
        if set.asking == 0 && !is_refused && !set.is_awaited() {
            known.sets.remove(&self.set);
        }
    }
}
