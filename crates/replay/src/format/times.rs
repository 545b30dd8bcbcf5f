//! Times as logs write them.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tollgate_core::Tick;

/// Reads times, and knows the last one: most lines of a log are of the second before.
#[derive(Debug, Default)]
pub(super) struct Times {
    text: [u8; LENGTH],
    tick: Tick,
    /// The midnight of that day in its zone, in seconds since the epoch.
    midnight: i64,
}

/// `17/May/2015:10:05:03 +0000`
const LENGTH: usize = 26;
/// Where the time of day stands in it, and where the zone.
const CLOCK: usize = 11;
const ZONE: usize = 20;

impl Times {
    /// Reads `17/May/2015:10:05:03 +0000`; `None` when it is nothing of that form, or a time that there
    /// is not, such as a 30th of February.
    pub(super) fn common(&mut self, text: &[u8; LENGTH]) -> Option<Tick> {
        if *text == self.text {
            return Some(self.tick);
        }
        let (day, clock, zone) = (&text[..CLOCK], &text[CLOCK..ZONE], &text[ZONE..]);
        let [b':', h1, h2, b':', m1, m2, b':', s1, s2] = clock else { return None };
        let (hour, minute) = (two([*h1, *h2])?, two([*m1, *m2])?);
        let second = two([*s1, *s2])?;
        // Second 60 is a leap second, which clocks of the epoch count as the one behind it.
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        if day != &self.text[..CLOCK] || zone != &self.text[ZONE..] {
            // What follows may fail, and the text then stands for no time.
            self.text = [0; LENGTH];
            self.midnight = midnight(day)?.checked_sub(offset(zone)?)?;
        }
        let seconds = self.midnight + hour * 3_600 + minute * 60 + second;
        self.tick = tick(u64::try_from(seconds).ok()?.checked_mul(1_000_000)?)?;
        self.text = *text;
        Some(self.tick)
    }

    /// Reads what stands for a time in JSON: a number of seconds, or of smaller units if it is as large
    /// as one of those; RFC 3339; or the form above.
    pub(super) fn any(&mut self, text: &[u8]) -> Option<Tick> {
        if let Ok(text) = text.try_into()
            && let Some(tick) = self.common(text)
        {
            return Some(tick);
        }
        if let Some(tick) = number(text) {
            return Some(tick);
        }
        let at: Timestamp = std::str::from_utf8(text).ok()?.parse().ok()?;
        tick(u64::try_from(at.as_microsecond()).ok()?)
    }
}

/// `None` beyond the last tick, in the year 2255: all times there would be one.
fn tick(micros: u64) -> Option<Tick> {
    let tick = Tick::from_micros(micros);
    (tick.as_micros() == micros).then_some(tick)
}

/// Digits, and perhaps digits behind a point. Whole numbers beyond 10^11 are milliseconds, since as
/// seconds they would be later than the year 5000; so for microseconds and nanoseconds.
fn number(text: &[u8]) -> Option<Tick> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(part) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let (per_unit, unit_digits) = match whole {
        0..100_000_000_000 => (1_000_000, 6),
        100_000_000_000..100_000_000_000_000 => (1_000, 3),
        100_000_000_000_000..100_000_000_000_000_000 => (1, 0),
        _ => return tick(whole / 1_000),
    };
    let part = format!("{part:0<unit_digits$}");
    let micros: u64 = part.get(..unit_digits)?.parse().unwrap_or(0);
    tick(whole.checked_mul(per_unit)?.checked_add(micros)?)
}

/// The midnight in UTC of `17/May/2015`, in seconds since the epoch.
fn midnight(day: &[u8]) -> Option<i64> {
    let [d1, d2, b'/', m1, m2, m3, b'/', y1, y2, y3, y4] = day else { return None };
    let months = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = months.chunks_exact(3).position(|known| known == [*m1, *m2, *m3])?;
    let year = two([*y1, *y2])? * 100 + two([*y3, *y4])?;
    let day = two([*d1, *d2])?;
    let date = Date::new(
        i16::try_from(year).ok()?,
        i8::try_from(month + 1).ok()?,
        i8::try_from(day).ok()?,
    );
    Some(TimeZone::UTC.to_timestamp(date.ok()?.at(0, 0, 0, 0)).ok()?.as_second())
}

