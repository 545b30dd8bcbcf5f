//! The guide: choosing an algorithm, numbers and keys; what stands in headers; what is exact.

#[doc = include_str!("../docs/algorithms.md")]
pub mod algorithms {}

#[doc = include_str!("../docs/numbers.md")]
pub mod numbers {}

#[doc = include_str!("../docs/keys.md")]
pub mod keys {}

#[doc = include_str!("../docs/several_processes.md")]
pub mod several_processes {}
