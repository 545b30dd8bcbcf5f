//! Numbers as servers write them: `59`, `598.0` (Reddit), `1796068860.123` (Discord).

use std::num::NonZeroU32;

/// A number of millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Millionths(u64);

impl Millionths {
    /// Reads digits with or without a fraction; what is below a millionth is cut off. `None` for a sign,
    /// an exponent, anything else, and what does not fit.
    pub(super) fn read(text: &str) -> Option<Millionths> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) => (digits(whole)?, millionths(fraction)?),
            None => (digits(text)?, 0),
        };
        Some(Millionths(whole.checked_mul(1_000_000)?.checked_add(fraction)?))
    }

    /// The whole part.
    pub(super) fn floor(self) -> u64 {
        self.0 / 1_000_000
    }

    /// As microseconds, if the number is of seconds over `per_second`.
    pub(super) fn as_micros(self, per_second: NonZeroU32) -> u64 {
        self.0.div_ceil(per_second.get().into())
    }
}

/// At least one digit and nothing else.
pub(super) fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn millionths(fraction: &str) -> Option<u64> {
    digits(fraction.get(..fraction.len().min(18))?)?;
    let six = fraction.bytes().chain([b'0'; 6]).take(6);
    six.map(|byte| byte.checked_sub(b'0').map(u64::from))
        .try_fold(0, |sum, digit| Some(sum * 10 + digit?))
}