/// ` +0530` in seconds.
fn offset(zone: &[u8]) -> Option<i64> {
    let [b' ', sign, h1, h2, m1, m2] = zone else { return None };
    let (hours, minutes) = (two([*h1, *h2])?, two([*m1, *m2])?);
    let seconds = (hours <= 24 && minutes <= 59).then_some(hours * 3_600 + minutes * 60)?;
    match sign {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

/// Two digits.
fn two([tens, ones]: [u8; 2]) -> Option<i64> {
    let digit = |byte: u8| byte.checked_sub(b'0').filter(|digit| *digit <= 9).map(i64::from);
    Some(digit(tens)? * 10 + digit(ones)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(text: &str) -> Option<u64> {
        let text = text.as_bytes().try_into().ok()?;
        Some(Times::default().common(text)?.as_micros() / 1_000_000)
    }

    #[test]
    fn zones_with_halves_and_leap_days_are_told_exactly() {
        // date -u -d '2024-02-29 12:00:00 +0530' +%s, and so on.
        assert_eq!(common("29/Feb/2024:12:00:00 +0530"), Some(1_709_188_200));
        assert_eq!(common("29/Feb/2024:12:00:00 -0330"), Some(1_709_220_600));
        assert_eq!(common("31/Dec/2016:23:59:60 +0000"), Some(1_483_228_800));
        assert_eq!(common("17/May/2015:10:05:03 +0000"), Some(1_431_857_103));
        assert_eq!(common("01/Jan/1970:00:00:00 +0000"), Some(0));
    }

    #[test]
    fn a_time_that_there_is_not_is_none() {
        for text in [
            "29/Feb/2023:12:00:00 +0000",
            "31/Apr/2024:12:00:00 +0000",
            "10/Foo/2024:12:00:00 +0000",
            "10/May/2024:24:00:00 +0000",
            "10/May/2024:23:60:00 +0000",
            "10/May/2024 23:00:00 +0000",
            "10/May/2024:23:00:00 Z0000",
            "01/Jan/1970:00:00:00 +0100",
            "1-/May/2024:23:00:00 +0000",
        ] {
            assert_eq!(common(text), None, "{text}");
        }
    }

    #[test]
    fn a_time_beyond_the_last_tick_is_none_in_every_form() {
        // date -u -d '2255-06-05 23:47:34' +%s
        assert_eq!(common("05/Jun/2255:23:47:34 +0000"), Some(9_007_199_254));
        assert_eq!(common("05/Jun/2255:23:47:35 +0000"), None);
        assert_eq!(common("10/Oct/2999:13:55:36 +0000"), None);
        let any = |text: &str| Times::default().any(text.as_bytes()).map(Tick::as_micros);
        for text in ["9007199254.740992", "9007199254740.992", "9007199254740992000"] {
            assert_eq!(any(text), Some(1 << 53), "{text}");
        }
        for text in ["2999-10-10T13:55:36Z", "9007199255", "9007199254741", "9007199254740993000"] {
            assert_eq!(any(text), None, "{text}");
        }
    }

    #[test]
    fn a_time_is_the_same_whatever_was_read_before() {
        let texts = [
            "17/May/2015:10:05:03 +0000",
            "17/May/2015:10:05:04 +0000",
            "17/May/2015:10:05:04 +0200",
            "30/Feb/2015:10:05:04 +0200",
            "17/May/2915:10:05:04 +0200",
            "17/May/2015:10:05:04 +0200",
            "18/May/2015:00:00:00 +0200",
            "18/May/2015:00:00:00 -0930",
        ];
        let mut times = Times::default();
        for text in texts.iter().chain(texts.iter().rev()) {
            let told = times.common(text.as_bytes().try_into().unwrap());
            assert_eq!(told.map(|tick| tick.as_micros() / 1_000_000), common(text), "{text}");
        }
    }

    #[test]
    fn json_has_times_of_many_forms() {
        let any = |text: &str| Times::default().any(text.as_bytes()).map(Tick::as_micros);
        for text in [
            "1431857103.5",
            "1431857103500",
            "1431857103500000",
            "1431857103500000000",
            "2015-05-17T10:05:03.5Z",
            "2015-05-17T12:05:03.500+02:00",
        ] {
            assert_eq!(any(text), Some(1_431_857_103_500_000), "{text}");
        }
        assert_eq!(any("17/May/2015:12:05:03 +0200"), Some(1_431_857_103_000_000));
        assert_eq!((any("yesterday"), any(""), any("-5"), any(".5")), (None, None, None, None));
    }
}
