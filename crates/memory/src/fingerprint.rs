//! What stands for a key: its text is not kept.
//!
//! A fingerprint is one 64-bit hash of limit and key, seeded at random per store: its low bits say
//! where to look, all of it whether it is the one. Two keys share a budget only if all 64 bits
//! agree: at 10 million live keys that any two does has odds of 1 in 370,000, that a given one shares
//! with any other 1 in 1.8 × 10^12.
//!
//! A key is hashed once, whatever its limits are, and each limit's id is mixed in afterwards, by a
//! bijection: two limits never share an entry of one key, and two keys share one under all limits or
//! under none. An entry shared across limits takes hashes that differ exactly as the ids do, and the
//! hashes are secret: who knows the ids cannot choose keys for it.

use std::hash::{BuildHasher, Hasher};
use std::ptr;

use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;
use tollgate_core::{Key, Limit};

use crate::sync::RandomState;

/// The seeded hash of one key of one limit; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint(pub(crate) u64);

/// The seeded hash of a key, whatever limit it is asked about under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyHash(u64);

/// The seeds of a store. All are used as they are, so that none can be learnt from another.
#[derive(Debug)]
pub(crate) struct Seeds {
    bytes: u64,
    shared: SharedSeed,
    int: [u64; 2],
    net: [u64; 3],
    limit: u64,
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
        // Odd where it is multiplied by, so that nothing is lost.
        Seeds {
            bytes: word(0),
            shared: SharedSeed::from_u64(word(1)),
            int: [word(2), word(3) | 1],
            net: [word(4), word(5), word(6) | 1],
            limit: word(7) | 1,
        }
    }

    /// Each kind of key has a hash function of its own.
    #[inline(always)]
    pub(crate) fn hash(&self, key: &Key<'_>) -> KeyHash {
        KeyHash(match key {
            Key::Bytes(bytes) => {
                let mut hasher = FoldHasher::with_seed(self.bytes, &self.shared);
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
                let [add, multiply] = self.int;
                folded(number ^ add, multiply)
            }
            Key::Net(net) => {
                // The prefix is multiplied by a secret, so that no address bits can stand for it.
                let ([high, low, prefix], [first, second, third]) = (net.to_words(), self.net);
                folded(high ^ first, low ^ second ^ prefix.wrapping_mul(third))
            }
        })
    }

    /// What stands for a key under a limit.
    #[inline(always)]
    pub(crate) fn fingerprint(&self, limit: &Limit, KeyHash(key): KeyHash) -> Fingerprint {
        // The upper half of a product depends on all bits below; the lower half is to as well.
        let product = (key ^ limit.id()).wrapping_mul(self.limit);
        Fingerprint((product ^ product >> 32).max(1))
    }
}

/// Whether two keys are one, as far as that is seen without reading texts.
#[inline(always)]
pub(crate) fn is_same(one: &Key<'_>, other: &Key<'_>) -> bool {
    match (one, other) {
        (Key::Bytes(one), Key::Bytes(other)) => ptr::eq(*one, *other),
        (Key::Int(one), Key::Int(other)) => one == other,
        (Key::Net(one), Key::Net(other)) => one == other,
        _ => false,
    }
}

/// Both halves of a product as one, as foldhash mixes.
#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let (low, high) = a.carrying_mul(b, 0);
    low ^ high
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]
mod tests {
    use std::collections::HashSet;
    use std::net::{IpAddr, Ipv6Addr};

    use super::*;

    const BUCKETS: usize = 4_096;
    const KEYS: u64 = 4 * 4_096;

    fn limit(name: &str) -> Limit {
        Limit::new(name, "1/hour".parse().unwrap()).unwrap()
    }

    /// How unevenly fingerprints fall into buckets, by their low bits: 1 is what chance does.
    fn unevenness(fingerprints: impl Iterator<Item = Fingerprint>) -> f64 {
        let mut held = [0.0f64; BUCKETS];
        for Fingerprint(hash) in fingerprints {
            held[usize::try_from(hash).unwrap() % BUCKETS] += 1.0;
        }
        held.iter().map(|count| (count - 4.0).powi(2) / 4.0).sum::<f64>() / 4_096.0
    }

    #[test]
    fn evenly_spaced_keys_spread_like_any_others_under_any_seed() {
        let limit = limit("spread");
        for _ in 0..64 {
            let seeds = Seeds::random();
            let of = |key: Key<'_>| seeds.fingerprint(&limit, seeds.hash(&key));
            for step in [1, 3, 1_000, 1 << 17, 1 << 32, 1 << 48, 0x1_0001, 0x9e37_79b9_7f4a_7c15] {
                let ints = (0..KEYS).map(|n| of(Key::Int(n.wrapping_mul(step))));
                assert!(unevenness(ints) < 2.0, "numbers by {step}");
                let nets = (0..KEYS).map(|n| {
                    let high = u128::from(n.wrapping_mul(step));
                    of(Ipv6Addr::from_bits(high << 64).into())
                });
                assert!(unevenness(nets) < 2.0, "networks by {step}");
            }
            let names = (0..KEYS).map(|n| of(Key::from(&format!("api_key:{n}"))));
            assert!(unevenness(names) < 2.0, "names");
        }
    }

    #[test]
    fn neither_limits_nor_kinds_nor_prefixes_share_an_entry() {
        let (seeds, limits) = (Seeds::random(), ["a", "b", "c"].map(limit));
        let address = |low: u64| IpAddr::from(Ipv6Addr::from_bits(low.into()));
        let mut seen = HashSet::new();
        for limit in &limits {
            let mut is_new = |key: Key<'_>| seen.insert(seeds.fingerprint(limit, seeds.hash(&key)));
            for n in 0..10_000u64 {
                assert!(is_new(Key::Int(n)) && is_new(Key::from(&n.to_le_bytes())), "{n}");
                assert!(is_new(Key::network(address(n << 50), 128)), "{n}");
            }
            assert!((0..128).all(|prefix| is_new(Key::network(address(0), prefix))));
        }
    }
}
