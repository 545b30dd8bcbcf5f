//! What was read of a chain, and the version it was read at.

use tollgate_core::algorithm::State;

use crate::bucket::{Bucket, Cell, Control, Lock};

/// What was read of a key: its chain, the version, and its entry if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'t> {
    pub(crate) home: u64,
    pub(super) bucket: &'t Bucket,
    pub(super) seen: Control,
    pub(crate) entry: Option<Entry<'t>>,
}

/// An entry as it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'t> {
    pub(crate) cell: &'t Cell,
    pub(crate) state: State,
    pub(crate) shape: u64,
}

/// An entry that was found, and the version it was read at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit<'t> {
    pub(super) bucket: &'t Bucket,
    pub(super) seen: Control,
    pub(crate) entry: Entry<'t>,
}

impl<'t> Hit<'t> {
    /// Whether what was read is still so.
    #[inline]
    pub(crate) fn still(&self) -> bool {
        self.bucket.still(self.seen)
    }

    /// Locks the chain if what was read is still so.
    #[inline]
    pub(crate) fn lock(&self) -> Option<Lock<'t>> {
        self.bucket.lock(self.seen)
    }
}

impl<'t> Entry<'t> {
    #[inline]
    pub(super) fn read(cell: &'t Cell) -> Entry<'t> {
        let (state, shape) = cell.state();
        Entry { cell, state, shape }
    }
}

impl<'t> View<'t> {
    #[inline]
    pub(crate) fn state(&self) -> State {
        self.entry.map_or(State::FRESH, |entry| entry.state)
    }

    /// The number of the shape that stands in the entry; 0 without one.
    #[inline]
    pub(crate) fn shape(&self) -> u64 {
        self.entry.map_or(0, |entry| entry.shape)
    }

    /// Whether what was read is still so.
    #[inline]
    pub(crate) fn still(&self) -> bool {
        self.bucket.still(self.seen)
    }

    /// Locks the chain if what was read is still so.
    #[inline]
    pub(crate) fn lock(&self) -> Option<Lock<'t>> {
        self.bucket.lock(self.seen)
    }
}
