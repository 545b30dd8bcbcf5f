//! Where an axis has its marks, and what is written there.

use std::fmt::{self, Write};

use super::super::numbers::number;
use super::super::time;
use crate::pictures::Grid;
use tollgate_core::{Span, Tick};

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

/// Steps between times that people read, in seconds.
const STEPS: [u64; 17] = [
    1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
    1_209_600, 2_419_200,
];

/// Writes the marks of time below a chart of `count` bins, and lines up to its top.
pub(super) fn write_times(svg: &mut String, grid: Grid, count: usize) -> fmt::Result {
    const MOST: u64 = 9;
    let (begin, end) = (grid.begins(0), grid.begins(count));
    let span = (end - begin).max(1);
    let step = STEPS.into_iter().find(|step| span / step < MOST);
    let step = step.unwrap_or_else(|| span.div_ceil(MOST));
    let form = match step {
        0..60 => "%H:%M:%S",
        60..86_400 => "%H:%M",
        86_400..2_419_200 => "%-d %b",
        _ => "%b %Y",
    };
    let mut at = begin.next_multiple_of(step);
    while at <= end {
        let share = real(at - begin) / real(span);
        let place = Share(share);
        // What stands at an end shall not reach beyond it.
        let anchor = match share {
            share if share < 0.04 => "",
            share if share > 0.96 => " e",
            _ => " m",
        };
        let begins_day = at.is_multiple_of(86_400);
        let form = if begins_day && step < 86_400 { "%-d %b" } else { form };
        let label = time(Tick::EPOCH.after(Span::from_secs(at)), form);
        // Where there is less room, each stands for two: of noons and days the days.
        let wide = if at.is_multiple_of(step.saturating_mul(2)) { "" } else { " wide" };
        writeln!(
            svg,
            "<line class=\"rule\" x1=\"{place}\" x2=\"{place}\" y1=\"0\" y2=\"100%\"/>\
             <text class=\"t{anchor}{wide}\" x=\"{place}\" y=\"100%\" dy=\"17\">{label}</text>"
        )?;
        at = at.saturating_add(step);
    }
    writeln!(svg, "<text class=\"e\" x=\"100%\" y=\"100%\" dy=\"36\">time, UTC</text>")
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
    fn numbers_are_short() {
        let short = [0, 9_999, 99_999, 150_000, 2_500_000, 3_000_000_000].map(short);
        assert_eq!(short, ["0", "9,999", "99,999", "150 k", "2.5 M", "3 G"]);
        assert_eq!([1, 90, 3_600, 172_800].map(words), ["second", "90 seconds", "hour", "2 days"]);
        assert!((real(1 << 40) - 1_099_511_627_776.0).abs() < 1.0);
    }
}
