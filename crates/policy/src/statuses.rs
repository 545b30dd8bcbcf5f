//! Sets of HTTP statuses.

use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A set of HTTP statuses, 100 to 599.
///
/// ```
/// use tollgate_policy::Statuses;
/// let set: Statuses = "401, 403, 5xx".parse()?;
/// assert!(set.contains(401) && set.contains(503) && !set.contains(404));
/// # Ok::<(), tollgate_policy::StatusesError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(Vec<RangeInclusive<u16>>);

impl Statuses {
    /// How statuses are written, for messages.
    pub(crate) const EXPECTED: &'static str = "statuses such as `401`, `\"4xx\"` or `\"500-504\"`";

    /// 400 and above: what HTTP calls errors.
    #[must_use]
    pub fn errors() -> Statuses {
        Statuses(vec![400..=599])
    }

    /// Whether a status is in the set.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }

    /// What is in either set.
    pub(crate) fn and(mut self, more: Statuses) -> Statuses {
        self.0.extend(more.0);
        self
    }
}

impl FromStr for Statuses {
    type Err = StatusesError;

    /// Reads statuses, classes (`4xx`) and ranges (`500-504`), with commas between them.
    ///
    /// # Errors
    /// When one is none of these, or outside 100 to 599.
    fn from_str(text: &str) -> Result<Statuses, StatusesError> {
        text.split(',')
            .map(|item| range(item.trim()).ok_or(StatusesError))
            .collect::<Result<_, _>>()
            .map(Statuses)
    }
}

fn range(text: &str) -> Option<RangeInclusive<u16>> {
    if let Some(class) = text.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|class| (1..=5).contains(class))?;
        return Some(class * 100..=class * 100 + 99);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let status = |text: &str| text.trim().parse().ok().filter(|s| (100..=599).contains(s));
    let (first, last) = (status(first)?, status(last)?);
    (first <= last).then_some(first..=last)
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, range) in self.0.iter().enumerate() {
            f.write_str(if nth > 0 { ", " } else { "" })?;
            match (range.start(), range.end()) {
                (first, last) if first == last => write!(f, "{first}")?,
                (first, last) => write!(f, "{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// Why a text is no set of statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusesError;

impl fmt::Display for StatusesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a set of statuses from 100 to 599")
    }
}

impl Error for StatusesError {}
