//! Writing structured fields (RFC 9651) by hand, without formatting machinery.

use std::mem;

use bytes::Bytes;
use http::header::HeaderName;
use http::{HeaderValue, Response, StatusCode};
use smallvec::SmallVec;

use crate::escape::percent;

/// Headers in the making, printable ASCII only. They borrow nothing of the decision they tell, and
/// all values share one allocation.
pub(crate) struct Lines {
    /// The lines without anything between them.
    bytes: Vec<u8>,
    /// Where the line begins that is being written.
    start: usize,
    ended: SmallVec<[Line; 6]>,
    families: SmallVec<[Family; 1]>,
}

/// A line that is done.
struct Line {
    name: &'static HeaderName,
    end: usize,
    among: Among,
}

/// What a line does to others of its name.
enum Among {
    /// It stands beside them.
    Others,
    /// It takes their place, if the family with this number is written.
    Family(usize),
}

/// Headers of single values that speak of one limit together. As a whole they stay as an inner
/// limiter or an upstream has set them when that refused the client, or leaves it no more than this.
pub(super) struct Family {
    /// The header that tells what remains.
    pub(super) name: &'static HeaderName,
    /// Reads that from its text.
    pub(super) read: fn(&str) -> Option<u64>,
    /// What would be written there.
    pub(super) remaining: u64,
}

impl Family {
    /// A family whose header is the number alone.
    pub(super) fn of(name: &'static HeaderName, remaining: u64) -> Family {
        Family { name, read: |text| text.parse().ok(), remaining }
    }

    fn stays<B>(&self, response: &Response<B>) -> bool {
        let there = response.headers().get(self.name).and_then(|value| value.to_str().ok());
        there.and_then(self.read).is_some_and(|left| {
            response.status() == StatusCode::TOO_MANY_REQUESTS || left <= self.remaining
        })
    }
}

impl Lines {
    pub(super) fn new() -> Lines {
        Lines { bytes: Vec::new(), start: 0, ended: SmallVec::new(), families: SmallVec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ended.is_empty()
    }

    /// Makes room for what one limit is usually told; more grows.
    pub(super) fn reserve(&mut self) {
        self.bytes.reserve(256);
    }

    /// Begins the lines of one family.
    pub(super) fn family(&mut self, family: Family) {
        self.families.push(family);
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
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
            self.bytes.extend_from_slice(text.as_bytes());
        } else {
            text.bytes().for_each(|byte| self.character(byte));
        }
        self.bytes.push(b'"');
    }

    fn character(&mut self, byte: u8) {
        match byte {
            b'"' | b'\\' => self.bytes.extend([b'\\', byte]),
            b' '..=b'~' => self.bytes.push(byte),
            _ => self.bytes.extend(percent(byte)),
        }
    }

    /// Ends the line: it stands under `name` beside others.
    pub(super) fn append(&mut self, name: &'static HeaderName) {
        self.end(name, Among::Others);
    }

    /// Ends the line: it stands under `name` instead of others, as one of the family begun last.
    pub(super) fn insert(&mut self, name: &'static HeaderName) {
        self.end(name, Among::Family(self.families.len().saturating_sub(1)));
    }

    /// A whole line of one integer.
    pub(super) fn insert_integer(&mut self, name: &'static HeaderName, number: u64) {
        self.integer(number);
        self.insert(name);
    }

    /// Puts all lines under their names; afterwards there are none.
    pub(crate) fn write<B>(&mut self, response: &mut Response<B>) {
        let bytes = Bytes::from(mem::take(&mut self.bytes));
        // One more for the list of what is exposed.
        response.headers_mut().reserve(self.ended.len() + 1);
        let (mut start, mut decided, mut stays) = (0, None, false);
        for Line { name, end, among } in self.ended.drain(..) {
            let line = mem::replace(&mut start, end)..end;
            let value = HeaderValue::from_maybe_shared(bytes.slice(line))
                .expect("only printable ASCII was written");
            match among {
                Among::Others => {
                    response.headers_mut().append(name, value);
                }
                Among::Family(number) => {
                    // The first line of a family decides for all, before it changes anything.
                    if decided.replace(number) != Some(number) {
                        let family = self.families.get(number);
                        stays = family.is_some_and(|family| family.stays(response));
                    }
                    if !stays {
                        response.headers_mut().insert(name, value);
                    }
                }
            }
        }
    }

    fn end(&mut self, name: &'static HeaderName, among: Among) {
        self.start = self.bytes.len();
        self.ended.push(Line { name, end: self.start, among });
    }
}
