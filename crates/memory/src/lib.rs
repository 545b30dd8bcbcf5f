//! The in-process store: bounded, and it forgets what is idle.
//!
//! [`Memory`] keeps the state of every (limit, key) in one table of fixed-size entries, some 40
//! bytes per key whatever the key is. Decisions are made without locks that anyone waits for long:
//! one compare-and-swap charges, a refusal writes nothing. There is no background thread; calls
//! sweep what has recovered, each a bounded little.
//!
//! [`Single`] is one limit without a key, at half the cost. [`LocalPermits`] counts calls that are underway.
//!
//! ```
//! use std::sync::Arc;
//! use tollgate_core::{Limit, Limiter};
//! use tollgate_memory::Memory;
//!
//! let limit = Limit::new("per-client", "2/minute".parse()?)?;
//! let limiter = Limiter::over(Arc::new(Memory::new()), [limit]);
//! assert!(limiter.check("alice").is_allowed());
//! assert_eq!(limiter.check("alice").remaining(), 0);
//! assert!(limiter.check("alice").is_denied());
//! assert!(limiter.check("bob").is_allowed());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

mod blocks;
mod bucket;
mod builder;
mod clock;
mod decide;
mod fingerprint;
mod known;
mod logs;
mod memory;
mod pace;
mod permits;
mod several;
mod shapes;
mod single;
mod sweep;
#[allow(unexpected_cfgs, reason = "`--cfg shuttle` is set by scripts/shuttle alone")]
mod sync;
mod table;
mod tally;
mod unlisted;

pub use builder::{BuildError, MemoryBuilder};
pub use clock::SystemClock;
pub use memory::Memory;
pub use permits::LocalPermits;
pub use single::Single;
pub use tally::Stats;
