//! The calls that have a place in a line, in order.

use std::collections::BTreeMap;

use super::queue::Entry;
use super::wish::Place;

/// Calls by their place. The first is kept apart, so that a line of one takes no allocation.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The least place of all.
    first: Option<(Place, Entry)>,
    /// Greater places; none without a first.
    rest: BTreeMap<Place, Entry>,
}

impl Places {
    pub(crate) fn len(&self) -> usize {
        self.rest.len().saturating_add(usize::from(self.first.is_some()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(crate) fn first(&self) -> Option<(Place, &Entry)> {
        self.first.as_ref().map(|(place, entry)| (*place, entry))
    }

    pub(crate) fn last(&self) -> Option<Place> {
        let last = self.rest.last_key_value().map(|(place, _)| *place);
        last.or_else(|| self.first().map(|(place, _)| place))
    }

    pub(crate) fn get(&self, place: Place) -> Option<&Entry> {
        match &self.first {
            Some((first, entry)) if *first == place => Some(entry),
            _ => self.rest.get(&place),
        }
    }

    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut Entry> {
        match &mut self.first {
            Some((first, entry)) if *first == place => Some(entry),
            _ => self.rest.get_mut(&place),
        }
    }

    /// The calls up to this place.
    pub(crate) fn up_to(&self, place: Place) -> impl Iterator<Item = &Entry> {
        let first = self.first().filter(|(first, _)| *first <= place);
        let rest = self.rest.range(..=place).map(|(_, entry)| entry);
        first.map(|(_, entry)| entry).into_iter().chain(rest)
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        let first = self.first.as_mut().map(|(_, entry)| entry);
        first.into_iter().chain(self.rest.values_mut())
    }

    pub(crate) fn insert(&mut self, place: Place, entry: Entry) {
        let later = match &mut self.first {
            Some(first) if first.0 < place => Some((place, entry)),
            first => first.replace((place, entry)),
        };
        self.rest.extend(later);
    }

    pub(crate) fn remove(&mut self, place: Place) -> Option<Entry> {
        if self.first().is_some_and(|(first, _)| first == place) {
            let first = std::mem::replace(&mut self.first, self.rest.pop_first());
            return first.map(|(_, entry)| entry);
        }
        self.rest.remove(&place)
    }
}
