//! The store against real servers, by whoever wants to break it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    clippy::disallowed_methods,
    reason = "tests panic, and count, and live in real time beside a real server"
)]

mod check;
mod lifetimes;
mod poison;
mod shop;
