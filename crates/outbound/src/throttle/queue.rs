//! The calls of one line in the order in which they go, and who gives way when they are too many.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

use super::full::Full;
use super::places::Places;
use super::wish::{Place, Wish};

/// A call in a line.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) wish: Wish,
    pub(crate) waker: Option<Waker>,
}

/// How many may wait, and who gives way to whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) most: usize,
    pub(crate) full: Full,
}

/// What became of a call that wanted a place.
#[derive(Debug)]
pub(crate) enum Entered {
    /// It has one, or is held until there is one.
    Yes,
    /// It has one, which the call of this place had to leave.
    Instead(Place, Entry),
    /// It has none.
    No,
}

/// The calls of one line. Nobody is held outside while there is room inside.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Those that have a place.
    inside: Places,
    /// Those that are held until there is room, in the order in which they came.
    outside: BTreeMap<u64, (Place, Entry)>,
    /// Who gives way first; kept only where somebody does.
    expendable: BTreeSet<(i64, Reverse<u64>, Place)>,
    /// What all inside cost.
    cost: u128,
}

impl Queue {
    /// How many wait, inside and outside.
    pub(crate) fn len(&self) -> usize {
        self.inside.len().saturating_add(self.outside.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.inside.is_empty()
    }

    /// The one that goes next.
    pub(crate) fn first(&self) -> Option<(Place, &Wish)> {
        self.inside.first().map(|(place, entry)| (place, &entry.wish))
    }

    /// The wish of the call that has this place inside.
    pub(crate) fn wish(&self, place: Place) -> Option<&Wish> {
        self.inside.get(place).map(|entry| &entry.wish)
    }

    /// The call of this place, inside or outside.
    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut Entry> {
        let outside = &mut self.outside;
        let inside = self.inside.get_mut(place);
        inside.or_else(|| outside.get_mut(&place.number).map(|(_, entry)| entry))
    }

    /// What all inside would cost with one more at their end, if this place is there.
    pub(crate) fn cost_with_last(&self, place: Place, cost: u64) -> Option<u128> {
        let is_last = self.inside.last().is_none_or(|last| last < place);
        is_last.then(|| self.cost.saturating_add(cost.into()))
    }

    /// What those inside up to this place cost.
    pub(crate) fn cost_up_to(&self, place: Place) -> u128 {
        let costs = self.inside.up_to(place).map(|entry| u128::from(entry.wish.cost));
        costs.fold(0, u128::saturating_add)
    }

    /// Gives a call its place.
    pub(crate) fn enter(&mut self, place: Place, entry: Entry, bound: Bound) -> Entered {
        if self.inside.len() < bound.most {
            self.put(place, entry, bound.full);
            return Entered::Yes;
        }
        let gives_way = match bound.full {
            Full::Refuse => None,
            Full::Hold => {
                self.outside.insert(place.number, (place, entry));
                return Entered::Yes;
            }
            Full::DropOldest | Full::DropLowest => self.expendable.first().copied(),
        };
        let new = rank(place, &entry, bound.full);
        match gives_way {
            Some(old) if bound.full == Full::DropOldest || Some(old.0) < new.map(|new| new.0) => {
                let Some(gone) = self.take(old.2, bound.full) else { return Entered::No };
                self.put(place, entry, bound.full);
                Entered::Instead(old.2, gone)
            }
            _ => Entered::No,
        }
    }

    /// Takes a call out, and lets in who was held for want of room.
    pub(crate) fn remove(&mut self, place: Place, bound: Bound) -> Option<Entry> {
        let gone = self
            .take(place, bound.full)
            .or_else(|| self.outside.remove(&place.number).map(|(_, entry)| entry));
        while self.inside.len() < bound.most {
            let Some((_, (place, entry))) = self.outside.pop_first() else { break };
            self.put(place, entry, bound.full);
        }
        gone
    }

    /// The last to go of all, held ones first: for who ends them all.
    pub(crate) fn any(&self) -> Option<Place> {
        let held = self.outside.first_key_value().map(|(_, (place, _))| *place);
        held.or_else(|| self.inside.last())
    }

    /// The wakers of all, each once.
    pub(crate) fn take_wakers(&mut self) -> impl Iterator<Item = Waker> {
        let outside = self.outside.values_mut().map(|(_, entry)| entry);
        self.inside.all_mut().chain(outside).filter_map(|entry| entry.waker.take())
    }

    fn put(&mut self, place: Place, entry: Entry, full: Full) {
        self.cost = self.cost.saturating_add(entry.wish.cost.into());
        self.expendable.extend(rank(place, &entry, full));
        self.inside.insert(place, entry);
    }

    fn take(&mut self, place: Place, full: Full) -> Option<Entry> {
        let entry = self.inside.remove(place)?;
        self.cost = self.cost.saturating_sub(entry.wish.cost.into());
        if let Some(rank) = rank(place, &entry, full) {
            self.expendable.remove(&rank);
        }
        Some(entry)
    }
}

/// Where a call stands among those that give way, the least first; none if nobody does.
fn rank(place: Place, entry: &Entry, full: Full) -> Option<(i64, Reverse<u64>, Place)> {
    let number = i64::try_from(place.number).unwrap_or(i64::MAX);
    match full {
        Full::DropOldest => Some((number, Reverse(0), place)),
        Full::DropLowest => Some((entry.wish.priority.levels(), Reverse(place.number), place)),
        Full::Refuse | Full::Hold => None,
    }
}
