//! A number in the data of server-sent events: that of the last event that has one.

use super::json::{Field, Number};

/// Reads a stream of events (HTML, 9.2.6) as far as it takes to find their data.
pub(in crate::layer) struct Events {
    field: Field,
    last: Option<Number>,
    line: Line,
}

/// Where in a line it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// At its start.
    Start,
    /// At its start, behind a carriage return: a line feed belongs to that.
    Feed,
    /// In a name of which so many bytes are those of `data`.
    Name(usize),
    /// Behind the colon: a blank is not part of the value.
    Colon,
    /// In the data.
    Data,
    /// In a line of no interest.
    Other,
}

const DATA: &[u8] = b"data";

impl Events {
    pub(super) fn new(path: &[Box<str>]) -> Events {
        Events { field: Field::new(path), last: None, line: Line::Start }
    }

    /// What was found as yet.
    pub(super) fn number(&self) -> Option<Number> {
        self.field.number().or(self.last)
    }

    /// Reads on.
    pub(super) fn see(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some((&byte, after)) = rest.split_first() {
            self.line = match (self.line, byte) {
                (Line::Data | Line::Other, _) => {
                    let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
                    let (text, behind) = rest.split_at(end.unwrap_or(rest.len()));
                    if self.line == Line::Data {
                        self.field.see(text);
                    }
                    let Some((ending, behind)) = behind.split_first() else { return };
                    if self.line == Line::Data {
                        // Data of several lines has a line feed between them.
                        self.field.see(b"\n");
                    }
                    self.line = if *ending == b'\r' { Line::Feed } else { Line::Start };
                    rest = behind;
                    continue;
                }
                (Line::Feed, b'\n') => Line::Start,
                (Line::Start | Line::Feed, b'\r') => self.end_event(Line::Feed),
                (Line::Start, b'\n') => self.end_event(Line::Start),
                (Line::Start | Line::Feed, b'd') => Line::Name(1),
                (Line::Name(read), b':') if read == DATA.len() => Line::Colon,
                (Line::Name(read), _) if DATA.get(read) == Some(&byte) => {
                    Line::Name(read.saturating_add(1))
                }
                (Line::Colon, b' ') => Line::Data,
                (Line::Colon, _) => {
                    self.line = Line::Data;
                    continue;
                }
                (Line::Start | Line::Feed | Line::Name(_), _) => {
                    self.line = Line::Other;
                    continue;
                }
            };
            rest = after;
        }
    }

    fn end_event(&mut self, line: Line) -> Line {
        self.last = self.field.number().or(self.last);
        self.field.restart();
        line
    }
}

#[cfg(test)]
mod tests;
