//! What a limit admits at most.

#[cfg(test)]
mod tests;

use tollgate_core::{Algorithm, Anchor, Limit};

use crate::limit_spec::{Count, LimitSpec};

/// What a limit admits of one key at most, however the requests are timed.
///
/// From the bounds that the algorithms state: these are the numbers to plan by, not the rate.
///
/// ```
/// use tollgate_core::Limit;
/// use tollgate_policy::{LimitSpec, Worst};
/// let limit = Limit::new("api", "10/s burst 20".parse()?)?;
/// let worst = Worst::of(&LimitSpec::new(limit.clone()), &limit);
/// assert_eq!((worst.per_period, worst.at_once), (30, 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Within any span as long as the period.
    pub per_period: u64,
    /// Within one instant, or two adjacent ones for a window's edge.
    pub at_once: u64,
}

impl Worst {
    /// The worst case of one window of `spec`.
    #[must_use]
    pub fn of(spec: &LimitSpec, limit: &Limit) -> Worst {
        let amount = limit.quota().amount();
        if amount == 0 {
            return Worst { per_period: 0, at_once: 0 };
        }
        let twice = amount.saturating_mul(2);
        let (per_period, at_once) = match limit.algorithm() {
            Algorithm::SlidingLog => (amount, amount),
            Algorithm::SlidingWindow => (twice.saturating_sub(1), amount),
            // One of the first window's charges began it; if that one is given back, nothing did.
            Algorithm::FixedWindow(Anchor::FirstHit) if spec.counted() == Count::All => {
                (twice.saturating_sub(1), twice.saturating_sub(1))
            }
            // A short window lies within the period between two others.
            Algorithm::FixedWindow(Anchor::Calendar(calendar))
                if calendar.shortest() < limit.quota().period() =>
            {
                (amount.saturating_mul(3), twice)
            }
            Algorithm::FixedWindow(_) => (twice, twice),
            _ => (limit.capacity().saturating_add(amount), limit.capacity()),
        };
        Worst { per_period, at_once }
    }
}
