//! The one place that chance comes from. Each thread draws its own numbers; `fastrand::seed` makes
//! those of a test's thread again.

/// Any 64 bits, evenly drawn.
pub(crate) fn bits() -> u64 {
    fastrand::u64(..)
}
