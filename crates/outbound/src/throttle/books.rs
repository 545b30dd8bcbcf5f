//! What follows from an operation on a line once its lock is let go: who is told, woken, given back to.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use foldhash::fast::RandomState;
use tokio::time::Instant;
use tollgate_core::Span;

use super::event::News;
use super::paid::Paid;
use super::queue::Entry;
use super::stats::Stats;
use super::wish::{Outcome, Place};
use crate::key::OwnKey;

/// What is common to all lines of a throttle.
#[derive(Debug)]
pub(crate) struct Books {
    /// The instant of the operation.
    pub(crate) now: Instant,
    born: Instant,
    /// What became of calls that have left their lines and have not heard of it, by number.
    told: HashMap<u64, Outcome, RandomState>,
    pub(crate) stats: Stats,
    /// What follows.
    pub(crate) effects: Effects,
    /// Whether anybody is told of events.
    pub(crate) audience: Audience,
}

/// Whether anybody is told of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    Listens,
    Nobody,
}

/// What is done once the lock is let go.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Whoever has to be woken, in this order.
    pub(crate) wakes: Vec<Waker>,
    /// What was charged for nobody.
    pub(crate) back: Vec<(Arc<OwnKey>, Paid)>,
    /// What is told.
    pub(crate) news: Vec<News>,
}

impl Effects {
    pub(crate) fn is_empty(&self) -> bool {
        self.wakes.is_empty() && self.back.is_empty() && self.news.is_empty()
    }
}

impl Books {
    pub(crate) fn new(now: Instant, audience: Audience) -> Books {
        let (told, stats, effects) = (HashMap::default(), Stats::default(), Effects::default());
        Books { now, born: now, told, stats, effects, audience }
    }

    /// Leaves word for a call that has left its line, and wakes it.
    pub(crate) fn tell(&mut self, place: Place, entry: Entry, outcome: Outcome) {
        self.stats.waiting = self.stats.waiting.saturating_sub(1);
        self.told.insert(place.number, outcome);
        self.effects.wakes.extend(entry.waker);
    }

    /// The word that was left for a call. From here on the call counts as what it was told.
    pub(crate) fn hear(&mut self, place: Place) -> Option<Outcome> {
        let outcome = self.told.remove(&place.number)?;
        self.stats.count(&outcome);
        Some(outcome)
    }

    /// The word that was left for a call that is dropped.
    pub(crate) fn overhear(&mut self, place: Place) -> Option<Outcome> {
        self.told.remove(&place.number)
    }

    /// Whether word was left for a call.
    pub(crate) fn has_told(&self, place: Place) -> bool {
        self.told.contains_key(&place.number)
    }

    /// Microseconds since the throttle was made.
    pub(crate) fn age(&self) -> i64 {
        let age = self.now.saturating_duration_since(self.born);
        i64::try_from(age.as_micros()).unwrap_or(i64::MAX)
    }

    /// For how long a call has waited that came at this age.
    pub(crate) fn since(&self, came: i64) -> Span {
        Span::from_micros(u64::try_from(self.age().saturating_sub(came)).unwrap_or(0))
    }

    /// Tells whoever listens.
    pub(crate) fn news(&mut self, news: impl FnOnce() -> News) {
        if self.audience == Audience::Listens {
            self.effects.news.push(news());
        }
    }

    /// An instant so much later; a century where that is past what can be said.
    pub(crate) fn after(&self, span: impl Into<Duration>) -> Instant {
        const CENTURY: Duration = Duration::from_secs(3_155_760_000);
        self.now.checked_add(span.into()).unwrap_or_else(|| self.now + CENTURY)
    }
}
