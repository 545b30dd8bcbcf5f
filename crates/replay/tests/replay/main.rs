//! Logs read and replayed, from files to what is told of them.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::panic,
    reason = "a test's helpers"
)]

mod allocations;
mod browser;
mod compare;
mod hidden;
mod limits;
mod live;
mod page;
mod rig;
mod sample;
mod sources;
mod tune;
