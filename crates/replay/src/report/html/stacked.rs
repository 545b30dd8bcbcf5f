//! Requests over time, by what becomes of them.

use std::fmt::{self, Write};

use super::super::numbers::number;
use super::axis::{marks, real, words, write_counts, write_times};
use super::chart::{begin, begin_shapes, end, write_area, write_line};
use super::page::share;
use crate::pictures::Grid;
use crate::run::Effects;
use crate::tally::{Bin, Timeline, Totals};

/// How many columns a picture of time has at most.
pub(super) const COLUMNS: usize = 160;

/// Writes the chart of all requests, and, where few are refused or delayed, one of those alone.
pub(super) fn write(page: &mut String, timeline: &Timeline, totals: &Totals) -> fmt::Result {
    let timeline = timeline.in_bins(COLUMNS);
    let bins = timeline.bins();
    let hit = |bin: &Bin| parts(bin).iter().skip(1).sum::<u64>();
    let most = bins.iter().map(Bin::requests).max().unwrap_or(0);
    let most_hit = bins.iter().map(hit).max().unwrap_or(0);
    page.push_str("<ul class=\"legend\">");
    let all = totals.requests();
    let mut entry = |class: &str, what: &str, count: u64| {
        if count > 0 || class == "passed" {
            let (count, share) = (number(count), share(count, all));
            write!(page, "<li><i class=\"{class}\"></i>{what} {count} ({share})</li>")?;
        }
        Ok::<_, fmt::Error>(())
    };
    let shadow = totals.would_refuse;
    entry("passed", "allowed", (totals.passed + totals.unasked).saturating_sub(shadow))?;
    entry("shadow", "allowed, refused in shadow", shadow)?;
    entry("delayed", "delayed", totals.delayed)?;
    entry("refused", "refused", totals.refused)?;
    page.push_str("</ul>\n");
    let each = words(timeline.grid().width());
    let description = format!(
        "{} requests in columns of one {each} each; the most in one: {}, the most delayed or refused in one: {}.",
        number(all),
        number(most),
        number(most_hit)
    );
    let caption = format!("Requests in each {each}");
    write_bins(page, ("all", 280), &caption, &description, bins, timeline.grid(), parts)?;
    if most_hit > 0 && most_hit.saturating_mul(6) < most {
        let caption = format!("Only those delayed or refused, in each {each}");
        write_bins(page, ("hit", 190), &caption, &description, bins, timeline.grid(), |bin| {
            let [_, shadow, delayed, refused] = parts(bin);
            [0, shadow, delayed, refused]
        })?;
    }
    Ok(())
}

/// The requests of a bin from the bottom of the pile to its top.
fn parts(bin: &Bin) -> [u64; 4] {
    // Those that wait and would be refused are told as what becomes of them.
    let shadow = bin.would_refuse.min(bin.passed);
    [bin.passed - shadow, shadow, bin.delayed, bin.refused]
}

fn write_bins(
    page: &mut String,
    (id, height): (&str, u32),
    caption: &str,
    description: &str,
    bins: &[Bin],
    grid: Grid,
    parts: impl Fn(&Bin) -> [u64; 4] + Copy,
) -> fmt::Result {
    let most = bins.iter().map(|bin| parts(bin).iter().sum()).max().unwrap_or(0);
    let marks = marks(most, 4);
    let top = real(marks.last().copied().unwrap_or(1).max(1));
    writeln!(page, "<figure><figcaption>{caption}</figcaption>")?;
    begin(page, ("", height), &id, caption, description)?;
    write_counts(page, &marks)?;
    write_times(page, grid, bins.len())?;
    begin_shapes(page, bins.len())?;
    let up_to =
        |count: usize| bins.iter().map(move |bin| real(parts(bin).iter().take(count).sum()) / top);
    // From the top of the pile down, each over what stands behind it.
    let has = |nth: usize| bins.iter().any(|bin| parts(bin).get(nth).is_some_and(|part| *part > 0));
    for (nth, class) in ["passed", "shadow", "delayed", "refused"].into_iter().enumerate().rev() {
        if has(nth) {
            write_area(page, class, up_to(nth + 1))?;
        }
    }
    end(page)?;
    end(page)?;
    writeln!(page, "</figure>")
}

/// Writes what two sets of limits refuse over time, the one as an area, the other as a line.
pub(super) fn write_two(
    page: &mut String,
    first: &Timeline,
    other: &Timeline,
    effects: Effects,
) -> fmt::Result {
    let (first, other) = (first.in_bins(COLUMNS), other.in_bins(COLUMNS));
    let refused = |bin: &Bin| match effects {
        Effects::AsGiven => bin.refused,
        Effects::Shadow => bin.would_refuse,
    };
    let most_of = |timeline: &Timeline| timeline.bins().iter().map(refused).max();
    let most = most_of(&first).max(most_of(&other)).unwrap_or(0);
    if most == 0 {
        return Ok(());
    }
    let marks = marks(most, 3);
    let top = real(marks.last().copied().unwrap_or(1).max(1));
    let caption = format!("Refused in each {}", words(first.grid().width()));
    writeln!(
        page,
        "<ul class=\"legend\"><li><i class=\"refused\"></i>these limits</li>\
         <li><i class=\"other\"></i>the other limits</li></ul>\n<figure><figcaption>{caption}</figcaption>"
    )?;
    let description =
        "What these limits refuse over time as an area, what the others refuse as a line.";
    begin(page, ("", 210), &"two", &caption, description)?;
    write_counts(page, &marks)?;
    write_times(page, first.grid(), first.bins().len())?;
    begin_shapes(page, first.bins().len())?;
    let shares = |timeline: &Timeline| {
        let shares: Vec<f64> = timeline.bins().iter().map(|bin| real(refused(bin)) / top).collect();
        shares.into_iter()
    };
    write_area(page, "refused", shares(&first))?;
    write_line(page, "other", shares(&other))?;
    end(page)?;
    end(page)?;
    writeln!(page, "</figure>")
}
