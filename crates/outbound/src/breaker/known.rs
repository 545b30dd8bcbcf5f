//! What is kept for each key that is called: so many at most, and what matters least goes first.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Values by key, bounded.
#[derive(Debug)]
pub(super) struct Known<T> {
    entries: BTreeMap<Arc<str>, Entry<T>>,
    /// In the order in which they are forgotten.
    order: BTreeMap<(Rank, u64), Arc<str>>,
    most: usize,
    uses: u64,
}

/// What is kept longer, the later the longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Forgetting it lets no call through that would be kept back.
    Calm,
    Troubled,
    /// Somebody has said what it is to do.
    Forced,
}

pub(super) trait Ranked {
    fn rank(&self) -> Rank;
}

#[derive(Debug)]
struct Entry<T> {
    /// When it was made: a key that was forgotten and came back is another entry.
    made: u64,
    used: u64,
    value: T,
}

/// Where a value was when it was last seen.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    key: Arc<str>,
    made: u64,
}

impl Slot {
    pub(super) fn key(&self) -> &str {
        &self.key
    }
}

impl<T: Ranked> Known<T> {
    /// At least one.
    pub(super) fn up_to(most: usize) -> Known<T> {
        let most = most.max(1);
        Known { entries: BTreeMap::new(), order: BTreeMap::new(), most, uses: 0 }
    }

    /// Uses the value of a key, a fresh one if it has none. Also returns what had to be forgotten.
    pub(super) fn using<R>(
        &mut self,
        key: &str,
        fresh: impl FnOnce() -> T,
        change: impl FnOnce(&mut T) -> R,
    ) -> (Slot, R, Option<T>) {
        self.uses += 1;
        let (key, mut entry, forgotten) = match self.entries.remove_entry(key) {
            Some((key, entry)) => {
                self.order.remove(&entry.place());
                (key, entry, None)
            }
            None => {
                let forgotten = self.make_room();
                (key.into(), Entry { made: self.uses, used: 0, value: fresh() }, forgotten)
            }
        };
        entry.used = self.uses;
        let slot = Slot { key: key.clone(), made: entry.made };
        let result = change(&mut entry.value);
        self.order.insert(entry.place(), key.clone());
        self.entries.insert(key, entry);
        (slot, result, forgotten)
    }

    /// Changes the value that was seen there, unless it was forgotten since.
    pub(super) fn again<R>(&mut self, slot: &Slot, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let entry = self.entries.get_mut(&slot.key).filter(|entry| entry.made == slot.made)?;
        let before = entry.place();
        let result = change(&mut entry.value);
        let place = entry.place();
        if place != before {
            self.order.remove(&before);
            self.order.insert(place, slot.key.clone());
        }
        Some(result)
    }

    pub(super) fn get(&self, key: &str) -> Option<&T> {
        self.entries.get(key).map(|entry| &entry.value)
    }

    /// In the order of the keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &T)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.value))
    }

    fn make_room(&mut self) -> Option<T> {
        if self.entries.len() < self.most {
            return None;
        }
        let (_, key) = self.order.pop_first()?;
        self.entries.remove(&key).map(|entry| entry.value)
    }
}

impl<T: Ranked> Entry<T> {
    fn place(&self) -> (Rank, u64) {
        (self.value.rank(), self.used)
    }
}
