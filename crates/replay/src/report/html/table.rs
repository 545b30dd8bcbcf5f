//! Tables, which on a narrow screen become a card for each row.

use std::fmt::{self, Display, Write};

use super::page::{Text, share};

/// One cell.
pub(super) enum Cell {
    /// A number; one of hits stands out.
    Number(String),
    Hit(String),
    /// Words, over the whole line of a card.
    Words(String),
    /// A share, with a bar.
    Share(u64, u64),
}

/// What a row is about: a name that may come from anywhere, tags, and a line below it.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) tag: Option<&'static str>,
    pub(super) below: Option<String>,
    pub(super) cells: Vec<Cell>,
}

impl Row {
    pub(super) fn new(name: impl Into<String>, cells: impl Into<Vec<Cell>>) -> Row {
        Row { name: name.into(), tag: None, below: None, cells: cells.into() }
    }
}

impl Cell {
    fn is_number(&self) -> bool {
        !matches!(self, Cell::Words(_))
    }

    fn is_nothing(&self) -> bool {
        match self {
            Cell::Number(text) | Cell::Hit(text) | Cell::Words(text) => {
                matches!(text.as_str(), "" | "0")
            }
            Cell::Share(part, _) => *part == 0,
        }
    }
}

/// Writes a table. Columns of nothing are left out.
pub(super) fn write(
    page: &mut String,
    about: &dyn Display,
    heads: &[&str],
    rows: &[Row],
) -> fmt::Result {
    let (what, heads) = heads.split_first().map_or(("", heads), |(first, rest)| (*first, rest));
    let shown: Vec<(usize, &str)> = heads
        .iter()
        .copied()
        .enumerate()
        .filter(|(nth, _)| {
            rows.iter().any(|row| row.cells.get(*nth).is_some_and(|cell| !cell.is_nothing()))
        })
        .collect();
    let is_number =
        |nth: usize| rows.iter().all(|row| row.cells.get(nth).is_none_or(Cell::is_number));
    write!(page, "<table aria-label=\"{about}\"><thead><tr><th scope=\"col\">{what}</th>")?;
    for (nth, head) in &shown {
        let class = if is_number(*nth) { " class=\"n\"" } else { "" };
        write!(page, "<th scope=\"col\"{class}>{head}</th>")?;
    }
    writeln!(page, "</tr></thead><tbody>")?;
    for row in rows {
        write!(page, "<tr><th scope=\"row\"><bdi>{}</bdi>", Text(&row.name))?;
        if let Some(tag) = row.tag {
            write!(page, "<span class=\"tag\">{tag}</span>")?;
        }
        if let Some(below) = &row.below {
            write!(page, "<small>{}</small>", Text(below))?;
        }
        write!(page, "</th>")?;
        for (nth, head) in &shown {
            match row.cells.get(*nth) {
                Some(Cell::Number(text)) => {
                    write!(page, "<td class=\"n\" data-head=\"{head}\">{text}</td>")?
                }
                Some(Cell::Hit(text)) => {
                    let hit = if text == "0" { "" } else { " hit" };
                    write!(page, "<td class=\"n{hit}\" data-head=\"{head}\">{text}</td>")?;
                }
                Some(Cell::Words(text)) => {
                    write!(
                        page,
                        "<td class=\"wholeline\" data-head=\"{head}\">{}</td>",
                        Text(text)
                    )?;
                }
                Some(Cell::Share(part, whole)) => {
                    let share = share(*part, *whole);
                    let width = u128::from(*part) * 100 / u128::from((*whole).max(1));
                    write!(
                        page,
                        "<td class=\"n\" data-head=\"{head}\"><span class=\"bar\"><i style=\"width:{width}%\">\
                         </i></span><span>{share}</span></td>"
                    )?;
                }
                None => write!(page, "<td></td>")?,
            }
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody></table>")
}
