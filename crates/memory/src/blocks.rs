//! Keys refused by decree, for a time.

use std::collections::HashMap;

use tollgate_core::{Span, Tick};

use crate::fingerprint::Fingerprint;
use crate::sync::{AtomicU64, Ordering, RwLock, whole};

/// Blocked keys and when their blocks end. When 16,384 are held the one that ends first gives way.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    held: AtomicU64,
    until: RwLock<HashMap<Fingerprint, Tick>>,
}

impl Blocks {
    const MOST: usize = 16_384;

    /// Whether no key is blocked.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: a block set in another thread holds from when its call has returned there and
        // that was made known here, which orders this read.
        self.held.load(Ordering::Relaxed) == 0
    }

    /// How much longer a key is blocked.
    pub(crate) fn left(&self, key: Fingerprint, now: Tick) -> Option<Span> {
        if self.is_empty() {
            return None;
        }
        let until = *whole(self.until.read()).get(&key)?;
        Some(until.since(now)).filter(|left| !left.is_zero())
    }

    pub(crate) fn set(&self, key: Fingerprint, until: Tick, now: Tick) {
        let mut held = whole(self.until.write());
        held.retain(|_, end| *end > now);
        if held.len() >= Blocks::MOST
            && !held.contains_key(&key)
            && let Some(first) = held.iter().min_by_key(|(_, end)| **end).map(|(key, _)| *key)
        {
            held.remove(&first);
        }
        held.insert(key, until);
        self.count(&held);
    }

    pub(crate) fn lift(&self, key: Fingerprint) {
        let mut held = whole(self.until.write());
        held.remove(&key);
        self.count(&held);
    }

    fn count(&self, held: &HashMap<Fingerprint, Tick>) {
        self.held.store(u64::try_from(held.len()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
