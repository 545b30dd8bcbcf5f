//! How large the demand of keys grew, counted.

use std::collections::BTreeMap;

/// How many keys had which peak, against a capacity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Peaks {
    /// By peak, of the small ones.
    small: BTreeMap<u64, u64>,
    /// By the step it lies in.
    steps: BTreeMap<i32, u64>,
    /// How many never asked for more than the capacity.
    pub(crate) within: u64,
    /// How many did.
    pub(crate) beyond: u64,
    /// The largest peak.
    pub(crate) most: u64,
}

impl Peaks {
    /// The largest peak that is told from its neighbours.
    pub(crate) const SMALL: u64 = 40;
    /// Steps in a factor of ten.
    pub(crate) const PER_TEN: i32 = 6;

    pub(super) fn add(&mut self, peak: u64, capacity: u64) {
        if peak == 0 {
            return;
        }
        if peak <= Peaks::SMALL {
            *self.small.entry(peak).or_default() += 1;
        }
        *self.steps.entry(step(peak, capacity)).or_default() += 1;
        match peak <= capacity {
            true => self.within += 1,
            false => self.beyond += 1,
        }
        self.most = self.most.max(peak);
    }

    /// How many keys there are.
    pub(crate) fn keys(&self) -> u64 {
        self.within + self.beyond
    }

    /// How many have each small peak.
    pub(crate) fn small(&self) -> &BTreeMap<u64, u64> {
        &self.small
    }

    /// How many lie in each step. Step 0 ends with the capacity, and each step at the sixth root of ten
    /// times the one before it.
    pub(crate) fn steps(&self) -> &BTreeMap<i32, u64> {
        &self.steps
    }
}

/// The step that a peak lies in.
fn step(peak: u64, capacity: u64) -> i32 {
    /// How far beyond the capacity steps end, in thousandths.
    const ENDS: [u128; 6] = [1_000, 1_468, 2_154, 3_162, 4_642, 6_813];
    // Of a capacity of nothing all is beyond.
    let capacity = u128::from(capacity.max(1));
    let peak = u128::from(peak);
    // First to the factor of ten, then in it.
    let (mut tens, mut peak, mut capacity) = (0, peak * 1_000, capacity);
    while peak > capacity * 10_000 {
        (tens, capacity) = (tens + 1, capacity * 10);
    }
    while peak <= capacity * 1_000 {
        (tens, peak) = (tens - 1, peak * 10);
    }
    let within = ENDS.into_iter().take_while(|end| peak > capacity * end).count();
    tens * Peaks::PER_TEN + i32::try_from(within).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_ends_exactly_with_the_capacity() {
        for capacity in [1, 2, 7, 60, 1_000, 1_000_000_007] {
            assert_eq!((step(capacity, capacity), step(capacity + 1, capacity) > 0), (0, true));
            let mut last = i32::MIN;
            for peak in (1..200).map(|nth| capacity * nth / 20).filter(|peak| *peak > 0) {
                let at = step(peak, capacity);
                assert!(at >= last && (at > 0) == (peak > capacity), "{peak} of {capacity}");
                last = at;
            }
        }
        assert_eq!((step(1, 10), step(10, 100)), (-6, -6));
        assert_eq!((step(100, 10), step(101, 10)), (6, 7));
    }
}
