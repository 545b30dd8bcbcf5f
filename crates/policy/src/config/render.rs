//! A problem as a compiler shows it.

use std::fmt;

use super::problem::{Problem, Severity};
use super::secret::{hidden, hidden_line};
use super::source::Source;

/// The most characters of a line that are shown.
const WIDTH: usize = 100;

/// Writes a problem with its place, its line and a caret, each line ended.
pub(super) fn write(f: &mut fmt::Formatter<'_>, source: &Source, problem: &Problem) -> fmt::Result {
    let span = problem.span();
    let (line_number, column) = position(source.text(), span.start);
    let severity = match problem.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let gutter = " ".repeat(line_number.to_string().len());
    writeln!(f, "{severity}: {}", printable(&hidden(problem.message())))?;
    writeln!(f, "{gutter}--> {}:{line_number}:{column}", source.name())?;
    writeln!(f, "{gutter} |")?;
    let (above, line) = line_at(source.text(), span.start);
    let (shown, before) = window(&hidden_line(above, line), column);
    writeln!(f, "{line_number} | {}", printable(&shown))?;
    let marked = source.text().get(span).unwrap_or_default();
    let marked = marked.lines().next().unwrap_or_default().chars().count();
    let room = shown.chars().count().saturating_sub(before);
    let carets = "^".repeat(marked.min(room).max(1));
    writeln!(f, "{gutter} | {}{carets}", " ".repeat(before))?;
    writeln!(f, "{gutter} = expected {}", printable(problem.expected()))?;
    match problem.advice() {
        Some(help) => writeln!(f, "{gutter} = help: {}", printable(&hidden(help))),
        None => Ok(()),
    }
}

/// The line and column of a byte, both from 1.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before.get(line_start..).unwrap_or_default().chars().count() + 1)
}

/// All that stands before the line of a byte, and that line.
fn line_at(text: &str, at: usize) -> (&str, &str) {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let end = after.find('\n').map_or(text.len(), |newline| at + newline);
    (text.get(..start).unwrap_or_default(), text.get(start..end).unwrap_or_default())
}

/// The part of a line around `column`, and how many characters of it stand before the column.
fn window(line: &str, column: usize) -> (String, usize) {
    let before = column.saturating_sub(1);
    let start = before.saturating_sub(WIDTH / 2);
    (line.trim_end().chars().skip(start).take(WIDTH).collect(), before - start)
}

/// The most characters of a message that are shown: it may quote a value of the file.
const MESSAGE: usize = 400;

/// Without the characters with which a file could take over a terminal, or turn its text around
/// (Unicode's controls of direction, UAX 9).
fn printable(text: &str) -> String {
    let (shown_part, rest) = match text.char_indices().nth(MESSAGE) {
        Some((at, _)) => (text.get(..at).unwrap_or(text), "…"),
        None => (text, ""),
    };
    let plain = shown_part.chars().map(|c| if c == '\t' { ' ' } else { c }).map(shown);
    plain.chain(rest.chars()).collect()
}

fn shown(character: char) -> char {
    match character {
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        _ if character.is_control() => char::REPLACEMENT_CHARACTER,
        _ => character,
    }
}
