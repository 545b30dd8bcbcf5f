//! The table: buckets that are split one at a time as entries come (linear hashing).
//!
//! It never rehashes as a whole and no bucket ever moves: buckets live in segments that are
//! allocated one by one, 64 KiB each. With `n` buckets a key lives in the bucket of its hash's low
//! bits; when bucket `n` is added, the entries of exactly one other bucket are shared with it. So
//! the longest pause is one segment's allocation and one bucket's split.

mod chain;
mod segments;
mod view;

use crate::bucket::{Bucket, Control, Link, Lock};
use crate::fingerprint::Fingerprint;
use crate::sweep::CANDIDATES;
use crate::sync::{AtomicU64, Mutex, Ordering, Patience, TryLockError};
use chain::Spare;
use segments::{SEGMENT, Segments};
pub(crate) use view::{Entry, Hit, View};

/// Entries per ten buckets above which the table grows: 39 bytes per key, all in.
const LOAD: (u64, u64) = (42, 10);

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
                let entry = self.find(bucket, seen, key.0).map(Entry::read);
                // Rules are asked of whole states only, never of two halves.
                if bucket.still(seen) {
                    return View { home, bucket, seen, entry };
                }
            }
            patience.pause();
        }
    }

    /// The bucket where a key lives now.
    #[inline(always)]
    pub(crate) fn bucket(&self, key: Fingerprint) -> &Bucket {
        self.buckets.at(self.home(key))
    }

    /// A single look at a key in its bucket: nothing if it has no entry, or a writer is at work there.
    #[inline(always)]
    pub(crate) fn glance<'t>(&'t self, bucket: &'t Bucket, key: Fingerprint) -> Option<Hit<'t>> {
        // What is found is where it belongs, even if the bucket has been split meanwhile.
        let seen = bucket.quiet()?;
        let entry = Entry::read(self.find(bucket, seen, key.0)?);
        let hit = Hit { bucket, seen, entry };
        // Rules are asked of whole states only, never of two halves.
        hit.still().then_some(hit)
    }

    /// Waits while a writer is at work where a key lives.
    pub(crate) fn wait(&self, key: Fingerprint) {
        let bucket = self.bucket(key);
        let mut patience = Patience::default();
        while bucket.quiet().is_none() {
            patience.pause();
        }
    }

    /// The version of a bucket found by this size, unless a writer is at work.
    #[inline(always)]
    fn quiet(&self, bucket: &Bucket, size: Size) -> Option<Control> {
        // A split publishes the size before it lets go of the bucket: if this version is from after
        // the split, so is the size. Relaxed: read after the version, by whose acquire it is as new.
        let seen = bucket.quiet()?;
        if self.size.load(Ordering::Relaxed) == size.0 { Some(seen) } else { None }
    }

    /// Where a key lives now.
    #[inline]
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

    /// A key in a locked chain that nothing has been written to yet.
    pub(crate) fn view_in<'t>(&'t self, lock: &Lock<'t>, home: u64, key: Fingerprint) -> View<'t> {
        let (bucket, seen) = (lock.bucket(), lock.seen());
        View { home, bucket, seen, entry: self.find(bucket, seen, key.0).map(Entry::read) }
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
