use jiff::tz::TimeZoneDatabase;
use proptest::prelude::*;

use super::*;

fn at(zone: &str, civil: &str) -> Tick {
    let zone = TimeZoneDatabase::bundled().get(zone).unwrap();
    let civil: DateTime = civil.parse().unwrap();
    tick(zone.to_timestamp(civil).unwrap())
}

fn utc(instant: &str) -> Tick {
    tick(instant.parse().unwrap())
}

fn tick(instant: Timestamp) -> Tick {
    Tick::from_micros(u64::try_from(instant.as_microsecond()).unwrap())
}

fn paris(days: &str, hours: &str) -> Schedule {
    Schedule::new("s", "Europe/Paris").unwrap().days(days).unwrap().hours(hours).unwrap()
}

#[test]
fn office_hours_begin_and_end_to_the_second() {
    let office = paris("mon-fri", "09:00-18:00");
    for (civil, holds) in [
        ("2026-11-30T08:59:59", false),
        ("2026-11-30T09:00:00", true),
        ("2026-11-30T17:59:59.999999", true),
        ("2026-11-30T18:00:00", false),
        ("2026-12-05T12:00:00", false),
    ] {
        assert_eq!(office.holds(at("Europe/Paris", civil)), holds, "{civil}");
    }
}

#[test]
fn an_hour_that_the_clocks_skip_does_not_come() {
    // At 01:00 UTC the clocks of Paris go from 02:00 to 03:00.
    let night = paris("sun", "02:00-03:00");
    let whole_day = (0..24 * 60).map(|minute| {
        let start = utc("2026-03-28T23:00:00Z");
        night.holds(start.after(tollgate_core::Span::from_secs(minute * 60)))
    });
    assert_eq!(whole_day.filter(|holds| *holds).count(), 0);
    let morning = paris("sun", "01:00-03:30");
    for (instant, holds) in [
        ("2026-03-28T23:59:59Z", false),
        ("2026-03-29T00:00:00Z", true),
        ("2026-03-29T00:59:59Z", true),
        ("2026-03-29T01:29:59Z", true),
        ("2026-03-29T01:30:00Z", false),
    ] {
        assert_eq!(morning.holds(utc(instant)), holds, "{instant}");
    }
}

#[test]
fn an_hour_that_the_clocks_repeat_comes_twice() {
    // At 01:00 UTC the clocks of Paris go from 03:00 back to 02:00.
    let night = paris("sun", "02:00-02:30");
    for (instant, holds) in [
        ("2026-10-24T23:59:59Z", false),
        ("2026-10-25T00:00:00Z", true),
        ("2026-10-25T00:30:00Z", false),
        ("2026-10-25T00:59:59Z", false),
        ("2026-10-25T01:00:00Z", true),
        ("2026-10-25T01:29:59Z", true),
        ("2026-10-25T01:30:00Z", false),
    ] {
        assert_eq!(night.holds(utc(instant)), holds, "{instant}");
    }
}

#[test]
fn hours_over_midnight_belong_to_the_day_on_which_they_begin() {
    let night = paris("fri", "22:00-06:00");
    for (civil, holds) in [
        ("2026-11-27T05:00:00", false),
        ("2026-11-27T21:59:59", false),
        ("2026-11-27T22:00:00", true),
        ("2026-11-28T00:00:00", true),
        ("2026-11-28T05:59:59", true),
        ("2026-11-28T06:00:00", false),
        ("2026-11-28T22:00:00", false),
    ] {
        assert_eq!(night.holds(at("Europe/Paris", civil)), holds, "{civil}");
    }
}

#[test]
fn a_leap_day_is_the_day_of_the_week_that_it_is() {
    let tuesday = paris("tue", "00:00-24:00");
    for (civil, holds) in [
        ("2028-02-28T23:59:59", false),
        ("2028-02-29T00:00:00", true),
        ("2028-02-29T23:59:59", true),
        ("2028-03-01T00:00:00", false),
    ] {
        assert_eq!(tuesday.holds(at("Europe/Paris", civil)), holds, "{civil}");
    }
}

#[test]
fn what_is_no_schedule_is_refused() {
    assert_eq!(Schedule::new("s", "Europe/Pariss").unwrap_err(), ScheduleError::Zone);
    let any = || Schedule::new("s", "UTC").unwrap();
    for days in ["", "monday", "mon-", "mon-fri-sun", "Mon", "mon,fri"] {
        assert_eq!(any().days(days).unwrap_err(), ScheduleError::Days, "{days}");
    }
    for hours in
        ["", "9:00-18:00", "09:00", "09:00-09:00", "24:00-06:00", "09:60-10:00", "09:00-24:01"]
    {
        assert_eq!(any().hours(hours).unwrap_err(), ScheduleError::Hours, "{hours}");
    }
}

proptest! {
    /// What is remembered of a span holds in all of it, whichever instants were asked before.
    #[test]
    fn what_is_remembered_is_what_would_be_worked_out(
        // Around the change of the clocks in spring and in autumn.
        start in prop_oneof![1_774_600_000u64..1_774_900_000, 1_792_700_000u64..1_793_100_000],
        steps in prop::collection::vec(-90_000i64..90_000, 1..40),
        from in 0u16..1_440,
        length in 1u16..1_439,
        days in prop::sample::select(vec!["sun", "mon-sat", "sat-mon"]),
        zone in prop::sample::select(vec!["Europe/Paris", "Australia/Lord_Howe", "UTC"]),
    ) {
        let to = (from + length) % 1_440;
        let hours = format!("{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60);
        let schedule =
            || Schedule::new("s", zone).unwrap().days(days).unwrap().hours(&hours).unwrap();
        let asked_all_along = schedule();
        let mut second = start;
        for step in steps {
            second = second.saturating_add_signed(step);
            let now = Tick::from_micros(second * 1_000_000);
            prop_assert_eq!(asked_all_along.holds(now), schedule().holds(now), "{}", second);
        }
    }
}
