//! Buckets that never move, allocated a segment at a time.

use std::sync::OnceLock;

use crate::bucket::Bucket;
use crate::sync::{self, AtomicU64, Ordering};

type Segment = Box<[Bucket; sync::SEGMENT]>;

/// Buckets per segment.
#[expect(clippy::as_conversions, reason = "a small constant; From is not const")]
pub(super) const SEGMENT: u64 = sync::SEGMENT as u64;

/// A directory of segments, its length fixed at the start.
#[derive(Debug)]
pub(super) struct Segments {
    directory: Box<[OnceLock<Segment>]>,
    ready: AtomicU64,
}

impl Segments {
    /// Room for `buckets`, none of them allocated.
    pub(super) fn new(buckets: u64) -> Segments {
        let directory = (0..buckets.div_ceil(SEGMENT)).map(|_| OnceLock::new()).collect();
        Segments { directory, ready: AtomicU64::new(0) }
    }

    /// How many buckets there is room for.
    pub(super) fn capacity(&self) -> u64 {
        word(self.directory.len()).saturating_mul(SEGMENT)
    }

    /// Bytes of the directory and of the segments allocated.
    pub(super) fn bytes(&self) -> u64 {
        let directory = word(size_of_val(&*self.directory));
        // Relaxed: a figure to be told.
        let segments = self.ready.load(Ordering::Relaxed);
        directory
            .saturating_add(segments.saturating_mul(word(size_of::<[Bucket; sync::SEGMENT]>())))
    }

    /// Allocates the segment of bucket `index`, if that has not been done.
    pub(super) fn ready(&self, index: u64) {
        if let Some(segment) = self.directory.get(place(index / SEGMENT)) {
            segment.get_or_init(|| {
                self.ready.fetch_add(1, Ordering::Relaxed);
                let buckets: Box<[Bucket]> = (0..SEGMENT).map(|_| Bucket::default()).collect();
                buckets.try_into().expect("as many were made as a segment holds")
            });
        }
    }

    /// Bucket `index`, which is ready.
    #[inline]
    pub(super) fn at(&self, index: u64) -> &Bucket {
        let segment = self.directory.get(place(index / SEGMENT)).and_then(OnceLock::get);
        let bucket = segment.and_then(|segment| segment.get(place(index % SEGMENT)));
        bucket.expect("a bucket is ready before it is counted or linked")
    }
}

/// An index as the machine counts. No directory has more places than the machine can address.
#[inline]
fn place(index: u64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

fn word(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
