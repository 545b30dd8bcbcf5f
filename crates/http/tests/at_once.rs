//! What the layer promises over a store in this process, which it asks without waiting.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test panics")]

mod promises;
mod rig;

/// Which way of the layer the promises are put to.
const STORE: rig::Answers = rig::Answers::AtOnce;
