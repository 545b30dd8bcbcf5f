//! What can stand in front of calls.

use super::adaptive::AdaptiveThrottle;
use super::circuits::Breakers;
use super::pass::Pass;
use crate::error::Error;

/// What keeps calls from a place that is not well.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Protection {
    /// All of them, but for probes.
    Breakers(Breakers),
    /// A share of them.
    Adaptive(AdaptiveThrottle),
}

impl Protection {
    /// Begins a call, unless it is kept back.
    ///
    /// # Errors
    /// One that [is open](Error::is_open) or [shed](Error::is_shed).
    pub fn enter(&self, key: &str) -> Result<Pass, Error> {
        match self {
            Protection::Breakers(breakers) => breakers.enter(key),
            Protection::Adaptive(throttle) => throttle.enter(key),
        }
    }
}

impl From<Breakers> for Protection {
    fn from(breakers: Breakers) -> Protection {
        Protection::Breakers(breakers)
    }
}

impl From<AdaptiveThrottle> for Protection {
    fn from(throttle: AdaptiveThrottle) -> Protection {
        Protection::Adaptive(throttle)
    }
}
