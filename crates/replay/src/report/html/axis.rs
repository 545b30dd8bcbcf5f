//! Where an axis has its marks, and what is written there.

use std::fmt::{self, Write};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;
use tollgate_core::{Span, Tick};

use super::super::numbers::number;
use super::super::time;
use crate::pictures::Grid;

/// A number for where something stands in a picture: exact enough for that.
pub(super) fn real(number: u64) -> f64 {
    let half = |half: u64| f64::from(u32::try_from(half & 0xffff_ffff).unwrap_or(u32::MAX));
    half(number >> 32) * 4_294_967_296.0 + half(number)
}

/// Marks at round numbers from 0 to at least `most`, about `wanted` of them, the last one the top.
pub(super) fn marks(most: u64, wanted: u64) -> Vec<u64> {
    let rough = most.div_ceil(wanted.max(1)).max(1);
    let mut ten = 1_u64;
    while ten.saturating_mul(10) <= rough {
        ten = ten.saturating_mul(10);
    }
    let steps = [1, 2, 5, 10].map(|step| ten.saturating_mul(step));
    let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(rough);
    (0..=most.div_ceil(step).max(1)).map(|nth| nth.saturating_mul(step)).collect()
}

/// A number as short as fits an axis.
pub(super) fn short(count: u64) -> String {
    let tenths = |unit: u64, name: &str| {
        let tenths = count / (unit / 10);
        match tenths % 10 {
            0 => format!("{} {name}", number(tenths / 10)),
            rest => format!("{}.{rest} {name}", number(tenths / 10)),
        }
    };
    match count {
        0..100_000 => number(count),
        100_000..1_000_000 => tenths(1_000, "k"),
        1_000_000..1_000_000_000 => tenths(1_000_000, "M"),
        _ => tenths(1_000_000_000, "G"),
    }
}

/// A share of a width or height in per cent, to the hundredth.
pub(super) struct Share(pub(super) f64);

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}%", self.0 * 100.0)
    }
}

/// Steps between times that people read, in seconds, up to half a month.
const STEPS: [u64; 16] = [
    1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
    1_209_600,
];

/// Steps in months.
const MONTHS: [i64; 9] = [1, 2, 3, 6, 12, 24, 60, 120, 600];

/// A mark on an axis of time.
struct TimeMark {
    /// In seconds since the epoch.
    at: u64,
    label: String,
    /// Where there is less room each stands for two: of noons and midnights the midnights stay.
    is_kept: bool,
}

/// Marks between two times, at most nine.
fn time_marks(begin: u64, end: u64) -> Vec<TimeMark> {
    const MOST: u64 = 9;
    let span = (end - begin).max(1);
    let Some(step) = STEPS.into_iter().find(|step| span / step < MOST) else {
        return month_marks(begin, end);
    };
    let form = match step {
        0..60 => "%H:%M:%S",
        60..86_400 => "%H:%M",
        _ => "%-d %b",
    };
    let first = begin.next_multiple_of(step);
    let times = std::iter::successors(Some(first), |at| at.checked_add(step));
    let times = times.take_while(|at| *at <= end);
    let marks = times.map(|at| {
        let form = if at.is_multiple_of(86_400) { "%-d %b" } else { form };
        let label = time(Tick::EPOCH.after(Span::from_secs(at)), form);
        TimeMark { at, label, is_kept: at.is_multiple_of(step * 2) }
    });
    marks.collect()
}

/// The same at the beginnings of months.
fn month_marks(begin: u64, end: u64) -> Vec<TimeMark> {
    const MOST: i64 = 9;
    // Months are counted from the year 0.
    let month_of = |second: u64| {
        let second = i64::try_from(second).unwrap_or(i64::MAX);
        let date =
            Offset::UTC.to_datetime(Timestamp::from_second(second).unwrap_or_default()).date();
        i64::from(date.year()) * 12 + i64::from(date.month()) - 1
    };
    let begins = |month: i64| {
        let year = i16::try_from(month.div_euclid(12)).ok()?;
        let date = Date::new(year, i8::try_from(month.rem_euclid(12) + 1).ok()?, 1).ok()?;
        let begins = Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?;
        u64::try_from(begins.as_second()).ok()
    };
    let (first, last) = (month_of(begin), month_of(end));
    let step = MONTHS.into_iter().find(|step| (last - first) / step < MOST).unwrap_or(1_200);
    let months = (first..=last).filter(|month| month % step == 0);
    let marks = months.filter_map(|month| {
        let at = begins(month).filter(|at| *at >= begin)?;
        let label = time(Tick::EPOCH.after(Span::from_secs(at)), "%b %Y");
        Some(TimeMark { at, label, is_kept: month % (step * 2) == 0 })
    });
    marks.collect()
}

