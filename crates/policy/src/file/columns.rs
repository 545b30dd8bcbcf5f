//! Files of customers: lines of a value and what belongs to it, with commas between (RFC 4180).

#[cfg(test)]
mod tests;

use std::io::Read;

use crate::config::{Problem, Reading, Text};
use crate::finding::Complaint;

/// The most bytes a file of customers may have.
const MOST: u64 = 64 << 20;

/// How many of its lines are complained of.
const TOLD: usize = 20;

/// Reads the file that `path` names and gives each line that is not empty and no comment, with its
/// number and columns, to `line`. What is wrong is told at the place of `path`, with the number of
/// the line; nothing of a line is quoted, since its value may be a customer's key.
pub(super) fn read_lines(
    reading: &Reading<'_>,
    path: &Text,
    expected: &str,
    mut line: impl FnMut(u32, &[String]) -> Result<(), Complaint>,
) -> Option<()> {
    let text = text(reading, path)?;
    let (mut wrong, mut columns) = (0usize, Vec::new());
    for (nth, written) in (1u32..).zip(text.lines()) {
        let trimmed = written.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let read = match split(written, &mut columns) {
            Ok(()) => line(nth, &columns),
            Err(message) => Err(Complaint::new(message, expected)),
        };
        let Err(complaint) = read else { continue };
        wrong += 1;
        if wrong <= TOLD {
            let message = format!("{}, line {nth}: {}", path.shown(), complaint.message);
            reading.report(Problem::error(path.span(), message, complaint.expected));
        }
    }
    if wrong > TOLD {
        let message = format!("{}: {} more lines are wrong", path.shown(), wrong - TOLD);
        reading.report(Problem::error(path.span(), message, expected));
    }
    (wrong == 0).then_some(())
}

fn text(reading: &Reading<'_>, path: &Text) -> Option<String> {
    let mut text = String::new();
    let file = std::fs::File::open(reading.path(path));
    let read = file.and_then(|file| file.take(MOST + 1).read_to_string(&mut text));
    let why = match read {
        Ok(_) if u64::try_from(text.len()).is_ok_and(|length| length <= MOST) => {
            // A mark of the byte order, as some editors write it, is no part of the first value.
            return Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text));
        }
        Ok(_) => format!("it is longer than {} MiB", MOST >> 20),
        // The system's own words name no path.
        Err(error) => error.to_string(),
    };
    let message = format!("`{}` cannot be read: {why}", path.shown());
    reading.report(Problem::error(path.span(), message, "a readable file, beside this one"));
    None
}

/// The columns of one line. Blanks around a column are no part of it; between quotes they are.
fn split(line: &str, columns: &mut Vec<String>) -> Result<(), &'static str> {
    columns.clear();
    let mut rest = line;
    loop {
        let begun = rest.trim_start();
        let (column, behind) = match begun.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let end = begun.find(',').unwrap_or(begun.len());
                let (column, behind) = begun.split_at_checked(end).unwrap_or((begun, ""));
                if column.contains('"') {
                    return Err("a quote within a column that does not begin with one");
                }
                (column.trim_end().to_owned(), behind)
            }
        };
        columns.push(column);
        let behind = behind.trim_start();
        match behind.strip_prefix(',') {
            Some(more) => rest = more,
            None if behind.is_empty() => return Ok(()),
            None => return Err("something stands between a closing quote and the next comma"),
        }
    }
}

/// A column up to its closing quote, and what follows; `""` is a quote.
fn unquote(mut rest: &str) -> Result<(String, &str), &'static str> {
    let mut column = String::new();
    loop {
        let (before, after) = rest.split_once('"').ok_or("a quote that is not closed")?;
        column.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                column.push('"');
                rest = more;
            }
            None => return Ok((column, after)),
        }
    }
}
