//! The oracle: laws, exact reference models and traces that every rule and store must pass.
//!
//! A store's author calls three functions: [`suite()`] (decisions equal those of the [`Reference`], step
//! by step), [`cases()`] (faults that real rate limiters had) and [`traces`] (what was found since). A
//! rule is held to the [`laws()`], against the models in [`oracle`], a breaker to the one in [`circuit`]. Every
//! failure names the seed, the case or the line that makes it again.

#![allow(
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "this is a library of tests: a broken law is told by a panic"
)]

mod cases;
pub mod circuit;
mod laws;
pub mod oracle;
mod random;
mod reference;
mod subject;
mod suite;
mod told;
mod trace;

pub use cases::{CASES, case, cases};
pub use laws::{Form, Ledger, Tally, laws, narrate};
pub use random::Random;
pub use reference::Reference;
pub use subject::{Awaited, Subject};
pub use suite::{suite, suite_of};
pub use told::Told;
pub use trace::{trace, traces};
