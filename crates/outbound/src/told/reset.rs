//! When a limit is full again, where no standard says in what form.
//!
//! The forms are told apart by what is possible. A number is
//!
//! * Unix seconds, if that is at most a day ago or 31 days ahead of the server's `Date`,
//! * Unix milliseconds, if those are,
//! * seconds from now, if it is at most 31 days,
//!
//! and nothing otherwise. They lie a factor of 600 apart, unless a server's clock shows the time of
//! its first months in 1970; then the shorter wait is taken: who comes too early is refused and told
//! again, who waits too long loses without a word. Seconds may have a fraction. What is no number is an
//! instant of ISO 8601 or of HTTP. An instant that has passed is no wait.

use std::num::NonZeroU32;

use tollgate_core::{Span, Tick};

use super::number::{Millionths, digits};
use super::{FURTHEST, date};

/// How long after its reset a server may still tell of it.
const STALE: Span = Span::DAY;

const SECONDS: NonZeroU32 = NonZeroU32::MIN;
const MILLISECONDS: NonZeroU32 = NonZeroU32::new(1_000).expect("1,000 is not zero");

/// How long it is until the reset, at most 31 days.
pub(super) fn read(text: &str, now: Tick) -> Option<Span> {
    let Some(number) = Millionths::read(text) else {
        return iso_8601(text).or_else(|| date::read(text)).and_then(|at| until(at, now));
    };
    let delta = Span::from_micros(number.as_micros(SECONDS));
    let instants = [SECONDS, MILLISECONDS].map(|unit| Tick::from_micros(number.as_micros(unit)));
    let spans = instants.map(|at| until(at, now));
    spans.into_iter().flatten().chain((delta <= FURTHEST).then_some(delta)).min()
}

/// Seconds from now that are said to be that.
pub(super) fn seconds(text: &str) -> Option<Span> {
    Some(Span::from_micros(Millionths::read(text)?.as_micros(SECONDS)))
        .filter(|span| *span <= FURTHEST)
}

/// The way to an instant that can be meant.
fn until(at: Tick, now: Tick) -> Option<Span> {
    (now.since(at) <= STALE && at.since(now) <= FURTHEST).then(|| at.since(now))
}

/// `2026-11-30T20:00Z`, `2026-11-30T20:00:00.123+01:00`: a date, a time and a zone, as in RFC 3339, the
/// seconds left out where they are.
fn iso_8601(text: &str) -> Option<Tick> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut date = date.split('-');
    let (year, month, day) = (date.next()?, date.next()?, date.next()?);
    if date.next().is_some() || year.len() != 4 {
        return None;
    }
    let days = days_since_1970(digits(year)?, digits(month)?, digits(day)?)?;
    let (time, east_minutes) = zone(time)?;
    let mut time = time.split(':');
    let (hour, minute) = (digits(time.next()?)?, digits(time.next()?)?);
    let second = Millionths::read(time.next().unwrap_or("0"))?;
    if time.next().is_some() || hour > 23 || minute > 59 || second.floor() > 60 {
        return None;
    }
    let minutes = i64::try_from((days * 24 + hour) * 60 + minute).ok()? - east_minutes;
    let micros = u64::try_from(minutes).ok()? * 60_000_000 + second.as_micros(SECONDS);
    Some(Tick::from_micros(micros))
}

/// The time without its zone, and how many minutes the zone is east of Greenwich.
fn zone(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let at = time.rfind(['+', '-'])?;
    let (time, offset) = (time.get(..at)?, time.get(at..)?);
    let (hours, minutes) = match offset.len() {
        3 => (offset.get(1..3)?, "0"),
        5 => (offset.get(1..3)?, offset.get(3..5)?),
        6 if offset.get(3..4)? == ":" => (offset.get(1..3)?, offset.get(4..6)?),
        _ => return None,
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    let east = i64::try_from(hours * 60 + minutes).ok().filter(|_| hours < 24 && minutes < 60)?;
    Some((time, if offset.starts_with('-') { -east } else { east }))
}

/// Days of the Gregorian calendar, which repeats every 400 years; the year begins in March here, so
/// that the leap day is its last.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let longest = match month {
        2 => 28 + u64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=longest).contains(&day) || year < 1970 {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = year * 365 + year / 4 - year / 100 + year / 400;
    Some(before + (month * 153 + 2) / 5 + day - 1 - 719_468)
}

#[cfg(test)]
mod tests;
