//! What became of a request, for whoever counts or logs.

use tollgate_core::{Decision, Limit, StoreError};

use crate::answer::Refusal;

/// What became of a request, for whoever counts or logs. Names in it come from the policy alone.
///
/// [`RateLimitLayer::observe`](crate::RateLimitLayer::observe) shows them counted.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// No limit applied.
    Free,
    /// It was let through; limits that only watch may have refused it.
    Passed(&'a Decision<'a>),
    /// It was refused.
    Refused(&'a Refusal<'a>),
    /// This limit gets its charge back, as the answer is of a kind that it does not count. Told in
    /// addition to [`Outcome::Passed`].
    GivenBack(&'a Limit),
    /// The store could not be asked: for a decision, which lets the request pass, or to give back.
    Unasked(&'a StoreError),
}
