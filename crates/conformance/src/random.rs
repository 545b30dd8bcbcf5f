//! Random numbers that a seed makes again.

/// SplitMix64 (Steele, Lea, Flood 2014): tiny, fast, and the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    #[must_use]
    pub const fn of(seed: u64) -> Random {
        Random(seed)
    }

    /// Any 64 bits.
    #[inline]
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.0;
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`; 0 when there is none.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits().checked_rem(end).unwrap_or(0)
    }

    /// A number from `first` to `last`, both included.
    #[inline]
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        let width = last.saturating_sub(first).saturating_add(1);
        first.saturating_add(self.below(width))
    }

    /// True once in `n` times.
    #[inline]
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A number of at most `bits` bits, each length as likely: small and huge ones alike.
    #[inline]
    pub fn of_any_size(&mut self, bits: u64) -> u64 {
        let length = self.below(bits.min(64).saturating_add(1));
        if length == 0 { 0 } else { self.bits() >> 64u64.saturating_sub(length).min(63) }
    }

    /// One of `items`.
    #[inline]
    pub fn one_of<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        let end = u64::try_from(items.len()).unwrap_or(u64::MAX);
        &items[usize::try_from(self.below(end)).unwrap_or(0)]
    }
}
