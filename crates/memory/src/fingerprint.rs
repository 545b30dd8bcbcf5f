//! What stands for a key: its text is not kept.
//!
//! A fingerprint is two hashes of limit and key, seeded apart and at random per store: 9 bits that say
//! where to look, and 64 that say whether it is the one (and, as the table grows, where to look more
//! narrowly). Two keys share a budget only if all 73 bits agree: at 10 million live keys that any two
//! do has odds of 1 in 190 million, that a given one does 1 in 9 × 10^14.
//!
//! The limit's id goes through a keyed multiplication before it meets the key, so that nobody who
//! knows the ids can choose a key of one limit that equals a key of another.

use std::hash::{BuildHasher, Hasher, RandomState};

use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;
use tollgate_core::Key;

/// Two seeded hashes of one key of one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint {
    /// Which of the first buckets: any 64 bits, of which the table takes 9.
    pub(crate) place: u64,
    /// Which entry; never 0.
    pub(crate) tag: u64,
}

/// The seeds of a store.
#[derive(Debug)]
pub(crate) struct Seeds {
    place: Lane,
    tag: Lane,
}

#[derive(Debug)]
struct Lane {
    shared: SharedSeed,
    add: u64,
    multiply: u64,
}

impl Seeds {
    /// Seeds from the operating system's randomness, by way of the standard library's SipHash keys.
    pub(crate) fn random() -> Seeds {
        let keys = RandomState::new();
        let word = |index: u64| {
            let mut hasher = keys.build_hasher();
            hasher.write_u64(index);
            hasher.finish()
        };
        let lane = |first: u64| Lane {
            shared: SharedSeed::from_u64(word(first)),
            add: word(first + 1),
            multiply: word(first + 2) | 1,
        };
        Seeds { place: lane(0), tag: lane(3) }
    }

    #[inline]
    pub(crate) fn fingerprint(&self, limit: u64, key: &Key<'_>) -> Fingerprint {
        let tag = self.tag.hash(limit, key).max(1);
        Fingerprint { place: self.place.hash(limit, key), tag }
    }
}

impl Lane {
    #[inline]
    fn hash(&self, limit: u64, key: &Key<'_>) -> u64 {
        // Each kind of key has a hash function of its own.
        let kind: u64 = match key {
            Key::Bytes(_) => 0,
            Key::Int(_) => 0x9e37_79b9_7f4a_7c15,
            Key::Net(_) => 0xc2b2_ae3d_27d4_eb4f,
        };
        let (low, high) = (limit ^ kind ^ self.add).carrying_mul(self.multiply, 0);
        let mut hasher = FoldHasher::with_seed(low ^ high, &self.shared);
        match key {
            Key::Bytes(bytes) => hasher.write(bytes),
            Key::Int(number) => hasher.write_u64(*number),
            Key::Net(net) => {
                hasher.write_u128(net.bits());
                hasher.write_u8(net.prefix());
            }
        }
        hasher.finish()
    }
}
