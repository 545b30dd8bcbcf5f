//! The items of a list header, the last one first.

use std::iter::Rev;

use http::HeaderValue;
use http::header::{GetAll, ValueIter};

/// Real chains have a handful; past this they are an attack on the reader.
pub(super) const MOST_ITEMS: usize = 64;
const MOST_BYTES: usize = 8 * 1024;

/// One item without the space around it, or that the bounds are reached.
pub(super) type Item<'h> = Result<&'h [u8], TooLong>;

/// There is more than 64 items or 8 KiB; it is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    Comma,
    /// A comma that no quoted string (RFC 9110, 5.6.4) holds.
    UnquotedComma,
}

/// The items of all lines joined by commas, from the right; empty ones are passed over.
///
/// Once too long, it says so for ever.
pub(super) struct Items<'h> {
    lines: Rev<ValueIter<'h, HeaderValue>>,
    separator: Separator,
    /// What is unread of a line.
    line: Option<&'h [u8]>,
    /// Whether the line began further left than may be read.
    line_is_cut: bool,
    bytes_left: usize,
    items_left: usize,
}

impl<'h> Items<'h> {
    pub(super) fn new(lines: GetAll<'h, HeaderValue>, separator: Separator) -> Items<'h> {
        Items {
            lines: lines.into_iter().rev(),
            separator,
            line: None,
            line_is_cut: false,
            bytes_left: MOST_BYTES,
            items_left: MOST_ITEMS,
        }
    }

    /// The unread part of the line at hand, or the next line to the left.
    fn line(&mut self) -> Option<&'h [u8]> {
        if let Some(line) = self.line.take() {
            return Some(line);
        }
        let line = self.lines.next()?.as_bytes();
        let readable = line.len().min(self.bytes_left);
        self.line_is_cut = readable < line.len();
        // The comma that joins two lines counts.
        self.bytes_left = self.bytes_left.saturating_sub(line.len() + 1);
        line.get(line.len() - readable..)
    }
}

impl<'h> Iterator for Items<'h> {
    type Item = Item<'h>;

    fn next(&mut self) -> Option<Item<'h>> {
        loop {
            let line = self.line()?;
            let (before, item) = match self.separator.last_in(line) {
                Some(at) => (line.get(..at), line.get(at + 1..).unwrap_or_default()),
                None => (None, line),
            };
            let item = item.trim_ascii();
            let starts_unseen = before.is_none() && self.line_is_cut;
            let one_too_many = self.items_left == 0 && !item.is_empty();
            if starts_unseen || one_too_many {
                self.line = Some(line);
                return Some(Err(TooLong));
            }
            self.line = before;
            if !item.is_empty() {
                self.items_left -= 1;
                return Some(Ok(item));
            }
        }
    }
}

impl Separator {
    /// Where the last separator of a line stands.
    fn last_in(self, line: &[u8]) -> Option<usize> {
        match self {
            Separator::Comma => line.iter().rposition(|&byte| byte == b','),
            Separator::UnquotedComma => last_unquoted_comma(line),
        }
    }
}

/// Read from the right, because who wrote the left may have opened a quote and never closed it.
///
/// That is exact for what a proxy appended in good form: there the first quote from the right ends
/// a string, and the string begins at the next quote that has no backslash before it.
fn last_unquoted_comma(line: &[u8]) -> Option<usize> {
    let mut inside = false;
    for (at, byte) in line.iter().enumerate().rev() {
        match byte {
            b'"' if !inside => inside = true,
            b'"' => inside = is_escaped(line, at),
            b',' if !inside => return Some(at),
            _ => {}
        }
    }
    None
}

fn is_escaped(line: &[u8], at: usize) -> bool {
    let before = line.get(..at).unwrap_or_default();
    before.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}
