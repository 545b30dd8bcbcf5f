//! What a keyed decision must cost at least on this hardware.
//!
//! A fixed table of 64-byte buckets (one cache line) of four (tag, word) pairs, a fast hash, a TSC
//! clock and one compare-and-swap. It never forgets, grows or evicts, knows one limit, and takes two
//! keys whose hashes share 64 bits for one: no limiter to use, a floor to measure from.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Keyed;

#[repr(align(64))]
#[derive(Default)]
struct Bucket([Slot; 4]);

#[derive(Default)]
struct Slot {
    tag: AtomicU64,
    /// The theoretical arrival time in nanoseconds.
    word: AtomicU64,
}

/// The table, its clock and one token bucket.
pub struct Floor<H> {
    buckets: Box<[Bucket]>,
    clock: quanta::Clock,
    hasher: H,
    interval: u64,
    tolerance: u64,
}

impl<H: BuildHasher + Default> Floor<H> {
    /// A table with room for `keys`, one token per `interval` nanoseconds, `burst` at once.
    pub fn new(keys: u64, interval: u64, burst: u64) -> Floor<H> {
        // At most three quarters full, so that a key is nearly always in its first bucket.
        let buckets = (keys / 3).next_power_of_two().max(1);
        Floor {
            buckets: (0..buckets).map(|_| Bucket::default()).collect(),
            clock: quanta::Clock::new(),
            hasher: H::default(),
            interval,
            tolerance: interval * burst,
        }
    }
}

impl<H: BuildHasher> Floor<H> {
    #[inline]
    fn slot(&self, hash: u64) -> &Slot {
        let mask = self.buckets.len() - 1;
        let tag = hash | 1;
        let mut at = (hash >> 20) as usize;
        loop {
            for slot in &self.buckets[at & mask].0 {
                let held = slot.tag.load(Relaxed);
                if held == tag {
                    return slot;
                }
                if held == 0 {
                    match slot.tag.compare_exchange(0, tag, Relaxed, Relaxed) {
                        Ok(_) => return slot,
                        Err(other) if other == tag => return slot,
                        Err(_) => {}
                    }
                }
            }
            at += 1;
        }
    }
}

impl<H: BuildHasher + Sync, K: Hash> Keyed<K> for Floor<H> {
    #[inline]
    fn decide(&self, key: &K) -> bool {
        let slot = self.slot(self.hasher.hash_one(key));
        let now = self.clock.delta_as_nanos(0, self.clock.raw());
        let mut word = slot.word.load(Relaxed);
        loop {
            let next = word.max(now) + self.interval;
            if next > now + self.tolerance {
                return false;
            }
            match slot.word.compare_exchange_weak(word, next, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(other) => word = other,
            }
        }
    }
}
