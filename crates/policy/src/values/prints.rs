//! A map from values that keeps none of them, so that one look-up is one place in memory.
//!
//! A value stands there by 128 bits of a hash under seeds of this process, beside what is said of it.
//! That two of a million values are one has odds of 1 in 10^26, and who does not know the seeds cannot
//! aim for it. With the values themselves a look-up is two places that are far apart, and those of a
//! hundred thousand customers lie in no cache.

use std::hash::{BuildHasher, RandomState};

/// A map from values to what is said of them. It only grows.
#[derive(Clone, Debug)]
pub(crate) struct Prints<T> {
    seeds: [RandomState; 2],
    /// None, or a power of two of which at most half are taken; a value stands at the first free one
    /// from that of its hash on.
    slots: Vec<Option<(Print, T)>>,
    taken: usize,
}

/// 128 bits of a hash.
type Print = [u64; 2];

/// Slots to begin with.
const FEWEST: usize = 8;

impl<T> Default for Prints<T> {
    fn default() -> Prints<T> {
        let seeds = [RandomState::new(), RandomState::new()];
        Prints { seeds, slots: Vec::new(), taken: 0 }
    }
}

impl<T: Copy> Prints<T> {
    /// What is said of a value.
    #[inline]
    pub(crate) fn find(&self, value: &[u8]) -> Option<T> {
        if self.slots.is_empty() {
            return None;
        }
        let [first, second] = &self.seeds;
        let first = first.hash_one(value);
        let (before, from) = self.slots.split_at(place(first, self.slots.len()));
        let run = from.iter().chain(before).map_while(Option::as_ref);
        // The second half only where the first is equal, which is hardly ever in vain.
        let is_its = |other: Print| other[0] == first && other[1] == second.hash_one(value);
        run.filter(|(other, _)| is_its(*other)).map(|(_, about)| *about).next()
    }

    /// Says `about` of a value; gives what was said of it before.
    pub(crate) fn insert(&mut self, value: &[u8], about: T) -> Option<T> {
        if self.taken * 2 >= self.slots.len() {
            let more = (self.slots.len() * 2).max(FEWEST);
            let slots = std::mem::replace(&mut self.slots, vec![None; more]);
            for (print, about) in slots.into_iter().flatten() {
                self.put(print, about);
            }
        }
        let before = self.put(self.print(value), about);
        self.taken += usize::from(before.is_none());
        before
    }

    fn put(&mut self, print: Print, about: T) -> Option<T> {
        let at = place(print[0], self.slots.len());
        let (before, from) = self.slots.split_at_mut(at);
        let is_its = |slot: &&mut Option<(Print, T)>| slot.is_none_or(|(other, _)| other == print);
        let slot = from.iter_mut().chain(before).find(is_its)?;
        slot.replace((print, about)).map(|(_, before)| before)
    }

    fn print(&self, value: &[u8]) -> Print {
        self.seeds.each_ref().map(|seed| seed.hash_one(value))
    }
}

/// Where a value stands at the earliest, among so many slots.
fn place(hash: u64, slots: usize) -> usize {
    // A power of two: what is above it counts for nothing, on machines of any width.
    usize::try_from(hash & u64::try_from(slots - 1).unwrap_or(0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_says_of_each_value_what_a_map_of_the_values_says(
            said in prop::collection::vec((prop::collection::vec(0u8..4, 0..4), 0u32..9), 0..400),
        ) {
            let (mut prints, mut map) = (Prints::default(), HashMap::new());
            for (value, about) in &said {
                prop_assert_eq!(prints.insert(value, *about), map.insert(value.clone(), *about));
            }
            for first in 0u8..5 {
                for value in [vec![], vec![first], vec![first, 1], vec![3, first, 0]] {
                    prop_assert_eq!(prints.find(&value), map.get(&value).copied());
                }
            }
        }
    }

    #[test]
    fn a_hundred_thousand_values_are_each_found_and_others_are_not() {
        let mut prints = Prints::default();
        for nth in 0..100_000_u32 {
            assert_eq!(prints.insert(format!("customer-{nth}").as_bytes(), nth), None);
        }
        for nth in 0..100_000_u32 {
            assert_eq!(prints.find(format!("customer-{nth}").as_bytes()), Some(nth));
            assert_eq!(prints.find(format!("stranger-{nth}").as_bytes()), None);
        }
        assert_eq!(prints.insert(b"customer-7", 1), Some(7));
        assert_eq!(prints.find(b"customer-7"), Some(1));
    }
}