/// Writes the marks of time below a chart of `count` bins, and lines up to its top.
pub(super) fn write_times(svg: &mut String, grid: Grid, count: usize) -> fmt::Result {
    let (begin, end) = (grid.begins(0), grid.begins(count));
    for mark in time_marks(begin, end) {
        let place = Share(real(mark.at - begin) / real((end - begin).max(1)));
        let wide = if mark.is_kept { "" } else { " wide" };
        writeln!(
            svg,
            "<line class=\"rule\" x1=\"{place}\" x2=\"{place}\" y1=\"0\" y2=\"100%\"/>\
             <text class=\"m{wide}\" x=\"{place}\" y=\"100%\" dy=\"20\">{}</text>",
            mark.label
        )?;
    }
    writeln!(svg, "<text class=\"e\" x=\"100%\" y=\"100%\" dy=\"39\">time, UTC</text>")
}

/// Writes the marks of counts beside a chart, with lines across it.
pub(super) fn write_counts(svg: &mut String, marks: &[u64]) -> fmt::Result {
    let top = real(marks.last().copied().unwrap_or(1).max(1));
    for mark in marks {
        let place = Share(1.0 - real(*mark) / top);
        let class = if *mark == 0 { "base" } else { "rule" };
        writeln!(
            svg,
            "<line class=\"{class}\" x1=\"0\" x2=\"100%\" y1=\"{place}\" y2=\"{place}\"/>\
             <text class=\"y\" x=\"-8\" y=\"{place}\" dy=\".32em\">{}</text>",
            short(*mark)
        )?;
    }
    Ok(())
}

/// A span of time in words.
pub(super) fn words(seconds: u64) -> String {
    let (count, unit) = match seconds {
        s if s.is_multiple_of(86_400) => (s / 86_400, "day"),
        s if s.is_multiple_of(3_600) => (s / 3_600, "hour"),
        s if s.is_multiple_of(60) => (s / 60, "minute"),
        s => (s, "second"),
    };
    match count {
        1 => unit.to_owned(),
        _ => format!("{} {unit}s", number(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_reach_the_top() {
        assert_eq!(marks(0, 4), [0, 1]);
        assert_eq!(marks(3, 4), [0, 1, 2, 3]);
        assert_eq!(marks(97, 4), [0, 50, 100]);
        assert_eq!(marks(401, 4), [0, 200, 400, 600]);
        for most in (0..5_000).chain([u64::MAX / 3, u64::MAX]) {
            let marks = marks(most, 4);
            assert!(*marks.last().unwrap() >= most && (2..=6).contains(&marks.len()), "{most}");
        }
    }

    #[test]
    fn times_are_marked_where_people_count_anew() {
        let labels = |begin: &str, days: u64| -> Vec<String> {
            let begin: Timestamp = begin.parse().unwrap();
            let begin = u64::try_from(begin.as_second()).unwrap();
            let marks = time_marks(begin, begin + days * 86_400);
            assert!(marks.iter().all(|mark| (begin..=begin + days * 86_400).contains(&mark.at)));
            marks.into_iter().map(|mark| mark.label).collect()
        };
        assert_eq!(
            labels("2015-05-17T10:00:00Z", 1),
            ["12:00", "15:00", "18:00", "21:00", "18 May", "03:00", "06:00", "09:00"]
        );
        assert_eq!(
            labels("2024-02-28T23:00:00Z", 2),
            ["29 Feb", "06:00", "12:00", "18:00", "1 Mar", "06:00", "12:00", "18:00"]
        );
        assert_eq!(
            labels("2023-11-05T00:00:00Z", 200),
            ["Dec 2023", "Jan 2024", "Feb 2024", "Mar 2024", "Apr 2024", "May 2024"]
        );
        for days in 1..3_000 {
            assert!((1..=9).contains(&labels("2019-12-31T23:59:59Z", days).len()), "{days}");
        }
    }

    #[test]
    fn numbers_are_short() {
        let short = [0, 9_999, 99_999, 150_000, 2_500_000, 3_000_000_000].map(short);
        assert_eq!(short, ["0", "9,999", "99,999", "150 k", "2.5 M", "3 G"]);
        assert_eq!([1, 90, 3_600, 172_800].map(words), ["second", "90 seconds", "hour", "2 days"]);
        assert!((real(1 << 40) - 1_099_511_627_776.0).abs() < 1.0);
    }
}
