//! Why a quota cannot be counted exactly.

use core::fmt;

use crate::algorithm::{Algorithm, Resolution, SlidingLog};
use crate::clock::Span;
use crate::quota::Quota;

/// The largest integer that whatever Lua computes may reach.
const LUA_EXACT: u64 = 1 << 53;

/// Why a quota cannot be counted exactly by an algorithm.
///
/// It says what to take instead.
///
/// ```
/// use tollgate_core::{Algorithm, Limit, Quota};
/// let exact = Limit::builder("api", Quota::per_hour(50_000)).algorithm(Algorithm::SlidingLog);
/// let error = exact.build().unwrap_err();
/// assert!(error.to_string().ends_with("at most 10000; use a sliding-window"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitError {
    pub(super) quota: Quota,
    pub(super) algorithm: Algorithm,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    NotWhole(Resolution, Option<Resolution>),
    TooLarge(Option<Resolution>),
    BurstBelowTick(u64, Option<Resolution>),
    WindowBurst,
    LongLog,
    Period(Span),
}

impl LimitError {
    /// The tick with which the same quota would be accepted, if there is one.
    #[must_use]
    pub fn fitting_tick(&self) -> Option<Resolution> {
        match self.kind {
            Kind::NotWhole(_, tick) | Kind::TooLarge(tick) | Kind::BurstBelowTick(_, tick) => tick,
            _ => None,
        }
    }
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LimitError { quota, algorithm, kind } = self;
        match kind {
            Kind::NotWhole(tick, _) => {
                write!(f, "the period of `{quota}` is not whole ticks of {tick}")?
            }
            Kind::TooLarge(_) => write!(
                f,
                "`{quota}` as a {algorithm} is too large to count exactly (numbers stay below {LUA_EXACT})"
            )?,
            Kind::BurstBelowTick(least, _) => write!(
                f,
                "the burst of `{quota}` is smaller than what one tick refills; expected at least {least}"
            )?,
            Kind::WindowBurst => write!(
                f,
                "`{quota}` gives a burst, but a {algorithm} has none; leave it out or use a token-bucket"
            )?,
            Kind::LongLog => write!(
                f,
                "`{quota}` as a sliding-log keeps every charge, at most {}; use a sliding-window",
                SlidingLog::MOST
            )?,
            Kind::Period(period) => write!(
                f,
                "`{quota}` would be another count; expected the period of the limit, {period}"
            )?,
        }
        self.fitting_tick().map_or(Ok(()), |tick| write!(f, "; a tick of {tick} would fit"))
    }
}

impl core::error::Error for LimitError {}
