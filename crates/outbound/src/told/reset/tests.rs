use proptest::prelude::*;

use super::*;

/// 2026-11-30 20:00:00 UTC.
const SECONDS_NOW: u64 = 1_796_068_800;
const NOW: Tick = Tick::from_micros(SECONDS_NOW * 1_000_000);

#[test]
fn iso_8601_is_read_with_every_zone_and_fraction() {
    let same = [
        "2026-11-30T20:01:30Z",
        "2026-11-30t20:01:30z",
        "2026-11-30 20:01:30Z",
        "2026-11-30T20:01:30.000Z",
        "2026-11-30T20:01:30+00:00",
        "2026-11-30T21:01:30+01:00",
        "2026-11-30T21:01:30+0100",
        "2026-11-30T21:01:30+01",
        "2026-11-30T12:01:30-08:00",
        "2026-12-01T01:31:30+05:30",
        "Mon, 30 Nov 2026 20:01:30 GMT",
    ];
    for text in same {
        assert_eq!(read(text, NOW), Some(Span::from_secs(90)), "{text}");
    }
    assert_eq!(read("2026-11-30T20:00:00.25Z", NOW), Some(Span::from_millis(250)));
    assert_eq!(read("2026-11-30T20:01Z", NOW), Some(Span::MINUTE));
}

#[test]
fn what_is_no_instant_is_none() {
    let wrong = [
        "",
        "2026-11-30",
        "2026-11-30T20:00:00",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-11-31T00:00:00Z",
        "2026-11-30T24:00:00Z",
        "26-11-29T20:00:00Z",
        "2026-11-30T20:60:00Z",
        "2026-11-30T20:00:00+25:00",
        "1969-12-31T23:59:59Z",
        "2026-11-30T20Z",
        "2026-11-30T20:00:00:00Z",
        "2026-11-30-01T20:00:00Z",
        "+026-11-29T20:00:00Z",
        "é2026",
        "-1",
        "1.2.3",
        "1e9",
        "0x10",
        ".",
        "1.",
        ".5",
        "∞",
    ];
    for text in wrong {
        assert_eq!(read(text, NOW), None, "{text}");
    }
}

#[test]
fn the_same_reset_is_read_from_every_form() {
    for ahead in [0, 1, 59, 3_600, 86_400, 30 * 86_400] {
        let span = Some(Span::from_secs(ahead));
        let at = SECONDS_NOW + ahead;
        assert_eq!(read(&ahead.to_string(), NOW), span);
        assert_eq!(read(&at.to_string(), NOW), span);
        assert_eq!(read(&format!("{at}000"), NOW), span);
        assert_eq!(read(&format!("{at}.000"), NOW), span);
    }
}

#[test]
fn an_instant_that_has_just_passed_is_no_wait_and_one_long_ago_no_reset() {
    assert_eq!(read(&(SECONDS_NOW - 30).to_string(), NOW), Some(Span::ZERO));
    assert_eq!(read(&(SECONDS_NOW - 86_401).to_string(), NOW), None);
    assert_eq!(read("2026-11-30T19:59:00Z", NOW), Some(Span::ZERO));
    assert_eq!(read("2001-01-01T00:00:00Z", NOW), None);
}

/// A server without a clock, whose `Date` is of 1970, makes two readings possible.
#[test]
fn of_two_possible_readings_the_shorter_wait_is_taken() {
    let uptime = Tick::from_micros(100_000 * 1_000_000);
    assert_eq!(read("100060", uptime), Some(Span::MINUTE));
    assert_eq!(read("60", uptime), Some(Span::from_secs(60)));
}

#[test]
fn days_are_counted_as_the_calendar_does() {
    let http = |text: &str| date::read(text).unwrap();
    assert_eq!(iso_8601("1970-01-01T00:00:00Z"), Some(Tick::EPOCH));
    let leap = http("Tue, 29 Feb 2000 23:59:59 GMT");
    assert_eq!(iso_8601("2000-02-29T23:59:59Z"), Some(leap));
    let last = http("Sat, 31 Dec 2101 23:59:59 GMT");
    assert_eq!(iso_8601("2101-12-31T23:59:59Z"), Some(last));
}

proptest! {
    #[test]
    fn every_day_is_that_of_another_reader(second in 0_u64..253_402_300_800) {
        let instant = std::time::UNIX_EPOCH + std::time::Duration::from_secs(second);
        let text = httpdate::fmt_http_date(instant);
        let parts: Vec<&str> = text.split([' ', ',']).filter(|part| !part.is_empty()).collect();
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let month = months.iter().position(|month| *month == parts[2]).unwrap() + 1;
        let iso = format!("{}-{month:02}-{}T{}Z", parts[3], parts[1], parts[4]);
        prop_assert_eq!(iso_8601(&iso), date::read(&text));
    }

    #[test]
    fn no_text_panics_or_is_a_wait_beyond_reason(text in ".{0,40}", now in any::<u64>()) {
        let span = read(&text, Tick::from_micros(now));
        prop_assert!(span.is_none_or(|span| span <= FURTHEST));
    }
}
