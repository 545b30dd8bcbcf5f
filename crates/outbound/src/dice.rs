//! The one place that chance comes from. Each thread draws its own numbers; `fastrand::seed` makes
//! those of a test's thread again.

use std::ops::RangeInclusive;

/// Any 64 bits, evenly drawn.
pub(crate) fn bits() -> u64 {
    fastrand::u64(..)
}

/// A whole number of the range, each as likely as any other; the start of a range that is empty.
pub(crate) fn between(range: RangeInclusive<u64>) -> u64 {
    if range.is_empty() { *range.start() } else { fastrand::u64(range) }
}
