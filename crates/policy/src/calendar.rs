//! Days, weeks and months by the clocks of a time zone, as windows of a limit.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp};
use tollgate_core::{Calendar, Tick};

use crate::zone;

/// The unit of a calendar that a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// From one day to the next.
    Day,
    /// From Monday to Monday.
    Week,
    /// From the first of a month to that of the next.
    Month,
}

impl Every {
    /// The name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Every::Day => "day",
            Every::Week => "week",
            Every::Month => "month",
        }
    }

    fn step(self) -> Span {
        match self {
            Every::Day => Span::new().days(1),
            Every::Week => Span::new().weeks(1),
            Every::Month => Span::new().months(1),
        }
    }

    /// The first day that begins one and has not begun everywhere before the epoch.
    fn first(self) -> Date {
        let epoch = Date::constant(1970, 1, 1);
        match self {
            Every::Day | Every::Month => epoch,
            // A Thursday.
            Every::Week => epoch.nth_weekday(-1, Weekday::Monday).unwrap_or(epoch),
        }
    }
}

/// A time of the day at which windows begin, as files write it: `00:00` to `23:59`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At(Time);

impl FromStr for At {
    type Err = CalendarError;

    fn from_str(text: &str) -> Result<At, CalendarError> {
        let digits = |text: &str| {
            let plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| text.parse::<i8>().ok()).flatten()
        };
        let (hour, minute) = text.split_once(':').ok_or(CalendarError::Time)?;
        let (Some(hour), Some(minute)) = (digits(hour), digits(minute)) else {
            return Err(CalendarError::Time);
        };
        Time::new(hour, minute, 0, 0).map(At).map_err(|_| CalendarError::Time)
    }
}

/// The calendar of a unit in a zone of the IANA database, from the epoch to the year 2100. A time that
/// the clocks skip in spring is when they go on, and of one that they repeat in autumn the first counts.
///
/// It is made once and kept as long as the process, up to half a megabyte.
///
/// ```
/// use tollgate_core::{Span, Tick};
/// use tollgate_policy::{Every, calendar};
/// let paris = calendar(Every::Day, "Europe/Paris", "00:00".parse()?)?;
/// // 2026-10-25 has an hour more.
/// let autumn = Tick::EPOCH.after(Span::from_secs(1_792_900_800));
/// let (start, end) = paris.window(autumn);
/// assert_eq!(end.since(start), Span::from_secs(25 * 3_600));
/// # Ok::<(), tollgate_policy::CalendarError>(())
/// ```
///
/// # Errors
/// When there is no such zone.
pub fn calendar(every: Every, zone: &str, at: At) -> Result<&'static Calendar, CalendarError> {
    static KNOWN: Mutex<Vec<&'static Calendar>> = Mutex::new(Vec::new());
    let hours = zone::zone(zone).ok_or(CalendarError::Zone)?;
    let name = format!("{} {zone} {}", every.name(), at.0);
    // Whoever panicked in here had pushed one or none.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(calendar) = known.iter().find(|calendar| calendar.name() == name) {
        return Ok(calendar);
    }
    let calendar = Calendar::new(&name, edges(every, &hours, at.0));
    // The edges ascend by whole seconds, and there are some in every zone.
    let calendar: &'static Calendar =
        Box::leak(Box::new(calendar.map_err(|_| CalendarError::Zone)?));
    known.push(calendar);
    Ok(calendar)
}

fn edges(every: Every, zone: &TimeZone, at: Time) -> Vec<Tick> {
    let last = Date::constant(2100, 1, 1);
    let days = every.first().series(every.step()).take_while(|day| *day <= last);
    let instants = days.map(|day| instant(zone, DateTime::from_parts(day, at)));
    let ticks = instants.filter_map(|instant| {
        let micros = u64::try_from(instant.as_microsecond()).ok()?;
        (micros > 0).then(|| Tick::from_micros(micros))
    });
    let mut edges: Vec<Tick> = ticks.collect();
    // A zone that moved across the date line has skipped a day.
    edges.dedup();
    edges
}

/// When the clocks of a zone show this for the first time, or go on where they skip it.
fn instant(zone: &TimeZone, clock: DateTime) -> Timestamp {
    let of = |offset: jiff::tz::Offset| offset.to_timestamp(clock).unwrap_or(Timestamp::MAX);
    match zone.to_ambiguous_timestamp(clock).offset() {
        AmbiguousOffset::Unambiguous { offset } => of(offset),
        AmbiguousOffset::Fold { before, .. } => of(before),
        AmbiguousOffset::Gap { before, .. } => {
            // By the clocks as they were it is the moment they were moved, or after.
            let late = of(before);
            let after = late.checked_add(SignedDuration::from_secs(1)).unwrap_or(late);
            zone.preceding(after).next().map_or(late, |moved| moved.timestamp())
        }
    }
}

/// Why there is no such calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CalendarError {
    /// The zone is in no database.
    Zone,
    /// The time is none.
    Time,
}

impl CalendarError {
    /// What was expected instead.
    pub(crate) const fn expected(self) -> &'static str {
        match self {
            CalendarError::Zone => "a time zone such as `Europe/Paris` or `UTC`",
            CalendarError::Time => "a time of the day from `00:00` to `23:59`",
        }
    }
}

impl fmt::Display for CalendarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected())
    }
}

impl Error for CalendarError {}
