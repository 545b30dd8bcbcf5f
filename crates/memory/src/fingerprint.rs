//! What stands for a key: its text is not kept.
//!
//! A fingerprint is one 64-bit hash of limit and key, seeded at random per store: its low bits say
//! where to look, all of it whether it is the one. Two keys share a budget only if all 64 bits
//! agree: at 10 million live keys that any two do has odds of 1 in 370,000, that a given one shares
//! with any other 1 in 1.8 × 10^12.
//!
//! It is foldhash with its finishing step: without it, under some seeds, evenly spaced numbers share
//! their low bits and crowd into few buckets.
//!
//! The limit's id goes through a keyed multiplication before it meets the key, so that nobody who
//! knows the ids can choose a key of one limit that equals a key of another.

use std::hash::{BuildHasher, Hasher};

use foldhash::SharedSeed;
use foldhash::quality::FoldHasher;
use tollgate_core::Key;

use crate::sync::RandomState;

/// The seeded hash of one key of one limit; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint(pub(crate) u64);

/// The seeds of a store.
#[derive(Debug)]
pub(crate) struct Seeds {
    shared: SharedSeed,
    add: u64,
    multiply: u64,
}

impl Seeds {
    /// Seeds from the operating system's randomness, by way of the standard library's SipHash keys.
    pub(crate) fn random() -> Seeds {
        let keys = RandomState::default();
        let word = |index: u64| {
            let mut hasher = keys.build_hasher();
            hasher.write_u64(index);
            hasher.finish()
        };
        Seeds { shared: SharedSeed::from_u64(word(0)), add: word(1), multiply: word(2) | 1 }
    }

    #[inline(always)]
    pub(crate) fn fingerprint(&self, limit: u64, key: &Key<'_>) -> Fingerprint {
        // Each kind of key has a hash function of its own.
        let hash = match key {
            Key::Bytes(bytes) => {
                let mut hasher = self.hasher(limit);
                match bytes.split_last_chunk::<16>() {
                    // In two writes, each inlined: what is longer than 16 bytes costs a call. No two
                    // keys are split alike, and the length of each part turns the secret state.
                    Some((head, tail)) if (1..=16).contains(&head.len()) => {
                        hasher.write(head);
                        hasher.write(tail);
                    }
                    _ => hasher.write(bytes),
                }
                hasher.finish()
            }
            Key::Int(number) => {
                let mut hasher = self.hasher(limit ^ 0x9e37_79b9_7f4a_7c15);
                hasher.write_u64(*number);
                hasher.finish()
            }
            Key::Net(net) => {
                let mut hasher = self.hasher(limit ^ 0xc2b2_ae3d_27d4_eb4f);
                let [high, low, prefix] = net.to_words();
                hasher.write_u64(high);
                hasher.write_u64(low);
                hasher.write_u64(prefix);
                hasher.finish()
            }
        };
        Fingerprint(hash.max(1))
    }

    #[inline(always)]
    fn hasher(&self, limit: u64) -> FoldHasher<'_> {
        let (low, high) = (limit ^ self.add).carrying_mul(self.multiply, 0);
        FoldHasher::with_seed(low ^ high, &self.shared)
    }
}
