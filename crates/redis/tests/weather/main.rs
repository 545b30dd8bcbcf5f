//! The store in rough weather: callers that hang up, certificates that end, servers that are none.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests panic, and live in real time beside a real server"
)]

mod hung_up;
mod secured;
#[path = "../store/shop.rs"]
#[expect(dead_code, reason = "other tests ask for more")]
mod shop;
mod starting;
