//! A bucket: five entries and the word that guards them, in two cache lines.
//!
//! The control word is a version and a lock in one (a seqlock). A reader takes the version, reads
//! the entries and looks whether the version still stands; a writer makes it odd by a
//! compare-and-swap *from the version it read*, so that winning the lock also proves that what it
//! decided on is unchanged. A bucket that overflows links to another, guarded by the first one's
//! word.

use tollgate_core::algorithm::State;

use crate::sync::{AtomicU64, Ordering, fence};

/// Five entries and their control word.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Bucket {
    control: AtomicU64,
    cells: [Cell; 5],
}

/// One entry: whose it is (0: nobody's) and the two words of its state.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    tag: AtomicU64,
    words: [AtomicU64; 2],
}

/// A control word: bit 0 says locked, 27 bits link to an overflow bucket, 36 count versions.
///
/// A reader would have to stand still through exactly 2^36 writes to one bucket, ten minutes of
/// nothing else, to be deceived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Control(u64);

/// The number of an overflow bucket, 1 to 2^27 − 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(pub(crate) u64);

impl Link {
    pub(crate) const LAST: u64 = (1 << 27) - 1;
}

impl Control {
    const LOCKED: u64 = 1;
    const VERSION: u64 = 1 << 28;

    #[inline]
    pub(crate) fn link(self) -> Option<Link> {
        match self.0 >> 1 & Link::LAST {
            0 => None,
            number => Some(Link(number)),
        }
    }

    fn with_link(self, link: Option<Link>) -> Control {
        let link = link.map_or(0, |link| link.0);
        Control(self.0 & !(Link::LAST << 1) | link << 1)
    }

    /// The next version.
    #[inline]
    fn next(self) -> Control {
        Control(self.0.wrapping_add(Control::VERSION))
    }
}

impl Bucket {
    /// The control word, unless a writer is at work.
    #[inline]
    pub(crate) fn quiet(&self) -> Option<Control> {
        // Acquire: entries read after this are at least as new as the version.
        let control = self.control.load(Ordering::Acquire);
        (control & Control::LOCKED == 0).then_some(Control(control))
    }

    /// Reads a word of each cache line.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let [.., last] = &self.cells;
        // Relaxed: what is read is not used.
        self.control.load(Ordering::Relaxed) ^ last.tag()
    }

    /// Whether everything read since `seen` belongs to that version.
    #[inline]
    pub(crate) fn still(&self, seen: Control) -> bool {
        // The fence keeps the reads of entries before the second look; if one of them saw a
        // writer's word, that writer's fence makes its odd control word visible here.
        fence(Ordering::Acquire);
        self.control.load(Ordering::Relaxed) == seen.0
    }

    /// Locks the bucket if it is still as it was `seen`.
    #[inline]
    pub(crate) fn lock(&self, seen: Control) -> Option<Lock<'_>> {
        // Acquire: the lock's writes come after it. The release fence pairs with the reader's.
        let locked = seen.0 | Control::LOCKED;
        let order = (Ordering::Acquire, Ordering::Relaxed);
        self.control.compare_exchange(seen.0, locked, order.0, order.1).ok()?;
        fence(Ordering::Release);
        Some(Lock { bucket: self, seen, after: seen })
    }

    #[inline]
    pub(crate) fn cells(&self) -> &[Cell; 5] {
        &self.cells
    }

    /// The cell that an entry of this tag is put into if it is free: by its upper bits, since the
    /// lower ones have chosen the bucket.
    #[inline(always)]
    pub(crate) fn cell_of(&self, tag: u64) -> &Cell {
        let [first, ..] = &self.cells;
        // By its number, not by its name: a jump on a random number is mostly predicted wrongly.
        let number = ((tag >> 32) * 5) >> 32;
        usize::try_from(number).ok().and_then(|number| self.cells.get(number)).unwrap_or(first)
    }

    /// The bucket that follows an overflow bucket, kept in its otherwise unused control word.
    pub(crate) fn following(&self) -> Option<Link> {
        // Relaxed: only believed under the first bucket's lock, or if its version still stands.
        Control(self.control.load(Ordering::Relaxed)).link()
    }

    pub(crate) fn follow(&self, link: Option<Link>) {
        self.control.store(Control(0).with_link(link).0, Ordering::Relaxed);
    }
}

impl Cell {
    /// The largest number of a shape.
    pub(crate) const LAST_SHAPE: u64 = (1 << 10) - 1;

    /// Every rule's first word is an instant, a window's number or a debt: at most 2^53. The shape's
    /// number stands above it.
    const SHAPE: u32 = 54;
    const WORD: u64 = (1 << Cell::SHAPE) - 1;

    // Relaxed throughout: the first bucket's control word orders and validates every access.

    /// Whose entry this is: a fingerprint's tag, or 0.
    #[inline]
    pub(crate) fn tag(&self) -> u64 {
        self.tag.load(Ordering::Relaxed)
    }

    /// The state, and the number of the shape that wrote it.
    #[inline]
    pub(crate) fn state(&self) -> (State, u64) {
        let [first, second] = &self.words;
        let (first, second) = (first.load(Ordering::Relaxed), second.load(Ordering::Relaxed));
        (State(first & Cell::WORD, second), first >> Cell::SHAPE)
    }

    #[inline]
    fn write(&self, State(first, second): State, shape: u64) {
        debug_assert!(first <= Cell::WORD && shape <= Cell::LAST_SHAPE);
        let words = &self.words;
        words[0].store(first | shape << Cell::SHAPE, Ordering::Relaxed);
        words[1].store(second, Ordering::Relaxed);
    }
}

/// A locked chain; dropping it lets the next one in.
#[derive(Debug)]
pub(crate) struct Lock<'t> {
    bucket: &'t Bucket,
    /// The control word when it was locked, and the one it is let go with: the same while nothing is
    /// changed, so that nobody's decision is spoilt.
    seen: Control,
    after: Control,
}

impl<'t> Lock<'t> {
    pub(crate) fn bucket(&self) -> &'t Bucket {
        self.bucket
    }

    pub(crate) fn link(&self) -> Option<Link> {
        self.after.link()
    }

    /// The version that was locked.
    pub(crate) fn seen(&self) -> Control {
        self.seen
    }

    /// Sets the link; counts as a change.
    pub(crate) fn relink(&mut self, link: Option<Link>) {
        self.change();
        self.after = self.after.with_link(link);
    }

    /// Writes the state of an entry of this chain.
    #[inline]
    pub(crate) fn write(&mut self, cell: &Cell, state: State, shape: u64) {
        self.change();
        cell.write(state, shape);
    }

    #[inline]
    fn change(&mut self) {
        if self.after == self.seen {
            self.after = self.seen.next();
        }
    }

    /// Gives a cell of this chain to the entry of `tag`.
    pub(crate) fn place(&mut self, cell: &Cell, tag: u64, state: State, shape: u64) {
        cell.tag.store(tag, Ordering::Relaxed);
        self.write(cell, state, shape);
    }

    /// Empties an entry of this chain.
    pub(crate) fn clear(&mut self, cell: &Cell) {
        self.place(cell, 0, State::FRESH, 0);
    }
}

impl Drop for Lock<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: whoever sees the new version sees the writes.
        self.bucket.control.store(self.after.0, Ordering::Release);
    }
}
