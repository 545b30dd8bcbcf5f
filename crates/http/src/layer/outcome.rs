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
    /// It was let through; limits that only watch may have refused it. For some limits the store may
    /// not have been asked ([`Decision::is_degraded`]).
    Passed(&'a Decision<'a>),
    /// It was refused.
    Refused(&'a Refusal<'a>),
    /// This limit gets its charge back, as the answer is of a kind that it does not count. Told in
    /// addition to [`Outcome::Passed`].
    GivenBack(&'a Limit),
    /// This limit should get its charge back, but the store could not be asked, so that it stays. Told
    /// in addition to [`Outcome::Passed`].
    Kept(&'a Limit, &'a StoreError),
}
