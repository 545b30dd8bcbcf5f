//! How many entries there are, and what forgetting them has cost.

use crate::sync::{AtomicU64, Ordering};

/// Counts, kept away from what every decision reads.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Tally {
    most: u64,
    entries: AtomicU64,
    recovered: AtomicU64,
    in_debt: AtomicU64,
    debt: AtomicU64,
}

/// What a store holds and has forgotten since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Keys that are held; a key of two limits counts twice.
    pub entries: u64,
    /// Bytes of the table and the logs.
    pub bytes: u64,
    /// Entries forgotten that owed nothing: that changes no answer.
    pub forgotten: u64,
    /// Entries forgotten at the cap while they still owed something: each was quota granted.
    pub forgotten_in_debt: u64,
    /// What those owed together, in units of cost: how much was granted.
    pub debt_forgiven: u64,
}

/// The right to add one entry; given back when it is dropped unused.
#[derive(Debug)]
pub(crate) struct Place<'t>(&'t Tally);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.entries.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Place<'_> {
    /// The entry was added: it counts from now on.
    pub(crate) fn fill(self) {
        std::mem::forget(self);
    }
}

// Relaxed throughout: each is a count by itself and orders nothing.
impl Tally {
    pub(crate) fn new(most: u64) -> Tally {
        Tally { most, ..Tally::default() }
    }

    pub(crate) fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// A place, unless all are taken.
    pub(crate) fn place(&self) -> Option<Place<'_>> {
        let before = self.entries.fetch_add(1, Ordering::Relaxed);
        let place = Place(self);
        (before < self.most).then_some(place)
    }

    /// A place beyond the cap, for as long as nothing else can be forgotten.
    pub(crate) fn place_beyond(&self) -> Place<'_> {
        self.entries.fetch_add(1, Ordering::Relaxed);
        Place(self)
    }

    pub(crate) fn forgot_recovered(&self, count: u64) {
        self.entries.fetch_sub(count, Ordering::Relaxed);
        self.recovered.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn forgot_in_debt(&self, debt: u64) {
        self.entries.fetch_sub(1, Ordering::Relaxed);
        self.in_debt.fetch_add(1, Ordering::Relaxed);
        self.debt.fetch_add(debt, Ordering::Relaxed);
    }

    /// Entries taken away on purpose.
    pub(crate) fn removed(&self, count: u64) {
        self.entries.fetch_sub(count, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self, bytes: u64) -> Stats {
        Stats {
            entries: self.entries(),
            bytes,
            forgotten: self.recovered.load(Ordering::Relaxed),
            forgotten_in_debt: self.in_debt.load(Ordering::Relaxed),
            debt_forgiven: self.debt.load(Ordering::Relaxed),
        }
    }
}
