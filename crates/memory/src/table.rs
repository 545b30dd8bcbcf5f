//! The table: buckets that are split one at a time as entries come (linear hashing).
//!
//! It never rehashes as a whole and no bucket ever moves: buckets live in segments that are
//! allocated one by one, 64 KiB each. With `n` buckets a key lives in the bucket of its hash's low
//! bits; when bucket `n` is added, the entries of exactly one other bucket are shared with it. So
//! the longest pause is one segment's allocation and one bucket's split.

mod segments;

use std::iter;

use tollgate_core::Few;
use tollgate_core::algorithm::State;

use crate::bucket::{Bucket, Cell, Control, Link, Lock};
use crate::fingerprint::Fingerprint;
use crate::sweep::CANDIDATES;
use crate::sync::{AtomicU64, Mutex, Ordering, Patience, TryLockError, whole};
use segments::{SEGMENT, Segments};

/// Entries per ten buckets above which the table grows: 39 bytes per key, all in.
const LOAD: (u64, u64) = (42, 10);
/// Buckets in the longest chain: 45 entries, ten times the usual.
const CHAIN: usize = 9;

/// A hash table of bounded size that grows by one bucket at a time.
#[derive(Debug)]
pub(crate) struct Table {
    buckets: Segments,
    overflow: Segments,
    size: AtomicU64,
    most: u64,
    growth: Mutex<()>,
    spare: Mutex<Spare>,
}

/// Overflow buckets not in use.
#[derive(Debug, Default)]
struct Spare {
    returned: Vec<Link>,
    used: u64,
}

