//! What a request costs.

use std::fmt;
use std::num::NonZeroU64;

use crate::condition::Asked;
use crate::request::{Given, Request};
use crate::settlement::whole;
use crate::when::When;

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
#[non_exhaustive]
pub enum Cost {
    /// The same for every request, at least 1.
    Fixed(u64),
    /// As a header says, if a trusted peer sent it.
    Header(HeaderCost),
    /// By the size of the request's body.
    Bytes(ByteCost),
    /// That of the first condition that holds, else 1.
    Cases(Vec<(When, Cost)>),
}

/// A cost by the size of a request's body, as declared before it comes.
///
/// It is one for each unit that is begun, and at least 1. A request that does not say how long it is
/// costs the default, so that saying nothing is no way around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteCost {
    pub(crate) unit: NonZeroU64,
    pub(crate) default: u64,
    pub(crate) max: Option<u64>,
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

    /// A cost of 1 for each `unit` of bytes that is begun, kept at most `max`: `default` when the
    /// request does not say how long it is. `None` when `1 ≤ default ≤ max` does not hold.
    ///
    /// ```
    /// use std::num::NonZeroU64;
    /// use tollgate_policy::Cost;
    /// let unit = NonZeroU64::new(1_024).ok_or("not 0")?;
    /// let upload = Cost::from_bytes(unit, 64, Some(1_000)).ok_or("1 ≤ 64 ≤ 1,000")?;
    /// assert_eq!(upload.to_string(), "1 for each 1024 bytes, up to 1000, else 64");
    /// # Ok::<(), &str>(())
    /// ```
    #[must_use]
    pub fn from_bytes(unit: NonZeroU64, default: u64, max: Option<u64>) -> Option<Cost> {
        let ordered = 1 <= default && max.is_none_or(|max| default <= max);
        ordered.then_some(Cost::Bytes(ByteCost { unit, default, max }))
    }

    /// The most a request can cost, as far as the limit says; a size without `max` has no bound.
    #[must_use]
    pub fn most(&self) -> u64 {
        match self {
            Cost::Fixed(cost) => *cost,
            Cost::Header(cost) => cost.max,
            Cost::Bytes(cost) => cost.max.unwrap_or(cost.default),
            Cost::Cases(cases) => cases.iter().map(|(_, cost)| cost.most()).max().unwrap_or(1),
        }
    }

    /// The least a request can cost.
    #[must_use]
    pub fn least(&self) -> u64 {
        match self {
            Cost::Fixed(cost) => *cost,
            Cost::Header(cost) => cost.min,
            Cost::Bytes(_) => 1,
            Cost::Cases(cases) => {
                let is_rest = |(when, _): &(When, Cost)| *when == When::default();
                let otherwise = if cases.iter().any(is_rest) { u64::MAX } else { 1 };
                cases.iter().map(|(_, cost)| cost.least()).fold(otherwise, u64::min)
            }
        }
    }

    /// What `request`, which conditions ask as `asked`, costs.
    pub(crate) fn of<R: Request + ?Sized>(&self, request: &R, asked: &impl Asked) -> u64 {
        match self {
            Cost::Fixed(cost) => *cost,
            Cost::Header(cost) if request.is_peer_trusted() => said(&request.header(&cost.header))
                .map_or(cost.default, |said| said.clamp(cost.min, cost.max)),
            Cost::Header(cost) => cost.default,
            Cost::Bytes(cost) => {
                let units = request.length().map(|bytes| bytes.div_ceil(cost.unit.get()).max(1));
                units.unwrap_or(cost.default).min(cost.max.unwrap_or(u64::MAX))
            }
            Cost::Cases(cases) => (cases.iter().find(|(when, _)| when.is_met(asked, true)))
                .map_or(1, |(_, cost)| cost.of(request, asked)),
        }
    }

    /// The conditions of its cases.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = &When> {
        let cases = match self {
            Cost::Cases(cases) => cases.as_slice(),
            Cost::Fixed(_) | Cost::Header(_) | Cost::Bytes(_) => &[],
        };
        cases.iter().map(|(when, _)| when)
    }

    /// The headers that set it.
    pub(crate) fn headers(&self) -> Vec<&str> {
        match self {
            Cost::Header(cost) => vec![&*cost.header],
            Cost::Cases(cases) => cases.iter().flat_map(|(_, cost)| cost.headers()).collect(),
            Cost::Fixed(_) | Cost::Bytes(_) => Vec::new(),
        }
    }

    /// Whether some request would cost nothing.
    pub(crate) fn has_nothing(&self) -> bool {
        match self {
            Cost::Fixed(cost) => *cost == 0,
            Cost::Header(_) | Cost::Bytes(_) => false,
            Cost::Cases(cases) => cases.iter().any(|(_, cost)| cost.has_nothing()),
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
            Cost::Bytes(ByteCost { unit, default, max }) => {
                write!(f, "1 for each {unit} bytes, ")?;
                match max {
                    Some(max) => write!(f, "up to {max}, else {default}"),
                    None => write!(f, "else {default}"),
                }
            }
            Cost::Cases(cases) => {
                for (when, cost) in cases {
                    write!(f, "{cost} for {when}; ")?;
                }
                f.write_str("else 1")
            }
        }
    }
}
