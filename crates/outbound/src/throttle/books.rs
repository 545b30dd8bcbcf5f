//! What becomes of an operation on a line once its lock is let go: who is told, woken, given back to.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;

use super::ask::Paid;
use super::wish::{Outcome, Place};
use crate::key::OwnKey;

/// What is common to all lines of a throttle.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// What became of calls that have left their lines and have not heard of it, by number.
    told: HashMap<u64, Outcome>,
    /// Whoever has to be woken.
    pub(crate) wakes: Vec<Waker>,
    /// What was charged for nobody.
    pub(crate) back: Vec<(Arc<OwnKey>, Paid)>,
    /// Calls in all lines.
    pub(crate) waiting: usize,
    /// Permits that are out, of all keys.
    pub(crate) held: usize,
}

impl Books {
    /// Leaves word for a call that has left its line, and wakes it.
    pub(crate) fn tell(&mut self, place: Place, waker: Option<Waker>, outcome: Outcome) {
        self.told.insert(place.number, outcome);
        self.wakes.extend(waker);
    }

    /// The word that was left for a call.
    pub(crate) fn hear(&mut self, place: Place) -> Option<Outcome> {
        self.told.remove(&place.number)
    }

    /// Whether word was left for a call.
    pub(crate) fn has_told(&self, place: Place) -> bool {
        self.told.contains_key(&place.number)
    }
}