/// What was read of a key: its chain, the version, and its entry if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'t> {
    pub(crate) home: u64,
    bucket: &'t Bucket,
    seen: Control,
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
    bucket: &'t Bucket,
    seen: Control,
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
    fn read(cell: &'t Cell) -> Entry<'t> {
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

impl Table {
    /// A table for `entries` at most.
    pub(crate) fn new(entries: u64) -> Table {
        let (load, per) = LOAD;
        let most = entries.saturating_mul(per).div_ceil(load);
        // Whole groups, so that each has the same number of candidates when the table is full.
        let most = most.next_multiple_of(CANDIDATES.min(most.next_power_of_two())).max(1);
        let buckets = Segments::new(most);
        buckets.ready(0);
        Table {
            buckets,
            // About a third as many are in use in the worst phase of growth.
            overflow: Segments::new(most.saturating_add(SEGMENT).min(Link::LAST)),
            size: AtomicU64::new(Size::of(most.min(SEGMENT)).0),
            most,
            growth: Mutex::new(()),
            spare: Mutex::default(),
        }
    }

    /// How many buckets there are, without overflow.
    pub(crate) fn count(&self) -> u64 {
        self.size().count()
    }

    #[inline]
    fn size(&self) -> Size {
        // Acquire: the segment of the last bucket was ready before it was counted.
        Size(self.size.load(Ordering::Acquire))
    }

    /// Bytes of all segments.
    pub(crate) fn bytes(&self) -> u64 {
        self.buckets.bytes().saturating_add(self.overflow.bytes())
    }

    /// Reads a key's entry, without a write and without waiting for anything but a writer at work.
    pub(crate) fn view(&self, key: Fingerprint) -> View<'_> {
        let mut patience = Patience::default();
        loop {
            let size = self.size();
            let home = size.home(key.0);
            let bucket = self.buckets.at(home);
            if let Some(seen) = self.quiet(bucket, size) {
                let entry = self.find(bucket, seen.link(), key.0).map(Entry::read);
                // Rules are asked of whole states only, never of two halves.
                if bucket.still(seen) {
                    return View { home, bucket, seen, entry };
                }
            }
            patience.pause();
        }
    }

    /// A single look at a key: nothing if it has no entry, or a writer is at work where it lives.
    #[inline(always)]
    pub(crate) fn glance(&self, key: Fingerprint) -> Option<Hit<'_>> {
        let size = self.size();
        let bucket = self.buckets.at(size.home(key.0));
        // What is found is where it belongs, even if the size has changed meanwhile.
        let seen = bucket.quiet()?;
        let entry = Entry::read(self.find(bucket, seen.link(), key.0)?);
        let hit = Hit { bucket, seen, entry };
        // Rules are asked of whole states only, never of two halves.
        hit.still().then_some(hit)
    }

    /// The version of a bucket found by this size, unless a writer is at work.
    #[inline(always)]
    fn quiet(&self, bucket: &Bucket, size: Size) -> Option<Control> {
        // A split publishes the size before it lets go of the bucket: if this version is from after
        // the split, so is the size. Relaxed: read after the version, by whose acquire it is as new.
        let seen = bucket.quiet()?;
        if self.size.load(Ordering::Relaxed) == size.0 { Some(seen) } else { None }
    }

    /// Reads both cache lines of a key's bucket, to have them near.
    #[inline]
    pub(crate) fn touch(&self, key: Fingerprint) -> u64 {
        self.buckets.at(self.home(key)).touch()
    }

    /// Where a key lives now.
    pub(crate) fn home(&self, key: Fingerprint) -> u64 {
        self.size().home(key.0)
    }

    /// A bucket and its version, unless a writer is at work.
    pub(crate) fn seen(&self, home: u64) -> Option<View<'_>> {
        let bucket = self.buckets.at(home);
        bucket.quiet().map(|seen| View { home, bucket, seen, entry: None })
    }

    /// Locks a bucket, waiting for whoever holds it.
    pub(crate) fn lock(&self, home: u64) -> Lock<'_> {
        let mut patience = Patience::default();
        loop {
            if let Some(lock) = self.seen(home).and_then(|view| view.lock()) {
                return lock;
            }
            patience.pause();
        }
    }

    /// A key in a locked chain.
    pub(crate) fn view_in<'t>(&'t self, lock: &Lock<'t>, home: u64, key: Fingerprint) -> View<'t> {
        let (bucket, seen) = (lock.bucket(), lock.seen());
        View { home, bucket, seen, entry: self.find(bucket, lock.link(), key.0).map(Entry::read) }
    }

    /// Every entry of a chain and its tag, for as long as the chain stands as it was seen.
    pub(crate) fn entries<'t>(&'t self, view: &View<'t>) -> impl Iterator<Item = (u64, Entry<'t>)> {
        self.read(view.bucket, view.seen.link())
            .take_while(|_| view.still())
            .filter(|(tag, _)| *tag != 0)
    }

    /// Every entry of a locked chain and its tag.
    pub(crate) fn entries_in<'t>(
        &'t self,
        lock: &Lock<'t>,
    ) -> impl Iterator<Item = (u64, Entry<'t>)> {
        self.read(lock.bucket(), lock.link()).filter(|(tag, _)| *tag != 0)
    }

    fn read<'t>(
        &'t self,
        first: &'t Bucket,
        link: Option<Link>,
    ) -> impl Iterator<Item = (u64, Entry<'t>)> {
        self.chain(first, link).map(|cell| (cell.tag(), Entry::read(cell)))
    }

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

    /// Adds a bucket when `entries` are too many for those there are, unless somebody else is just
    /// doing so. How many entries found no room in it: none, unless memory for links has run out.
    pub(crate) fn grow(&self, entries: u64) -> u64 {
        let (load, per) = LOAD;
        let count = self.count();
        if count >= self.most || entries.saturating_mul(per) <= count.saturating_mul(load) {
            return 0;
        }
        let _growing = match self.growth.try_lock() {
            Ok(growing) => growing,
            Err(TryLockError::Poisoned(growing)) => growing.into_inner(),
            Err(TryLockError::WouldBlock) => return 0,
        };
        let size = self.size();
        if size.count() >= self.most { 0 } else { self.split(size) }
    }

    /// Adds a bucket and shares the entries of the one it is split from.
    fn split(&self, size: Size) -> u64 {
        let count = size.count();
        self.buckets.ready(count);
        let mut old = self.lock(size.parent());
        let mut new = self.lock(count);
        // Release: whoever counts this bucket finds its segment. Both buckets are locked until the
        // entries are where the new size says.
        let after = Size::of(count.saturating_add(1));
        self.size.store(after.0, Ordering::Release);
        let mut lost = 0u64;
        for cell in self.chain(old.bucket(), old.link()) {
            let (tag, (state, shape)) = (cell.tag(), cell.state());
            if tag != 0 && after.home(tag) == count {
                if !self.insert(&mut new, tag, state, shape) {
                    lost = lost.saturating_add(1);
                }
                old.clear(cell);
            }
        }
        self.tidy(&mut old);
        lost
    }

    /// Moves the entries of a locked chain to its front and gives back the buckets left empty.
    fn tidy(&self, lock: &mut Lock<'_>) {
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
    fn find<'t>(&'t self, first: &'t Bucket, link: Option<Link>, tag: u64) -> Option<&'t Cell> {
        // Most are in the cell that an insertion prefers, and the processor comes to expect it.
        let likely = first.cell_of(tag);
        if likely.tag() == tag {
            return Some(likely);
        }
        let near = first.cells().iter().find(|cell| cell.tag() == tag);
        near.or_else(|| self.find_beyond(link?, tag))
    }

    // Cold, so that the registers are for those found near: they are more.
    #[cold]
    #[inline(never)]
    fn find_beyond(&self, link: Link, tag: u64) -> Option<&Cell> {
        let buckets = self.overflow_of(Some(link)).map(|link| self.overflow.at(link.0));
        buckets.flat_map(Bucket::cells).find(|cell| cell.tag() == tag)
    }

    /// Every cell of a chain.
    #[inline]
    fn chain<'t>(
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

/// How many buckets there are; in the lowest 6 bits, how far 64 ones are shifted right to make the
/// mask of their indices.
#[derive(Clone, Copy, Debug)]
struct Size(u64);

impl Size {
    fn of(count: u64) -> Size {
        let shift = count.saturating_sub(1).leading_zeros().min(63);
        Size(count << 6 | u64::from(shift))
    }

    #[inline]
    fn count(self) -> u64 {
        self.0 >> 6
    }

    /// The bucket of a hash: its low bits, or one bit fewer where the bucket has not been split yet.
    #[inline]
    fn home(self, tag: u64) -> u64 {
        let mask = u64::MAX >> (self.0 & 63);
        let home = tag & mask;
        if home < self.count() { home } else { tag & (mask >> 1) }
    }

    /// The bucket that shares its entries with the next.
    fn parent(self) -> u64 {
        let Size(after) = Size::of(self.count().saturating_add(1));
        self.count() & (u64::MAX >> (after & 63) >> 1)
    }
}
