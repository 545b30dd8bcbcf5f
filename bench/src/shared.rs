//! The shared store: budgets in one real Redis, which has a core for itself.
//!
//! [`drive`] keeps the server busy, [`lanes`] says with what, [`contest`] lets the contenders take
//! turns. [`callers`] asks through the store as users do, [`weight`] weighs keys, [`flood`] asks for
//! what is refused, [`hot`] for what is leased, [`added`] is what a request waits longer. [`targets`] says what is to be reached, [`page`]
//! prints it all.

pub mod added;
pub mod callers;
pub mod contest;
pub mod drive;
pub mod flood;
pub mod hot;
pub mod lanes;
pub mod page;
pub mod targets;
pub mod weight;
