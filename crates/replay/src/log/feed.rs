//! One source while it is read.

use std::cell::Cell;
use std::rc::Rc;

use tollgate_core::Tick;

use super::{LogOptions, Part};
use crate::entry::Entry;
use crate::error::ReplayError;
use crate::format::{Format, Parser, Unreadable};
use crate::source::{Lines, Next};

/// One source while it is read.
pub(super) struct Feed {
    name: String,
    lines: Lines,
    parser: Parser,
    number: u64,
    at: Tick,
    /// The last line is still to come.
    yielded: bool,
}

/// What the next line of a source is.
pub(super) enum Step<'f> {
    Entry(Entry<'f>),
    /// A line that cannot be read: its source, its number, why not, and how it begins.
    Unreadable(&'f str, u64, Unreadable, &'f [u8]),
    Blank,
    /// It is later than others may be; it is still to come.
    Yields,
    Ends,
}

impl Feed {
    pub(super) fn open(
        part: Part,
        options: &LogOptions,
        read: Rc<Cell<u64>>,
    ) -> Result<Feed, ReplayError> {
        let mut lines = match part.opened {
            Some(lines) => lines,
            None => part.source.open(read)?,
        };
        // It tells by what lines end.
        lines.head();
        // One without a format has no lines.
        let format = part.format.unwrap_or(Format::Combined);
        let parser = Parser::new(format, &options.fields, &options.wanted);
        let at = part.begins.unwrap_or_default();
        Ok(Feed { name: part.name, lines, parser, number: 0, at, yielded: false })
    }

    /// When its next line was, or the one before.
    pub(super) fn at(&self) -> Tick {
        self.at
    }

    /// The next line, unless it is later than `until`.
    pub(super) fn step(&mut self, until: Tick) -> Step<'_> {
        let Feed { name, lines, parser, number, at, yielded } = self;
        if std::mem::take(yielded) {
            lines.back();
        }
        let line = match lines.next() {
            None => return Step::Ends,
            Some(Next::TooLong(line)) => {
                *number += 1;
                let why = Unreadable { expected: "a line of 1 MiB at most" };
                return Step::Unreadable(name, *number, why, line);
            }
            Some(Next::Line(line)) => line,
        };
        if line.trim_ascii().is_empty() {
            *number += 1;
            return Step::Blank;
        }
        match parser.parse(line) {
            Ok(entry) if entry.at > until && entry.at > *at => {
                *at = entry.at;
                *yielded = true;
                Step::Yields
            }
            Ok(entry) => {
                *number += 1;
                *at = (*at).max(entry.at);
                Step::Entry(entry)
            }
            Err(why) => {
                *number += 1;
                Step::Unreadable(name, *number, why, line)
            }
        }
    }

    /// Its name, and why it ended before its end, if it did.
    pub(super) fn end(self) -> Option<(String, String)> {
        let fault = self.lines.fault()?.to_string();
        Some((self.name, fault))
    }
}
