//! A chain: the cells of a bucket and of those it overflows into.

use std::iter;

use tollgate_core::Few;
use tollgate_core::algorithm::State;

use super::Table;
use crate::bucket::{Bucket, Cell, Control, Link, Lock};
use crate::sync::whole;

/// Buckets in the longest chain: 45 entries, ten times the usual.
const CHAIN: usize = 9;

/// Overflow buckets not in use.
#[derive(Debug, Default)]
pub(super) struct Spare {
    returned: Vec<Link>,
    used: u64,
}

impl Table {
    /// Puts a new entry into a locked chain; whether there was room.
    pub(crate) fn insert(&self, lock: &mut Lock<'_>, tag: u64, state: State, shape: u64) -> bool {
        let likely = iter::once(lock.bucket().cell_of(tag));
        let mut cells = likely.chain(self.chain(lock.bucket(), lock.link()));
        let free = cells.find(|cell| cell.tag() == 0);
        if let Some(cell) = free {
            lock.place(cell, tag, state, shape);
            return true;
        }
        if self.overflow_of(lock.link()).count() >= CHAIN - 1 {
            return false;
        }
        let Some(link) = self.take_spare() else { return false };
        let bucket = self.overflow.at(link.0);
        let [first, ..] = bucket.cells();
        // The newest bucket leads the overflow.
        bucket.follow(lock.link());
        lock.place(first, tag, state, shape);
        lock.relink(Some(link));
        true
    }

    /// Empties the cells of a locked chain that `gone` names; how many.
    pub(crate) fn remove(
        &self,
        lock: &mut Lock<'_>,
        gone: impl Fn(u64, State, u64) -> bool,
    ) -> u64 {
        let mut removed = 0u64;
        for cell in self.chain(lock.bucket(), lock.link()) {
            let (tag, (state, shape)) = (cell.tag(), cell.state());
            if tag != 0 && gone(tag, state, shape) {
                lock.clear(cell);
                removed = removed.saturating_add(1);
            }
        }
        if removed > 0 {
            self.tidy(lock);
        }
        removed
    }

    /// Moves the entries of a locked chain to its front and gives back the buckets left empty.
    pub(super) fn tidy(&self, lock: &mut Lock<'_>) {
        let cells = || self.chain(lock.bucket(), lock.link());
        let used = cells().filter(|cell| cell.tag() != 0).count();
        let holes = cells().take(used).filter(|cell| cell.tag() == 0);
        let strays = cells().skip(used).filter(|cell| cell.tag() != 0);
        let moves: Few<_> = holes.zip(strays).collect();
        for (hole, stray) in moves.iter() {
            let (state, shape) = stray.state();
            lock.place(hole, stray.tag(), state, shape);
            lock.clear(stray);
        }
        let needed = used.div_ceil(lock.bucket().cells().len()).saturating_sub(1);
        let first_empty = self.overflow_of(lock.link()).nth(needed);
        match needed.checked_sub(1).and_then(|last| self.overflow_of(lock.link()).nth(last)) {
            Some(last) => self.overflow.at(last.0).follow(None),
            None => lock.relink(None),
        }
        if let Some(link) = first_empty {
            whole(self.spare.lock()).returned.extend(self.overflow_of(Some(link)));
        }
    }

    fn take_spare(&self) -> Option<Link> {
        let mut spare = whole(self.spare.lock());
        if let Some(link) = spare.returned.pop() {
            return Some(link);
        }
        let next = spare.used.checked_add(1).filter(|next| *next < self.overflow.capacity())?;
        spare.used = next;
        self.overflow.ready(next);
        Some(Link(next))
    }

    #[inline(always)]
    pub(super) fn find<'t>(
        &'t self,
        first: &'t Bucket,
        seen: Control,
        tag: u64,
    ) -> Option<&'t Cell> {
        // Most are in the cell that an insertion prefers, and the processor comes to expect it.
        let likely = first.cell_of(tag);
        if likely.tag() == tag {
            return Some(likely);
        }
        let near = first.cells().iter().find(|cell| cell.tag() == tag);
        near.or_else(|| self.find_beyond(seen, tag))
    }

    // Cold, so that the registers are for those found near: they are more.
    #[cold]
    #[inline(never)]
    fn find_beyond(&self, seen: Control, tag: u64) -> Option<&Cell> {
        let buckets = self.overflow_of(seen.link()).map(|link| self.overflow.at(link.0));
        buckets.flat_map(Bucket::cells).find(|cell| cell.tag() == tag)
    }

    /// Every cell of a chain.
    #[inline]
    pub(super) fn chain<'t>(
        &'t self,
        first: &'t Bucket,
        link: Option<Link>,
    ) -> impl Iterator<Item = &'t Cell> {
        let overflow = self.overflow_of(link).flat_map(|link| self.overflow.at(link.0).cells());
        first.cells().iter().chain(overflow)
    }

    /// The overflow buckets from a link on. A torn read may lead anywhere, but no further than a
    /// chain may be long.
    #[inline]
    fn overflow_of(&self, link: Option<Link>) -> impl Iterator<Item = Link> {
        iter::successors(link, |link| self.overflow.at(link.0).following()).take(CHAIN - 1)
    }
}
