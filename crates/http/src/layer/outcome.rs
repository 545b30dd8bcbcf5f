//! What became of a request, for whoever counts or logs.

use tollgate_core::{Decision, Limit, StoreError};

use super::Untold;
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
    /// This limit gets its charge back, as the answer is of a kind that it does not count, a layer inside
    /// has refused the request, or its client left while it waited. Told in addition to
    /// [`Outcome::Passed`].
    GivenBack(&'a Limit),
    /// A charge of this limit should be given back or settled, but the store could not be asked, so that
    /// it stays. Told in addition to [`Outcome::Passed`].
    Kept(&'a Limit, &'a StoreError),
    /// It passes, but waits in a queue for its turn. Told in addition to [`Outcome::Passed`]; once it is
    /// over, [`Outcome::Released`] or [`Outcome::Left`] is told, so that these three make a gauge.
    Held,
    /// A request that waited has its turn, and the service gets it.
    Released,
    /// The client of a request that waited has left. The service never gets it, and its charges are
    /// given back as far as that breaks no limit: that of a queue only if nobody came behind it.
    Left,
    /// The answer told what its request cost, and the charge of this limit was settled to that. Told in
    /// addition to [`Outcome::Passed`].
    Settled {
        /// The limit.
        limit: &'a Limit,
        /// What was charged when the request came.
        estimate: u64,
        /// What is charged now.
        cost: u64,
    },
    /// The answer did not tell this limit what its request cost: the estimate stays. Told in addition to
    /// [`Outcome::Passed`].
    Estimated(&'a Limit, Untold),
}
