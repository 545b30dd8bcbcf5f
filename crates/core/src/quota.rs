//! How much is allowed: R per P, with a burst of B.

use core::fmt;
use core::str::FromStr;

use crate::clock::{Span, SpanError};
use crate::units;

/// The largest amount or burst: 2^53, the last integer a Lua number holds exactly.
const MOST: u64 = 1 << 53;

/// An amount per period, and how much of it may come at once.
///
/// People write it `"100/minute"`, `"5 per 15 minutes"`, `"10/s burst 20"`, `"0/hour"`. Without
/// `burst` the capacity is the amount (1 for a queue). Whether an algorithm can count it exactly is
/// decided when a [`Limit`](crate::Limit) is built.
///
/// ```
/// use tollgate_core::{Quota, Span};
/// let quota: Quota = "10/s burst 20".parse()?;
/// assert_eq!((quota.amount(), quota.period(), quota.burst()), (10, Span::SECOND, Some(20)));
/// assert_eq!(quota.to_string(), "10/s burst 20");
/// # Ok::<(), tollgate_core::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quota {
    amount: u64,
    period: Span,
    burst: Option<u64>,
}

impl Quota {
    /// `amount` per `period`; an amount of 0 allows nothing, ever.
    ///
    /// # Errors
    /// When the period is zero or longer than 285 years, or the amount is above 2^53.
    pub const fn new(amount: u64, period: Span) -> Result<Quota, QuotaError> {
        if period.is_zero() {
            return Err(QuotaError::Period(SpanError::Zero));
        }
        if period.as_micros() > Span::LONGEST.as_micros() {
            return Err(QuotaError::Period(SpanError::TooLong));
        }
        if amount > MOST {
            return Err(QuotaError::TooMuch);
        }
        Ok(Quota { amount, period, burst: None })
    }

    /// `amount` per second.
    #[must_use]
    pub const fn per_second(amount: u32) -> Quota {
        Quota::per(amount, Span::SECOND)
    }

    /// `amount` per minute.
    #[must_use]
    pub const fn per_minute(amount: u32) -> Quota {
        Quota::per(amount, Span::MINUTE)
    }

    /// `amount` per hour.
    #[must_use]
    pub const fn per_hour(amount: u32) -> Quota {
        Quota::per(amount, Span::HOUR)
    }

    /// `amount` per 24 hours.
    #[must_use]
    pub const fn per_day(amount: u32) -> Quota {
        Quota::per(amount, Span::DAY)
    }

    /// The same quota with `burst` at once.
    ///
    /// # Errors
    /// When the burst is 0 or above 2^53, or the amount is 0 (nothing has no burst).
    pub const fn with_burst(self, burst: u64) -> Result<Quota, QuotaError> {
        if burst == 0 || self.amount == 0 {
            return Err(QuotaError::Burst);
        }
        if burst > MOST {
            return Err(QuotaError::TooMuch);
        }
        Ok(Quota { burst: Some(burst), ..self })
    }

    /// How many per period, 0 to 2^53.
    #[must_use]
    pub const fn amount(&self) -> u64 {
        self.amount
    }

    /// The period, 1 µs to 285 years.
    #[must_use]
    pub const fn period(&self) -> Span {
        self.period
    }

    /// How many at once, when that was said.
    #[must_use]
    pub const fn burst(&self) -> Option<u64> {
        self.burst
    }

    // A u32 amount and these periods are inside every range, so nothing is left to refuse.
    const fn per(amount: u32, period: Span) -> Quota {
        #[expect(clippy::as_conversions, reason = "u32 to u64 widens; From is not const")]
        Quota { amount: amount as u64, period, burst: None }
    }
}

impl FromStr for Quota {
    type Err = QuotaError;

    /// Reads `AMOUNT / PERIOD [burst N]`, with `per` for `/` where wanted, in capitals or not; a comma
    /// may stand before `burst`.
    ///
    /// # Errors
    /// Which part is missing or out of range.
    fn from_str(text: &str) -> Result<Quota, QuotaError> {
        let text = text.to_ascii_lowercase();
        let (rate, burst) = split_word(&text, "burst");
        let rate = match burst {
            Some(_) => rate.trim_end().trim_end_matches(','),
            None => rate,
        };
        let (amount, period) = match rate.split_once('/') {
            Some((amount, period)) => (amount, Some(period)),
            None => split_word(rate, "per"),
        };
        let amount = units::read_number(amount.trim()).ok_or(if amount.trim().is_empty() {
            QuotaError::NoAmount
        } else {
            QuotaError::Amount
        })?;
        let period = period.ok_or(QuotaError::NoPeriod)?;
        let period = units::read_period(period).map_err(QuotaError::Period)?;
        let quota = Quota::new(amount, Span::from_micros(period))?;
        match burst {
            None => Ok(quota),
            Some(burst) => {
                quota.with_burst(units::read_number(burst.trim()).ok_or(QuotaError::Burst)?)
            }
        }
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let period = units::ShortPeriod(self.period.as_micros());
        write!(f, "{}/{period}", self.amount)?;
        self.burst.map_or(Ok(()), |burst| write!(f, " burst {burst}"))
    }
}

/// Why something is not a quota.
///
/// ```
/// use tollgate_core::{Quota, QuotaError};
/// assert_eq!("100".parse::<Quota>(), Err(QuotaError::NoPeriod));
/// assert_eq!("10/s burst 0".parse::<Quota>(), Err(QuotaError::Burst));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuotaError {
    /// Nothing stands before the `/`.
    NoAmount,
    /// The amount is not a whole number, or too long to read.
    Amount,
    /// The amount stands alone, as in `100`.
    NoPeriod,
    /// The period is none, too short or too long.
    Period(SpanError),
    /// The burst is not a whole number above 0, or belongs to an amount of 0.
    Burst,
    /// An amount or burst above 2^53.
    TooMuch,
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuotaError::NoAmount => {
                f.write_str("expected an amount before the period, as in `100/minute`")
            }
            QuotaError::Amount => {
                f.write_str("expected a whole number as the amount, as in `100/minute`")
            }
            QuotaError::NoPeriod => f.write_str(
                "expected a period after the amount, as in `100/minute` or `5 per 15 minutes`",
            ),
            QuotaError::Period(error) => write!(f, "in the period: {error}"),
            QuotaError::Burst => {
                f.write_str("expected a whole number above 0 as the burst, as in `10/s burst 20`")
            }
            QuotaError::TooMuch => f.write_str("expected an amount and a burst of at most 2^53"),
        }
    }
}

impl core::error::Error for QuotaError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            QuotaError::Period(error) => Some(error),
            _ => None,
        }
    }
}

/// Splits at `word` where it stands between other words.
fn split_word<'t>(text: &'t str, word: &str) -> (&'t str, Option<&'t str>) {
    for (at, _) in text.match_indices(word) {
        let (before, rest) = text.split_at(at);
        let after = rest.strip_prefix(word).unwrap_or(rest);
        let stands_alone = before.ends_with(|c: char| !c.is_alphabetic())
            && !after.starts_with(char::is_alphabetic);
        if stands_alone {
            return (before, Some(after));
        }
    }
    (text, None)
}
