//! What holds for all lines of a throttle.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::algorithm::Patience;
use tollgate_core::{Limit, Limiter, Permits, Store};

use super::event::Listener;
use super::part::{Distance, Part};
use super::queue::Bound;
use crate::key::OwnKey;

/// What holds for all lines of a throttle.
pub(crate) struct Rules {
    /// The limits that charge every call, if there are any.
    pub(crate) limiter: Option<Arc<Limiter<dyn Store>>>,
    /// Where the store of those limits is.
    pub(crate) distance: Distance,
    /// How many permits of a key may be out at once, in this throttle.
    pub(crate) max_in_flight: Option<u32>,
    /// How many may be out in all processes.
    pub(crate) sharing: Option<Sharing>,
    /// Whether calls wait at all.
    pub(crate) patience: Patience,
    /// How many calls of a key may wait, at least one.
    pub(crate) bound: Bound,
    /// How many keys may have calls at once.
    pub(crate) max_keys: usize,
    /// What a level of priority is worth, in microseconds.
    pub(crate) head_start: i64,
    /// Whoever is told of events.
    pub(crate) listener: Option<Listener>,
}

/// Permits that are shared with other processes.
#[derive(Clone)]
pub(crate) struct Sharing {
    pub(crate) permits: Arc<dyn Permits>,
    pub(crate) name: Arc<str>,
    /// How many may be out in all processes.
    pub(crate) most: u32,
    /// For how long a process that says nothing more keeps what it has.
    pub(crate) lease: Duration,
    /// This throttle among all holders.
    pub(crate) holder: u64,
}

impl Rules {
    pub(crate) fn limits(&self) -> &[Limit] {
        self.limiter.as_ref().map_or(&[], |limiter| limiter.limits())
    }

    /// Its limits as those that charge this key.
    pub(crate) fn part<'p>(&'p self, key: &'p Arc<OwnKey>) -> Option<Part<'p>> {
        Some(Part { limiter: self.limiter.as_ref()?, key })
    }
}
