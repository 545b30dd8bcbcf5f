//! Waiting instead of refusing, by a clock that stands still between events.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test ends by a panic"
)]

mod cases;
mod shop;
