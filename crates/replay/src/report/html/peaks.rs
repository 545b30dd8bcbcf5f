//! How large the demand of each client grew, against a limit.

use std::fmt::{self, Write};

use super::super::numbers::{number, percent};
use super::axis::{Share, marks, real, short, write_counts};
use super::chart::{begin, begin_shapes, end, write_area};
use super::page::Text;
use crate::pictures::{LimitPicture, Peaks, Whose};

/// Where peaks stand on an axis.
struct Axis {
    /// What lies in each column.
    columns: Vec<u64>,
    /// The columns up to the limit.
    within: usize,
    /// The marks, as their place between 0 and 1 and what they say.
    marks: Vec<(f64, u64)>,
    /// Whether equal steps are equal factors.
    is_log: bool,
}

/// Writes how many clients had which peak.
pub(super) fn write(
    page: &mut String,
    id: usize,
    limit: &LimitPicture,
    peaks: &Peaks,
) -> fmt::Result {
    let keys = peaks.keys();
    if keys < 2 {
        return Ok(());
    }
    let whose = match limit.whose {
        Whose::Clients => "clients",
        Whose::Everybody | Whose::Keys => "budgets",
    };
    let axis = Axis::of(peaks, limit.capacity);
    let most = axis.columns.iter().copied().max().unwrap_or(0);
    // A single client beside a thousand is to be seen.
    let tall = if most > 50 { Tall::Logarithm } else { Tall::Count };
    let beyond = peaks.beyond;
    let verdict = match beyond {
        0 => {
            format!("All {} {whose} stay within {} at once.", number(keys), number(limit.capacity))
        }
        _ => format!(
            "{} of {} {whose} ({}) ask for more than {} at once; the largest peak is {}.",
            number(beyond),
            number(keys),
            percent(beyond, keys),
            number(limit.capacity),
            number(peaks.most)
        ),
    };
    let scales = match (axis.is_log, tall) {
        (true, Tall::Logarithm) => " Both axes are logarithmic.",
        (true, Tall::Count) => " The axis of tokens is logarithmic.",
        (false, Tall::Logarithm) => " The axis of counts is logarithmic.",
        (false, Tall::Count) => "",
    };
    writeln!(
        page,
        "<figure><figcaption><b>Peaks.</b> {} How many {whose} needed how many tokens at once, had \
         nothing been refused.{scales}</figcaption>",
        Text(&verdict)
    )?;
    let title = format!("Peaks of {whose} against the limit {}", limit.name);
    begin(page, (" marked", 250), &format_args!("peaks-{id}"), &title, &verdict)?;
    match tall {
        Tall::Count => write_counts(page, &marks(most, 3))?,
        Tall::Logarithm => write_powers(page, most)?,
    }
    begin_shapes(page, axis.columns.len())?;
    let heights = |is: fn(usize, usize) -> bool| {
        let within = axis.within;
        let columns = axis.columns.iter().enumerate();
        let heights = columns.map(move |(nth, count)| if is(nth, within) { *count } else { 0 });
        heights.map(|count| tall.height(count, most))
    };
    write_area(page, "passed", heights(|nth, within| nth < within))?;
    write_area(page, "refused", heights(|nth, within| nth >= within))?;
    end(page)?;
    write_tokens(page, &axis, limit.capacity)?;
    end(page)?;
    writeln!(
        page,
        "<ul class=\"legend\"><li><i class=\"passed\"></i>within the limit: {}</li>\
         <li><i class=\"refused\"></i>beyond it: {}</li></ul>\n</figure>",
        number(peaks.within),
        number(beyond)
    )
}

/// How tall a count is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tall {
    Count,
    Logarithm,
}

/// How tall one is where counts are logarithms: as a fifth of ten.
const ONE: f64 = 0.2;

impl Tall {
    fn height(self, count: u64, most: u64) -> f64 {
        match (self, count) {
            (_, 0) => 0.0,
            (Tall::Count, count) => {
                real(count) / real(marks(most, 3).last().copied().unwrap_or(1).max(1))
            }
            (Tall::Logarithm, count) => (real(count).log10() + ONE) / (real(most).log10() + ONE),
        }
    }
}

