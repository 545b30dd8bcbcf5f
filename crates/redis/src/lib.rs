//! The shared store: budgets in Redis or Valkey, single, Sentinel or Cluster.

#![deny(unsafe_code)]

mod across;
mod address;
mod alone;
mod caller;
mod check;
mod denials;
mod fault;
mod key;
mod leases;
mod link;
mod members;
mod reading;
mod request;
mod script;
mod stats;
mod store;
mod voice;

pub use address::{Address, AddressError};
pub use check::{Finding, Severity};
pub use fault::{Class, Fault, Ran, Remedy, Target};
pub use key::{Prefix, PrefixError};
pub use link::{Event, ServerState};
pub use stats::{LATENCIES, Stats};
pub use store::{Redis, RedisBuilder};
// For the tests and benches of this workspace: the connections without a store over them.
#[doc(hidden)]
pub use link::{Link, Options, Slots, slot};
#[doc(hidden)]
pub use request::sent;
