//! The shared store: budgets in Redis or Valkey, single, Sentinel or Cluster.
//!
//! All instances that name the same servers and prefix have one budget for each limit.
//!
//! ```no_run
//! use std::sync::Arc;
//! use tollgate_core::{Limit, Limiter, OnError, Quota, Store};
//! use tollgate_redis::{Address, Redis};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let address: Address = "redis://limits:sesame@cache.internal:6379".parse()?;
//! // Connects in the background and finds the server also when that comes later.
//! let store: Arc<dyn Store> = Arc::new(Redis::builder(address).start());
//!
//! let login = Limit::builder("login", Quota::per_minute(5)).on_error(OnError::Deny).build()?;
//! let limiter = Limiter::over(store, [login]);
//! match limiter.check("ann").await {
//!     Ok(decision) if decision.is_allowed() => println!("welcome"),
//!     Ok(decision) => println!("again in {}", decision.retry_after().unwrap_or_default()),
//!     Err(error) => println!("a 503, not a 429: {error}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What holds:
//!
//! - **One script call** decides all limits of a request whose keys share a server, by the server's own
//!   clock: all are charged or none, and a refusal changes nothing. Over several slots of a Cluster it
//!   is two round trips; for a moment others may be refused too much, never is too much admitted.
//! - **An answer in time**: a decision takes no longer than its deadline (10 ms unless said), whatever
//!   the servers do. Then each limit's [`OnError`](tollgate_core::OnError) decides: by this instance's
//!   share in a [fallback](RedisBuilder::fallback) of your giving (without one it denies), by an error,
//!   or by letting pass. The decision, [`Stats`] and the log show it.
//! - **Nothing twice**: a charge is sent again only where the server's reply proves that it did not
//!   run; one of unknown outcome is neither repeated nor given back.
//! - **What servers forget**: replication is asynchronous, so a failover forgets what had not been
//!   copied yet; a server that comes back without its data begins anew, and is counted
//!   ([`ServerState::lost`]).
//!
//! The same servers count calls that are underway, of all processes: [`Redis`] is also a place of
//! [`Permits`](tollgate_core::Permits), one script call about one key, at most 256 processes.
//!
//! [`Redis::check`] says what servers lack before limits rely on them.

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
mod permits;
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