fn write_powers(svg: &mut String, most: u64) -> fmt::Result {
    writeln!(svg, "<line class=\"base\" x1=\"0\" x2=\"100%\" y1=\"100%\" y2=\"100%\"/>")?;
    let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
    let powers: Vec<u64> = powers.take_while(|power| *power <= most).collect();
    // Up to five of them.
    let every = powers.len().div_ceil(5).max(1);
    for power in powers.into_iter().step_by(every) {
        let place = Share(1.0 - Tall::Logarithm.height(power, most));
        writeln!(
            svg,
            "<line class=\"rule\" x1=\"0\" x2=\"100%\" y1=\"{place}\" y2=\"{place}\"/>\
             <text class=\"y\" x=\"-8\" y=\"{place}\" dy=\".32em\">{}</text>",
            short(power)
        )?;
    }
    Ok(())
}

/// Writes the marks below the columns, and the limit above them.
fn write_tokens(svg: &mut String, axis: &Axis, capacity: u64) -> fmt::Result {
    for (nth, (place, mark)) in axis.marks.iter().enumerate() {
        let wide = if nth % 2 == 1 { " wide" } else { "" };
        writeln!(
            svg,
            "<text class=\"m{wide}\" x=\"{}\" y=\"100%\" dy=\"20\">{}</text>",
            Share(*place),
            short(*mark)
        )?;
    }
    let share = real(u64::try_from(axis.within).unwrap_or(0))
        / real(u64::try_from(axis.columns.len()).unwrap_or(1).max(1));
    let anchor = match share {
        share if share < 0.2 => "",
        share if share > 0.8 => " e",
        _ => " m",
    };
    let limit = Share(share);
    writeln!(
        svg,
        "<line class=\"mark\" x1=\"{limit}\" x2=\"{limit}\" y1=\"-8\" y2=\"100%\"/>\
         <text class=\"strong{anchor}\" x=\"{limit}\" y=\"-13\">limit {}</text>\
         <text class=\"e\" x=\"100%\" y=\"100%\" dy=\"39\">tokens at once</text>",
        short(capacity)
    )
}

impl Axis {
    fn of(peaks: &Peaks, capacity: u64) -> Axis {
        match peaks.most.max(capacity) <= Peaks::SMALL {
            true => Axis::even(peaks, capacity),
            false => Axis::logarithmic(peaks, capacity),
        }
    }

    /// A column for each number of tokens.
    fn even(peaks: &Peaks, capacity: u64) -> Axis {
        let last = peaks.most.max(capacity) + 1;
        let columns: Vec<u64> =
            (1..=last).map(|peak| peaks.small().get(&peak).copied().unwrap_or(0)).collect();
        let all = real(last);
        let every = last.div_ceil(8).max(1);
        let marks = (1..=last).filter(|peak| peak.is_multiple_of(every));
        let marks = marks.map(|peak| ((real(peak) - 0.5) / all, peak)).collect();
        let within = usize::try_from(capacity).unwrap_or(columns.len());
        Axis { columns, within, marks, is_log: false }
    }

    /// A column for each step; the limit is where one ends.
    fn logarithmic(peaks: &Peaks, capacity: u64) -> Axis {
        let steps = peaks.steps();
        let first = steps.keys().next().copied().unwrap_or(0).min(-2);
        let last = steps.keys().next_back().copied().unwrap_or(0).max(2) + 1;
        let columns: Vec<u64> =
            (first..=last).map(|step| steps.get(&step).copied().unwrap_or(0)).collect();
        let within = usize::try_from(1 - first).unwrap_or(0);
        // Where a number of tokens stands, from the left.
        let per_ten = f64::from(Peaks::PER_TEN);
        let zero = f64::from(1 - first);
        let all = f64::from(last - first + 1);
        let place =
            |tokens: u64| ((real(tokens) / real(capacity.max(1))).log10() * per_ten + zero) / all;
        let tens = std::iter::successors(Some(1_u64), |ten| ten.checked_mul(10));
        let tens: Vec<u64> = tens
            .skip_while(|ten| place(*ten) < 0.02)
            .take_while(|ten| place(*ten) <= 1.0)
            .collect();
        let every = tens.len().div_ceil(6).max(1);
        let marks = tens.into_iter().step_by(every).map(|ten| (place(ten), ten)).collect();
        Axis { columns, within, marks, is_log: true }
    }
}
