use jiff::tz::TimeZoneDatabase;
use tollgate_core::Span;

use super::*;

const HOUR: u64 = 3_600;

/// The instant that this is in UTC.
fn utc(text: &str) -> Tick {
    let timestamp: Timestamp = text.parse().unwrap();
    Tick::from_micros(u64::try_from(timestamp.as_microsecond()).unwrap())
}

fn window(every: Every, zone: &str, at: &str, now: &str) -> (Tick, Tick) {
    calendar(every, zone, at.parse().unwrap()).unwrap().window(utc(now))
}

#[test]
fn b203_days_of_25_and_23_hours_are_that_long() {
    let autumn = window(Every::Day, "Europe/Paris", "00:00", "2026-10-25T12:00:00Z");
    assert_eq!(autumn, (utc("2026-10-24T22:00:00Z"), utc("2026-10-25T23:00:00Z")));
    assert_eq!(autumn.1.since(autumn.0), Span::from_secs(25 * HOUR));
    let spring = window(Every::Day, "Europe/Paris", "00:00", "2026-03-29T12:00:00Z");
    assert_eq!(spring.1.since(spring.0), Span::from_secs(23 * HOUR));
}

#[test]
fn b203_a_time_that_is_skipped_is_when_the_clocks_go_on() {
    // At 01:00 UTC the clocks go from 02:00 to 03:00.
    let (start, end) = window(Every::Day, "Europe/Paris", "02:30", "2026-03-29T05:00:00Z");
    assert_eq!(start, utc("2026-03-29T01:00:00Z"));
    assert_eq!(end, utc("2026-03-30T00:30:00Z"));
    let (start, _) = window(Every::Day, "Europe/Paris", "02:00", "2026-03-29T05:00:00Z");
    assert_eq!(start, utc("2026-03-29T01:00:00Z"));
}

#[test]
fn a_time_that_is_repeated_counts_the_first_time() {
    let (start, _) = window(Every::Day, "Europe/Paris", "02:30", "2026-10-25T05:00:00Z");
    assert_eq!(start, utc("2026-10-25T00:30:00Z"));
}

#[test]
fn b206_months_are_as_long_as_they_are() {
    let days = |now| {
        let (start, end) = window(Every::Month, "UTC", "00:00", now);
        end.since(start).as_micros() / Span::DAY.as_micros()
    };
    assert_eq!(days("2026-01-31T23:59:59Z"), 31);
    assert_eq!(days("2026-02-28T12:00:00Z"), 28);
    assert_eq!(days("2028-02-29T12:00:00Z"), 29);
    assert_eq!(
        window(Every::Month, "UTC", "00:00", "2026-01-31T23:59:59Z").1,
        utc("2026-02-01T00:00:00Z")
    );
}

#[test]
fn weeks_begin_on_monday() {
    let (start, end) = window(Every::Week, "America/New_York", "06:00", "2026-11-30T12:00:00Z");
    assert_eq!((start, end), (utc("2026-11-30T11:00:00Z"), utc("2026-12-07T11:00:00Z")));
}

#[test]
fn a_day_that_a_zone_skipped_is_none() {
    // Samoa went from the 29th to the 31st of December 2011.
    let (start, end) = window(Every::Day, "Pacific/Apia", "00:00", "2011-12-30T09:00:00Z");
    assert_eq!(end, utc("2011-12-30T10:00:00Z"));
    let (next, _) = window(Every::Day, "Pacific/Apia", "00:00", "2011-12-30T11:00:00Z");
    assert_eq!((start, next), (utc("2011-12-29T10:00:00Z"), end));
}

#[test]
fn every_zone_has_all_calendars() {
    for zone in TimeZoneDatabase::bundled().available() {
        let hours = TimeZoneDatabase::bundled().get(zone.as_str()).unwrap();
        let months = edges(Every::Month, &hours, Time::midnight());
        assert!(Calendar::new("months", months).is_ok(), "{zone}");
    }
    assert_eq!(
        calendar(Every::Day, "Mars/Olympus", At::default()).unwrap_err(),
        CalendarError::Zone
    );
}

#[test]
fn a_calendar_is_made_once() {
    let one = calendar(Every::Week, "Asia/Tokyo", At::default()).unwrap();
    assert!(std::ptr::eq(one, calendar(Every::Week, "Asia/Tokyo", At::default()).unwrap()));
}

#[test]
fn what_is_no_time_is_refused() {
    for text in ["24:00", "7:00", "07:60", "0700", "07:00:00", "+7:00", ""] {
        assert_eq!(text.parse::<At>(), Err(CalendarError::Time), "{text}");
    }
}
