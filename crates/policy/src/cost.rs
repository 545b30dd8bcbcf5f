//! What a request costs.

use std::fmt;

use crate::request::{Given, Request};
use crate::settlement::whole;

/// What a request costs under a limit.
///
/// ```
/// use tollgate_policy::Cost;
/// let tokens = Cost::from_header("x-tokens", 10, 1, 500).ok_or("1 ≤ 10 ≤ 500")?;
/// assert_eq!((tokens.least(), tokens.most()), (1, 500));
/// assert!(Cost::from_header("x-tokens", 10, 20, 500).is_none());
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The same for every request, at least 1.
    Fixed(u64),
    /// As a header says, if a trusted peer sent it.
    Header(HeaderCost),
}

/// A cost that a trusted peer sets in a header.
///
/// The header of any other peer is not looked at: a client must not choose its own cost. A value
/// that is no whole number, or given twice, counts as the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderCost {
    pub(crate) header: Box<str>,
    pub(crate) default: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Default for Cost {
    /// 1.
    fn default() -> Cost {
        Cost::Fixed(1)
    }
}

impl Cost {
    /// A cost set in `header` by trusted peers: `default` when they do not, kept between `min` (at
    /// least 1) and `max`. `None` when `min ≤ default ≤ max` does not hold.
    #[must_use]
    pub fn from_header(header: &str, default: u64, min: u64, max: u64) -> Option<Cost> {
        let ordered = 1 <= min && min <= default && default <= max;
        let header = header.to_ascii_lowercase().into();
        ordered.then_some(Cost::Header(HeaderCost { header, default, min, max }))
    }

    /// The most a request can cost.
    #[must_use]
    pub fn most(&self) -> u64 {
        match self {
            Cost::Fixed(cost) => *cost,
            Cost::Header(cost) => cost.max,
        }
    }

    /// The least a request can cost.
    #[must_use]
    pub fn least(&self) -> u64 {
        match self {
            Cost::Fixed(cost) => *cost,
            Cost::Header(cost) => cost.min,
        }
    }

    /// What `request` costs.
    pub(crate) fn of<R: Request + ?Sized>(&self, request: &R) -> u64 {
        match self {
            Cost::Fixed(cost) => *cost,
            Cost::Header(cost) if request.is_peer_trusted() => said(&request.header(&cost.header))
                .map_or(cost.default, |said| said.clamp(cost.min, cost.max)),
            Cost::Header(cost) => cost.default,
        }
    }
}

/// The number a header says; one too long to read is the largest.
fn said(given: &Given<'_>) -> Option<u64> {
    match given {
        Given::One(value) => whole(value),
        Given::Nothing | Given::Several => None,
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cost::Fixed(cost) => write!(f, "{cost}"),
            Cost::Header(HeaderCost { header, default, min, max }) => {
                write!(f, "{min} to {max} by header {header}, else {default}")
            }
        }
    }
}
