//! What holds for all lines of a throttle.

use std::sync::Arc;

use tollgate_core::algorithm::Patience;
use tollgate_core::{Limit, Limiter, Store};

use super::ask::{Distance, Part};
use super::queue::Bound;
use crate::key::OwnKey;

/// What holds for all lines of a throttle.
pub(crate) struct Rules {
    /// The limits that charge every call, if there are any.
    pub(crate) limiter: Option<Limiter<dyn Store>>,
    /// Where the store of those limits is.
    pub(crate) distance: Distance,
    /// How many permits of a key may be out at once.
    pub(crate) max_in_flight: Option<u32>,
    /// Whether calls wait at all.
    pub(crate) patience: Patience,
    /// How many calls of a key may wait, at least one.
    pub(crate) bound: Bound,
    /// How many keys may have calls at once.
    pub(crate) max_keys: usize,
    /// What a level of priority is worth, in microseconds.
    pub(crate) head_start: i64,
}

impl Rules {
    pub(crate) fn limits(&self) -> &[Limit] {
        self.limiter.as_ref().map_or(&[], Limiter::limits)
    }

    /// Its limits as those that charge this key.
    pub(crate) fn part(&self, key: &Arc<OwnKey>) -> Option<Part> {
        let limiter = self.limiter.clone()?;
        Some(Part { limiter, key: Arc::clone(key) })
    }
}
