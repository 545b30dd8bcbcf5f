//! Writing structured fields (RFC 9651) by hand, without formatting machinery.

use std::ops::Range;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{HeaderMap, HeaderName};
use smallvec::SmallVec;

use crate::escape::percent;

/// Header values in the making, printable ASCII only. All of one answer share one allocation.
pub(super) struct Lines {
    bytes: Vec<u8>,
    start: usize,
    ended: SmallVec<[(&'static HeaderName, Range<usize>, Existing); 8]>,
}

/// What becomes of the lines that an answer already has under a name.
#[derive(Clone, Copy)]
enum Existing {
    Kept,
    Replaced,
}

impl Lines {
    pub(super) fn new() -> Lines {
        // Two policies with long names fit; more grow.
        Lines { bytes: Vec::with_capacity(256), start: 0, ended: SmallVec::new() }
    }

    /// Adds a piece of syntax.
    pub(super) fn raw(&mut self, text: &'static str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Adds the comma between two members of a list, if one is there already.
    pub(super) fn next_member(&mut self) {
        if self.bytes.len() > self.start {
            self.raw(", ");
        }
    }

    /// Adds an integer; callers keep it within 15 digits.
    pub(super) fn integer(&mut self, number: u64) {
        self.bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    /// Adds `text` as a quoted string. What is not printable ASCII has no place in one and is
    /// written as `%` and the two hex digits of each byte.
    pub(super) fn string(&mut self, text: &str) {
        self.bytes.push(b'"');
        for byte in text.bytes() {
            match byte {
                b'"' | b'\\' => self.bytes.extend([b'\\', byte]),
                b' '..=b'~' => self.bytes.push(byte),
                _ => self.bytes.extend(percent(byte)),
            }
        }
        self.bytes.push(b'"');
    }

    /// Ends the line: it stands under `name` beside others.
    pub(super) fn append(&mut self, name: &'static HeaderName) {
        self.end(name, Existing::Kept);
    }

    /// Ends the line: it stands under `name` instead of others.
    pub(super) fn insert(&mut self, name: &'static HeaderName) {
        self.end(name, Existing::Replaced);
    }

    /// A whole line of one integer.
    pub(super) fn insert_integer(&mut self, name: &'static HeaderName, number: u64) {
        self.integer(number);
        self.insert(name);
    }

    /// Puts all lines under their names.
    pub(super) fn write(self, headers: &mut HeaderMap) {
        let bytes = Bytes::from(self.bytes);
        headers.reserve(self.ended.len());
        for (name, range, existing) in self.ended {
            let value = HeaderValue::from_maybe_shared(bytes.slice(range))
                .expect("only printable ASCII was written");
            match existing {
                Existing::Kept => {
                    headers.append(name, value);
                }
                Existing::Replaced => {
                    headers.insert(name, value);
                }
            }
        }
    }

    fn end(&mut self, name: &'static HeaderName, existing: Existing) {
        self.ended.push((name, self.start..self.bytes.len(), existing));
        self.start = self.bytes.len();
    }
}
