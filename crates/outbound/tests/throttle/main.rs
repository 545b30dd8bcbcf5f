//! Waiting instead of refusing, by a clock that stands still between events.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    reason = "a test ends by a panic"
)]

mod cancelled;
mod cases;
mod given;
mod hostile;
mod laws;
mod order;
mod sharing;
mod shop;
