//! A share of requests, as people write it.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// A share of requests, from 0 % to less than 100 %, in steps of 0.0001 %.
///
/// ```
/// use tollgate_replay::Share;
/// let share: Share = "0.1%".parse()?;
/// assert_eq!((share.of(1_999), share.to_string().as_str()), (1, "0.1 %"));
/// assert!("100%".parse::<Share>().is_err());
/// # Ok::<(), tollgate_replay::ShareError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    millionths: u32,
}

impl Share {
    /// One in a thousand.
    pub const DEFAULT: Share = Share { millionths: 1_000 };

    const WHOLE: u32 = 1_000_000;

    /// How many of so many that is, rounded down.
    #[must_use]
    pub fn of(self, many: u64) -> u64 {
        let part = u128::from(many) * u128::from(self.millionths) / u128::from(Share::WHOLE);
        u64::try_from(part).unwrap_or(many)
    }

    /// In per cent, for machines.
    #[must_use]
    pub fn percent(self) -> f64 {
        f64::from(self.millionths) / 10_000.0
    }
}

impl FromStr for Share {
    type Err = ShareError;

    /// Reads a number of per cent, such as `0.1%`, with four decimals at most.
    ///
    /// # Errors
    /// When it is none, or 100 % or more.
    fn from_str(text: &str) -> Result<Share, ShareError> {
        let number = text.strip_suffix('%').ok_or(ShareError::Form)?.trim();
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let fits = !number.is_empty() && number != "." && whole.len() <= 9 && decimals.len() <= 4;
        if !fits || !digits(whole) || !digits(decimals) {
            return Err(ShareError::Form);
        }
        let read = |text: &str| text.parse::<u64>().unwrap_or(0);
        let millionths = read(whole) * 10_000 + read(&format!("{decimals:0<4}"));
        match u32::try_from(millionths) {
            Ok(millionths) if millionths < Share::WHOLE => Ok(Share { millionths }),
            _ => Err(ShareError::Everything),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.millionths / 10_000, self.millionths % 10_000);
        let decimals = format!(".{decimals:04}");
        write!(f, "{whole}{} %", decimals.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Why something is no share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShareError {
    /// It is no number of per cent.
    Form,
    /// It is 100 % or more.
    Everything,
}

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShareError::Form => {
                f.write_str("expected a share in per cent with at most four decimals, such as `0.1%`")
            }
            ShareError::Everything => f.write_str(
                "expected a share of less than 100 %; where all may be refused, `rate = \"0/hour\"` will do",
            ),
        }
    }
}

impl Error for ShareError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_people_write_them() {
        for (text, shown, of_a_million) in [
            ("0%", "0 %", 0),
            ("0.1%", "0.1 %", 1_000),
            (".5 %", "0.5 %", 5_000),
            ("1.%", "1 %", 10_000),
            ("99.9999%", "99.9999 %", 999_999),
        ] {
            let share: Share = text.parse().unwrap();
            assert_eq!((share.to_string().as_str(), share.of(1_000_000)), (shown, of_a_million));
        }
        for text in ["", "%", ".%", "0.1", "-1%", "1e-3%", "0.00001%", "ten%"] {
            assert_eq!(text.parse::<Share>(), Err(ShareError::Form), "{text}");
        }
        for text in ["100%", "250%", "999999999%"] {
            assert_eq!(text.parse::<Share>(), Err(ShareError::Everything), "{text}");
        }
    }
}
