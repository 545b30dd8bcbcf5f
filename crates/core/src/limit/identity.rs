//! The hashes by which a limit, its rule and the phase of a key are known everywhere.

use core::hash::{Hash, Hasher};

use crate::algorithm::{Algorithm, Anchor, Resolution, Rule};
use crate::clock::Span;

pub(super) fn identity(
    name: &str,
    algorithm: Algorithm,
    period: Span,
    resolution: Resolution,
) -> u64 {
    let form: &[u8] = match algorithm {
        Algorithm::FixedWindow(Anchor::Clock) => b"clock",
        Algorithm::FixedWindow(Anchor::FirstHit) => b"first-hit",
        Algorithm::FixedWindow(Anchor::Calendar(calendar)) => calendar.name().as_bytes(),
        _ => b"",
    };
    // 0xff stands in no UTF-8 text, so no two tuples run together.
    Fnv::new()
        .bytes(name.as_bytes())
        .bytes(&[0xff])
        .bytes(algorithm.name().as_bytes())
        .bytes(&[0xff])
        .bytes(form)
        .bytes(&period.as_micros().to_le_bytes())
        .bytes(&resolution.micros().to_le_bytes())
        .mixed()
}

pub(super) fn print(rule: &Rule, algorithm: Algorithm, resolution: Resolution) -> u64 {
    let mut hash = Fnv::new();
    (rule, resolution).hash(&mut hash);
    // Of two limits of one rule only those of one calendar decide alike.
    if let Algorithm::FixedWindow(Anchor::Calendar(calendar)) = algorithm {
        calendar.hash(&mut hash);
    }
    hash.finish().max(1)
}

/// FNV-1a, 64 bits, with MurmurHash3's finalizer so that every bit counts in a modulo.
#[derive(Clone, Copy)]
pub(super) struct Fnv(u64);

impl Fnv {
    pub(super) const fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn bytes(self, bytes: &[u8]) -> Fnv {
        Fnv(bytes.iter().fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }))
    }

    pub(super) const fn mixed(self) -> u64 {
        let hash = (self.0 ^ self.0 >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ hash >> 33
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        *self = Fnv(self.0).bytes(bytes);
    }

    fn finish(&self) -> u64 {
        self.mixed()
    }
}
