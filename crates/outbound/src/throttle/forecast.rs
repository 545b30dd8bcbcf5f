//! How long those behind the first of a line wait at least, by the limit's own numbers.

use tollgate_core::{Algorithm, Anchor, Limit, Span};

/// How much later than the first, which costs `first`, the last goes of calls behind it that cost
/// `behind` in all, at the earliest: exactly so much in a token bucket that nobody else charges, and
/// in windows where all calls cost 1.
///
/// With several limits nothing is known: the one that refused the first need not be the one that
/// refuses the others.
pub(crate) fn later(limits: &[Limit], first: u128, behind: u128) -> Span {
    let [limit] = limits else { return Span::ZERO };
    let period = u128::from(limit.quota().period().as_micros());
    let micros = match limit.algorithm() {
        Algorithm::TokenBucket | Algorithm::LeakyBucket(_) => {
            behind.saturating_mul(period).checked_div(limit.quota().amount().into())
        }
        // The first opens a window, and each window passes its capacity.
        Algorithm::SlidingLog
        | Algorithm::FixedWindow(Anchor::Spread | Anchor::Clock | Anchor::FirstHit) => first
            .saturating_add(behind)
            .saturating_sub(1)
            .checked_div(limit.capacity().into())
            .map(|windows| windows.saturating_mul(period)),
        _ => None,
    };
    Span::from_micros(u64::try_from(micros.unwrap_or(0)).unwrap_or(u64::MAX))
}
