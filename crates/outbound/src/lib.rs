//! Calls to others: wait instead of refuse, stop calling what is broken, retry without harm.
//!
//! How long something takes is given as core's [`Span`](tollgate_core::Span) or the standard library's
//! `Duration`, and told as a `Span`.

pub mod breaker;
mod client;
mod dice;
mod error;
mod key;
mod retry;
#[allow(unexpected_cfgs, reason = "`--cfg shuttle` is set by scripts/shuttle alone")]
mod sync;
pub mod throttle;
mod told;
mod wall;

pub use client::{
    Again, BoxError, Client, ClientLayer, Copies, Courier, Delivered, Errand, Failure, HeldBody,
    Once, SharedHolds,
};
pub use error::{CallError, Error};
pub use retry::{Backoff, Repeat, Retry, RetryBudget};
pub use throttle::{Call, Full, Permit, Priority, Reservation, Throttle, ThrottleBuilder};
pub use told::{Allowance, Told};
