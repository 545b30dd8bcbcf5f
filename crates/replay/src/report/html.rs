//! A replay as a page: one file, which loads nothing, runs nothing, and prints.

mod axis;
mod chart;
mod compared;
mod levels;
mod page;
mod peaks;
mod stacked;
mod summary;
mod table;
mod tables;

use std::fmt::{self, Write};

use crate::compared::Compared;
use crate::mask::Names;
use crate::pictures::{LimitPicture, Pictures};
use crate::replayed::Replayed;
use page::{Text, short};

/// How many limits have pictures of their own: those that refuse most.
const PICTURED: usize = 6;

/// A replay as a page for people: one HTML file that needs no network and no script, with pictures in
/// SVG. Its size does not grow with the log: 500 kB at most.
#[must_use]
pub fn html(
    replayed: &Replayed,
    pictures: &Pictures,
    compared: Option<&Compared>,
    names: &Names,
) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut page, replayed, pictures, compared, names);
    page
}

fn write(
    page: &mut String,
    replayed: &Replayed,
    pictures: &Pictures,
    compared: Option<&Compared>,
    names: &Names,
) -> fmt::Result {
    let tally = &replayed.tally;
    page::begin(page, &format!("Replay of {}", replayed.limits))?;
    writeln!(
        page,
        "<header><p class=\"over\">Tollgate replay of <bdi>{}</bdi></p>\n<h1>{}</h1>",
        Text(&short(&replayed.limits)),
        summary::sentence(tally)
    )?;
    summary::write_lead(page, tally, names)?;
    summary::write_tiles(page, tally)?;
    writeln!(page, "</header>\n<main>")?;
    writeln!(page, "<section aria-labelledby=\"time\"><h2 id=\"time\">Requests over time</h2>")?;
    stacked::write(page, &tally.timeline, &tally.totals)?;
    writeln!(page, "</section>")?;
    tables::write_limits(page, replayed)?;
    write_pictures(page, replayed, pictures, names)?;
    tables::write_clients(page, tally, names)?;
    tables::write_routes(page, tally)?;
    if let Some(compared) = compared {
        compared::write(page, replayed, compared, names)?;
    }
    tables::write_left_out(page, replayed, pictures, names)?;
    summary::write_run(page, replayed, compared.map(|compared| compared.other.limits.as_str()))?;
    writeln!(
        page,
        "</main>\n<footer><p>What clients would have done next, had they been refused, no log tells.</p>\
         </footer>"
    )?;
    page::end(page)
}

/// Writes the pictures of those limits that refuse most, then of those that are asked most.
fn write_pictures(
    page: &mut String,
    replayed: &Replayed,
    pictures: &Pictures,
    names: &Names,
) -> fmt::Result {
    let mut limits: Vec<(usize, &LimitPicture)> = pictures.limits().iter().enumerate().collect();
    limits.sort_by_key(|(nth, limit)| (std::cmp::Reverse((limit.refused, limit.asked)), *nth));
    let left_out = limits.len().saturating_sub(PICTURED);
    if limits.is_empty() {
        return Ok(());
    }
    writeln!(page, "<section aria-labelledby=\"use\"><h2 id=\"use\">How the limits are used</h2>")?;
    for (place, limit) in limits.into_iter().take(PICTURED) {
        writeln!(
            page,
            "<article><h3><bdi>{}</bdi></h3><p class=\"note\">{}</p>",
            Text(&short(&limit.name)),
            Text(&limit.quota)
        )?;
        levels::write(page, pictures, (place, limit), &replayed.tally, names)?;
        peaks::write(page, place, limit, &pictures.peaks(place))?;
        writeln!(page, "</article>")?;
    }
    if left_out > 0 {
        writeln!(
            page,
            "<p class=\"note\">{left_out} more limits refuse less and have no pictures.</p>"
        )?;
    }
    writeln!(page, "</section>")
}
