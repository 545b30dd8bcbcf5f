//! When certificates end, told while there is time to renew them.

use std::time::SystemTime;

use tokio::time::{Duration, sleep};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long before its end a certificate is warned of, once a day.
const SOON: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Warns of a certificate that ends within 14 days, now and once a day; never comes back. `whose` says
/// which it is, `ends` when it ends by now.
pub(crate) async fn watched(whose: &str, ends: impl Fn() -> Option<SystemTime> + Send) {
    loop {
        let left = ends().map(|ends| ends.duration_since(now()).unwrap_or_default());
        if let Some(left) = left.filter(|left| *left <= SOON) {
            let days = left.as_secs() / DAY.as_secs();
            tracing::warn!(days, "the certificate of {whose} ends in {days} days: renew it");
        }
        sleep(DAY).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "certificates end by the calendar")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// When a certificate ends (X.509, RFC 5280); nothing if it cannot be read.
///
/// Only as much is read as leads there: `Certificate { tbs { [version], serial, algorithm, issuer,
/// validity { from, to } … } … }`.
#[cfg(feature = "tls")]
pub(crate) fn end_of(certificate: &[u8]) -> Option<SystemTime> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut body, _) = element(certificate)?;
    if let Some((VERSION, _, rest)) = element(body) {
        body = rest;
    }
    for _serial_algorithm_issuer in 0..3 {
        (_, _, body) = element(body)?;
    }
    let (_, validity, _) = element(body)?;
    let (_, _, validity) = element(validity)?;
    let (tag, end, _) = element(validity)?;
    let text = core::str::from_utf8(end).ok()?;
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, rest) = match tag {
        GENERALIZED_TIME => (number(0, 4)?, 4),
        UTC_TIME => {
            (number(0, 2).map(|year| if year < 50 { 2000 + year } else { 1900 + year })?, 2)
        }
        _ => return None,
    };
    let part = |n: usize| number(rest + 2 * n, rest + 2 * n + 2);
    let days = days_before(year, part(0)?)? + part(1)?.checked_sub(1)?;
    let seconds = ((days * 24 + part(2)?) * 60 + part(3)?) * 60 + part(4)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(feature = "tls")]
const VERSION: u8 = 0xa0;
#[cfg(feature = "tls")]
const UTC_TIME: u8 = 0x17;
#[cfg(feature = "tls")]
const GENERALIZED_TIME: u8 = 0x18;

/// The first element of DER: its tag, what it holds, and what follows it.
#[cfg(feature = "tls")]
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, bytes) = bytes.split_first()?;
    let (first, bytes) = bytes.split_first()?;
    let (length, bytes) = match first.checked_sub(0x80) {
        None => (usize::from(*first), bytes),
        Some(count @ 1..=4) => {
            let (length, bytes) = bytes.split_at_checked(usize::from(count))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), bytes)
        }
        Some(_) => return None,
    };
    let (inside, after) = bytes.split_at_checked(length)?;
    Some((*tag, inside, after))
}

/// The days from 1970 to the first of a month of a year up to 9999.
#[cfg(feature = "tls")]
fn days_before(year: u64, month: u64) -> Option<u64> {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let of_month = BEFORE.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    // Whole leap years before this one, or with it once its February is over.
    let last = if month > 2 { year } else { year.checked_sub(1)? };
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    Some(year.checked_sub(1970)? * 365 + leaps(last) - leaps(1969) + of_month)
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (year, month, days) in
            [(1970, 1, 0), (1970, 3, 59), (1972, 3, 790), (2000, 3, 11_017), (2026, 11, 20_758)]
        {
            assert_eq!(days_before(year, month), Some(days), "{year}-{month}");
        }
        assert_eq!(days_before(2026, 13), None);
    }

    #[test]
    fn what_is_no_certificate_has_no_end() {
        for bytes in [&[][..], &[0x30], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], &[0x30, 0x80, 0, 0]]
        {
            assert_eq!(end_of(bytes), None);
        }
    }
}
