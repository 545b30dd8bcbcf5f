//! Many things counted, of which those with the most are kept.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

/// Counts that can be put together.
pub trait Weighed: Default {
    /// How much it weighs; the lighter ones go first.
    fn weight(&self) -> u64;

    /// Adds another one's numbers to its own.
    fn absorb(&mut self, other: Self);
}

/// Counts by key, in bounded memory: those with the most are kept.
#[derive(Debug)]
pub struct Ranking<K, V> {
    /// Where the count of each key stands among those that are kept, so that a key is looked up once.
    places: HashMap<K, usize, RandomState>,
    kept: Vec<V>,
    most: usize,
    others: V,
    forgotten: u64,
}

impl<K: Hash + Eq, V: Weighed> Ranking<K, V> {
    /// Keeps `most` counts at least, and at most twice as many.
    pub(crate) fn new(most: usize) -> Ranking<K, V> {
        let (places, kept) = (HashMap::default(), Vec::new());
        Ranking { places, kept, most, others: V::default(), forgotten: 0 }
    }

    /// The count of a key; `own` makes a key to keep of it.
    pub(crate) fn at<Q>(&mut self, key: &Q, own: impl FnOnce() -> K) -> &mut V
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let place = match self.places.get(key) {
            Some(place) => *place,
            None => self.add(own()),
        };
        self.kept.get_mut(place).expect("each key has its place")
    }

    #[cold]
    fn add(&mut self, key: K) -> usize {
        if self.kept.len() >= self.most * 2 {
            self.forget();
        }
        self.places.insert(key, self.kept.len());
        self.kept.push(V::default());
        self.kept.len() - 1
    }

    /// The count of a key, if it is kept.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.kept.get(*self.places.get(key)?)
    }

    /// All that are kept, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.places.iter().filter_map(|(key, place)| Some((key, self.kept.get(*place)?)))
    }

    /// How many are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// What those had that are not kept.
    #[must_use]
    pub fn others(&self) -> &V {
        &self.others
    }

    /// How many are not kept; one that came again and went again is counted again.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Those with the most by some measure, the most first, those of 0 left out; equal ones in the order
    /// of their keys.
    pub fn top(&self, count: usize, by: impl Fn(&V) -> u64) -> Vec<(&K, &V)>
    where
        K: Ord,
    {
        let mut all: Vec<_> = self.iter().filter(|(_, value)| by(value) > 0).collect();
        all.sort_by(|(a, x), (b, y)| by(y).cmp(&by(x)).then_with(|| a.cmp(b)));
        all.truncate(count);
        all
    }

    /// Puts the lighter half of them together.
    fn forget(&mut self) {
        let mut weights: Vec<u64> = self.kept.iter().map(V::weight).collect();
        let middle = weights.len().saturating_sub(self.most);
        let (_, limit, _) = weights.select_nth_unstable(middle);
        let limit = *limit;
        // Of those that weigh as much as the limit as many go as have to.
        let mut lighter = self.kept.iter().filter(|value| value.weight() < limit).count();
        let mut before = std::mem::take(&mut self.kept);
        let (kept, others, forgotten) = (&mut self.kept, &mut self.others, &mut self.forgotten);
        self.places.retain(|_, place| {
            let value = before.get_mut(*place).map(std::mem::take).unwrap_or_default();
            let weight = value.weight();
            let stays = weight > limit || (weight == limit && lighter >= middle);
            if stays {
                *place = kept.len();
                kept.push(value);
            } else {
                lighter += usize::from(weight == limit);
                others.absorb(value);
                *forgotten += 1;
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Sum(u64);

    impl Weighed for Sum {
        fn weight(&self) -> u64 {
            self.0
        }

        fn absorb(&mut self, other: Sum) {
            self.0 += other.0;
        }
    }

    #[test]
    fn what_is_large_is_kept_and_nothing_is_lost() {
        let mut ranking: Ranking<u32, Sum> = Ranking::new(10);
        let mut all = 0;
        for round in 0..1_000_u32 {
            for key in [1, 2, 3, 1_000 + round] {
                ranking.at(&key, || key).0 += 1;
                all += 1;
            }
            assert!(ranking.len() <= 20);
        }
        let top = ranking.top(3, Weighed::weight);
        let top: Vec<_> = top.into_iter().map(|(key, sum)| (*key, sum.0)).collect();
        assert_eq!(top, [(1, 1_000), (2, 1_000), (3, 1_000)]);
        let kept: u64 = ranking.iter().map(|(_, sum)| sum.0).sum();
        assert_eq!(kept + ranking.others().0, all);
        let kept = u64::try_from(ranking.len()).unwrap();
        assert_eq!(ranking.forgotten() + kept, 1_003);
    }
}
