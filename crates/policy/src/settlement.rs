//! What a request turns out to have cost once its answer is known.

use std::fmt;
use std::num::NonZeroU64;

/// What a request turns out to have cost, told only by its answer: it is charged an estimate when it
/// comes and settled afterwards.
///
/// ```
/// use std::num::NonZeroU64;
/// use tollgate_policy::{Measure, Settlement};
/// let tokens = Settlement::new(Measure::Header("x-tokens-used".into()), 500, 100_000)
///     .ok_or("1 ≤ 500 ≤ 100,000")?;
/// assert_eq!(tokens.told(b"1234"), 1_234);
/// assert_eq!(tokens.told(b"9999999"), 100_000);
/// assert_eq!(tokens.told(b"many"), 500);
/// let unit = NonZeroU64::new(1_024).ok_or("not 0")?;
/// let size = Settlement::new(Measure::Bytes(unit), 1, 1_000).ok_or("1 ≤ 1 ≤ 1,000")?;
/// assert_eq!(size.of_bytes(2_049), 3);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    measure: Measure,
    estimate: u64,
    most: u64,
}

/// Where an answer tells what its request cost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Measure {
    /// A header of the answer, its name in small letters.
    Header(Box<str>),
    /// A number in the JSON of the answer's body, under these keys from the outside in.
    Json(Vec<Box<str>>),
    /// The bytes of the answer's body, in units of so many; a unit begun is a whole one.
    Bytes(NonZeroU64),
}

impl Settlement {
    /// The most a settled cost can be: what a rule counts exactly.
    pub const MOST: u64 = 1 << 53;

    /// A settlement by `measure`: `estimate` is charged first, `most` at last. `None` when
    /// `1 ≤ estimate ≤ most ≤` [`Settlement::MOST`] does not hold.
    #[must_use]
    pub fn new(measure: Measure, estimate: u64, most: u64) -> Option<Settlement> {
        let ordered = 1 <= estimate && estimate <= most && most <= Settlement::MOST;
        ordered.then_some(Settlement { measure, estimate, most })
    }

    /// Where the answer tells it.
    #[must_use]
    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    /// What is charged when the request comes, and stays charged when its answer does not tell.
    #[must_use]
    pub fn estimate(&self) -> u64 {
        self.estimate
    }

    /// What is charged at most, whatever the answer says.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The cost that an answer tells in digits: at most [`Settlement::most`], 0 included; the
    /// estimate when it is no whole number.
    #[must_use]
    pub fn told(&self, digits: &[u8]) -> u64 {
        whole(digits).map_or(self.estimate, |told| told.min(self.most))
    }

    /// The cost of an answer of so many bytes: 0 for none at all.
    #[must_use]
    pub fn of_bytes(&self, bytes: u64) -> u64 {
        let unit = match self.measure {
            Measure::Bytes(unit) => unit,
            Measure::Header(_) | Measure::Json(_) => NonZeroU64::MIN,
        };
        bytes.div_ceil(unit.get()).min(self.most)
    }
}

/// The number that digits write; one too long to read is the largest.
pub(crate) fn whole(value: &[u8]) -> Option<u64> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = digits.then(|| std::str::from_utf8(value).ok()).flatten()?;
    Some(text.parse().unwrap_or(u64::MAX))
}

impl fmt::Display for Settlement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at first, then ", self.estimate)?;
        match &self.measure {
            Measure::Header(name) => write!(f, "as the answer's header {name} says"),
            Measure::Json(keys) => write!(f, "as `{}` of the answer's JSON says", keys.join(".")),
            Measure::Bytes(unit) => write!(f, "1 for each {unit} bytes of the answer"),
        }
    }
}
