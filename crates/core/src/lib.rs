//! The rules of rate limiting as pure functions, and the contract of a store.
//!
//! > An algorithm is a pure rule over a few integers. A store is a place that applies a rule
//! > atomically. Everything else only asks.
//!
//! This crate does no I/O, reads no clock, needs no runtime and depends on nothing. Read it in this
//! order: [`Quota`] (how much), [`Limit`] (a quota with a name and an algorithm), [`Key`] (whose),
//! [`algorithm`] (the rules), [`charge`] (several limits, one decision), [`Decision`] (what is
//! told), [`Store`] and [`Limiter`] (who is asked), [`breaker`] (when a store is left alone),
//! [`Permits`] (how many calls of all processes may be underway at once).

#![no_std]

extern crate alloc;

pub mod algorithm;
pub mod breaker;
mod calendar;
pub mod charge;
mod clock;
mod decision;
mod few;
mod key;
mod limit;
mod limiter;
mod permits;
mod quota;
mod store;
mod units;

pub use algorithm::{Algorithm, Anchor, Queue, Resolution};
pub use calendar::{Calendar, CalendarError};
pub use charge::{Charge, Effect, Mode, Receipt};
pub use clock::{Clock, ManualClock, Span, SpanError, Tick};
pub use decision::{Answer, Decision, Source, Verdict};
pub use few::Few;
pub use key::{Key, Net};
pub use limit::{Limit, LimitBuilder, LimitError};
pub use limiter::{Limiter, Receipts};
pub use permits::{Held, Hold, Holders, Permits};
pub use quota::{Quota, QuotaError};
pub use store::{LocalStore, OnError, Reply, Store, StoreError};
