//! The connections against real servers that fail in every way they can be made to.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests panic")]

mod asking;
mod cluster;
mod desync;
mod replies;
mod sentinel;
mod single;
mod tls;
