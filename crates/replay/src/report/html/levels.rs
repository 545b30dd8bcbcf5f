//! How full budgets were over time: for each limit those that it refused most, and those that asked most.

use std::fmt::{self, Write};

use super::super::numbers::{number, percent};
use super::axis::{Share, real, short, words, write_times};
use super::chart::{begin, begin_shapes, end, write_area, write_line};
use super::page::{Text, short as short_name};
use super::stacked::COLUMNS;
use crate::mask::Names;
use crate::pictures::{Drawn, Grid, Level, LimitPicture, Pictures, Whose};
use crate::tally::Tally;

/// How many budgets of one limit are drawn.
const ROWS: usize = 4;

/// Writes the levels under one limit, if there are any.
pub(super) fn write(
    page: &mut String,
    pictures: &Pictures,
    (place, limit): (usize, &LimitPicture),
    tally: &Tally,
    names: &Names,
) -> fmt::Result {
    let rows = pictures.drawn(place, ROWS);
    let (Some(grid), false) = (pictures.grid(), rows.is_empty()) else { return Ok(()) };
    let of_most = match limit.whose {
        Whose::Clients => "What is left to the clients that are refused most, then to the busiest",
        Whose::Keys => "What is left of the budgets that refuse most, then of the busiest",
        Whose::Everybody => "What is left of the budget that all share",
    };
    let count = rows.iter().map(|row| row.levels.len()).max().unwrap_or(0);
    let coarse = grid.in_bins(count, COLUMNS);
    writeln!(
        page,
        "<figure><figcaption><b>Tokens left.</b> {of_most}: the least in each {}.</figcaption>",
        words(coarse.width())
    )?;
    let last = rows.len() - 1;
    for (nth, row) in rows.iter().enumerate() {
        let client = tally.clients().iter().find(|(network, _)| **network == row.client);
        let name = names.of(&row.client, client.map(|(_, client)| client));
        let name = match (limit.whose, row.is_shared) {
            (Whose::Everybody, _) => "everybody".to_owned(),
            (_, true) => format!("{} and others", short_name(&name)),
            (_, false) => short_name(&name),
        };
        let ends = if nth == last { Ends::Last } else { Ends::Not };
        write_row(page, &format!("level-{place}-{nth}"), &name, row, (grid, coarse), ends)?;
    }
    writeln!(
        page,
        "<ul class=\"legend\"><li><i class=\"level\"></i>tokens left</li>\
         <li><i class=\"wash\"></i>requests refused</li></ul>\n</figure>"
    )
}

/// Whether a row has the marks of time below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Last,
    Not,
}

fn write_row(
    page: &mut String,
    id: &str,
    name: &str,
    row: &Drawn,
    (grid, coarse): (Grid, Grid),
    ends: Ends,
) -> fmt::Result {
    let untouched = Level { least: Level::FULL, refused: 0 };
    let levels = grid.join(&row.levels, coarse, untouched, Level::and);
    let refusing = levels.iter().filter(|level| level.refused > 0).count();
    let empty = levels.iter().filter(|level| level.least == 0).count();
    let numbers = format!("{} asked", number(row.asked));
    let refused = match row.refused {
        0 => "none refused".to_owned(),
        refused => format!("{} refused ({})", number(refused), percent(refused, row.asked)),
    };
    writeln!(
        page,
        "<div class=\"rowhead\"><b><bdi>{}</bdi></b><span>{}</span></div>",
        Text(name),
        Text(&format!("{numbers}, {refused}"))
    )?;
    let title = format!("Tokens left to {name}");
    let description = format!(
        "{numbers}, {refused}; empty at some time in {empty} of {} columns, refusing in {refusing}.",
        levels.len()
    );
    let (class, height) = match ends {
        Ends::Last => (" row last", 112),
        Ends::Not => (" row", 74),
    };
    begin(page, (class, height), &id, &title, &description)?;
    if ends == Ends::Last {
        write_times(page, coarse, levels.len())?;
    }
    for (place, label) in [(0.0, short(row.capacity)), (1.0, "0".to_owned())] {
        let class = if place > 0.5 { "base" } else { "rule" };
        writeln!(
            page,
            "<line class=\"{class}\" x1=\"0\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>\
             <text class=\"y\" x=\"-8\" y=\"{y}\" dy=\".32em\">{label}</text>",
            y = Share(place)
        )?;
    }
    begin_shapes(page, levels.len())?;
    let lit = levels.iter().map(|level| if level.refused > 0 { 1.0 } else { 0.0 });
    write_area(page, "wash", lit)?;
    let full = real(Level::FULL.into());
    let left = levels.iter().map(|level| real(level.least.into()) / full);
    write_area(page, "level", left.clone())?;
    write_line(page, "edge", left)?;
    // A strip at the bottom, which is there however high the level stands.
    let strip = levels.iter().map(|level| if level.refused > 0 { 0.1 } else { 0.0 });
    write_area(page, "refused", strip)?;
    end(page)?;
    end(page)
}
