//! How people write lengths of time.

use core::fmt;

/// Microseconds per unit, the name that is written first.
const UNITS: [(u64, &[&str]); 7] = [
    (604_800_000_000, &["w", "week", "weeks"]),
    (86_400_000_000, &["d", "day", "days"]),
    (3_600_000_000, &["h", "hour", "hours", "hr", "hrs"]),
    (60_000_000, &["m", "minute", "minutes", "min", "mins"]),
    (1_000_000, &["s", "second", "seconds", "sec", "secs"]),
    (1_000, &["ms", "millisecond", "milliseconds"]),
    // U+00B5, which keyboards type, and U+03BC, to which Unicode normalisation turns it.
    (1, &["us", "microsecond", "microseconds", "\u{b5}s", "\u{3bc}s"]),
];

const CALENDAR: [&str; 5] = ["month", "months", "year", "years", "y"];

/// Why a text is not a length of time.
///
/// ```
/// use tollgate_core::{Span, SpanError};
/// assert_eq!("10".parse::<Span>(), Err(SpanError::NoUnit));
/// assert_eq!("2h m".parse::<Span>(), Err(SpanError::NoNumber));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpanError {
    /// Nothing was written.
    Empty,
    /// A number stands without a unit, as in `10`.
    NoUnit,
    /// A unit stands without a number where one is needed, as in `2h m`.
    NoNumber,
    /// The unit is none of `us`, `ms`, `s`, `m`, `h`, `d`, `w` or their long names.
    UnknownUnit,
    /// Months and years differ in length; say how many days.
    Calendar,
    /// Longer than 285 years (2^53 µs), or a number too long to read.
    TooLong,
    /// A period of no time at all.
    Zero,
}

impl fmt::Display for SpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpanError::Empty => "expected a length of time such as `15 minutes` or `2h30m`",
            SpanError::NoUnit => {
                "expected a unit after the number: `us`, `ms`, `s`, `m`, `h`, `d` or `w`"
            }
            SpanError::NoNumber => "expected a number before the unit, as in `2h30m`",
            SpanError::UnknownUnit => {
                "expected one of the units `us`, `ms`, `s`, `m`, `h`, `d`, `w` or their long names"
            }
            SpanError::Calendar => "months and years differ in length; expected a number of days",
            SpanError::TooLong => "expected at most 285 years (2^53 microseconds)",
            SpanError::Zero => "expected more than no time at all",
        })
    }
}

impl core::error::Error for SpanError {}

/// Reads a span in microseconds: one or more numbers, each with its unit.
pub(crate) fn read_span(text: &str) -> Result<u64, SpanError> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(SpanError::Empty);
    }
    let mut micros = 0u64;
    while !rest.is_empty() {
        let (number, after) = split_at_end_of(rest, |c| c.is_ascii_digit() || c == '_');
        let (unit, after) = split_at_end_of(after.trim_start(), char::is_alphabetic);
        let has_digit = number.contains(|c: char| c.is_ascii_digit());
        let per_unit = unit_micros(unit, !has_digit)?;
        micros = read_number(number)
            .and_then(|n| n.checked_mul(per_unit))
            .and_then(|m| m.checked_add(micros))
            .filter(|m| *m <= 1 << 53)
            .ok_or(SpanError::TooLong)?;
        rest = after.trim_start();
    }
    if micros == 0 { Err(SpanError::Zero) } else { Ok(micros) }
}

/// Reads a period: a span, or a bare unit (`minute` is one minute).
pub(crate) fn read_period(text: &str) -> Result<u64, SpanError> {
    let text = text.trim();
    if text.is_empty() || !text.chars().all(char::is_alphabetic) {
        return read_span(text);
    }
    unit_micros(text, false)
}

/// Reads digits with optional `_` between them; `None` when there are none or too many.
pub(crate) fn read_number(digits: &str) -> Option<u64> {
    let mut number = None;
    for c in digits.chars().filter(|c| *c != '_') {
        let digit = u64::from(c.to_digit(10)?);
        number = Some(number.unwrap_or(0u64).checked_mul(10)?.checked_add(digit)?);
    }
    number
}

/// Writes `micros` with the fewest whole units that lose nothing.
pub(crate) fn write_span(micros: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if micros == 0 {
        return f.write_str("0s");
    }
    let mut rest = micros;
    for (per_unit, names) in UNITS {
        let count = rest / per_unit;
        if let (true, Some(name)) = (count > 0, names.first()) {
            write!(f, "{count}{name}")?;
            rest %= per_unit;
        }
    }
    Ok(())
}

fn unit_micros(unit: &str, number_missing: bool) -> Result<u64, SpanError> {
    if unit.is_empty() {
        return Err(if number_missing { SpanError::UnknownUnit } else { SpanError::NoUnit });
    }
    if CALENDAR.iter().any(|name| name.eq_ignore_ascii_case(unit)) {
        return Err(SpanError::Calendar);
    }
    let known = UNITS.iter().find(|(_, names)| names.iter().any(|n| n.eq_ignore_ascii_case(unit)));
    match known {
        None => Err(SpanError::UnknownUnit),
        Some(_) if number_missing => Err(SpanError::NoNumber),
        Some((micros, _)) => Ok(*micros),
    }
}

fn split_at_end_of(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.split_at(end)
}

/// A period as it stands after a `/`: one unit without its number, anything else in full.
pub(crate) struct ShortPeriod(pub(crate) u64);

impl fmt::Display for ShortPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(per_unit, _)| *per_unit == self.0) {
            Some((_, [name, ..])) => f.write_str(name),
            _ => write_span(self.0, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_letters_that_look_like_mu_are_micro() {
        for text in ["5us", "5\u{b5}s", "5\u{3bc}s"] {
            assert_eq!(read_span(text), Ok(5), "{text}");
        }
    }

    #[test]
    fn no_other_digits_or_marks_pass_for_plain_ones() {
        let foreign =
            ["\u{ff11}s", "\u{661}s", "1\u{ff53}", "1\u{17f}", "\u{200f}1s", "1s\u{200e}"];
        for text in foreign {
            assert!(read_span(text).is_err(), "{text:?}");
        }
    }
}
