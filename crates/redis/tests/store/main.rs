//! The store against real servers, by whoever wants to break it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    clippy::disallowed_methods,
    reason = "tests panic, and count, and live in real time beside a real server"
)]

mod across;
mod alone;
mod check;
mod declared;
mod flood;
mod full;
mod hostile;
mod leased;
mod lifetimes;
mod live;
mod lost_replies;
mod permits;
mod poison;
mod races;
mod scripts_lost;
mod shop;
mod steps;
mod together;
