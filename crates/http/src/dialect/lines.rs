//! Writing structured fields (RFC 9651) by hand, without formatting machinery.

use http::header::{HeaderMap, HeaderName};
use http::{HeaderValue, Response, StatusCode};

use crate::escape::percent;

/// The headers of an answer, to which lines are added, printable ASCII only.
pub(super) struct Lines<'h> {
    headers: &'h mut HeaderMap,
    status: StatusCode,
    /// The line that is being written.
    line: Vec<u8>,
}

impl<'h> Lines<'h> {
    pub(super) fn of<B>(response: &'h mut Response<B>) -> Lines<'h> {
        let status = response.status();
        // What one limit is usually told; a list of several grows it.
        Lines { headers: response.headers_mut(), status, line: Vec::with_capacity(64) }
    }

    /// Whether the single values of a dialect, which speak of one limit together, stay as an inner
    /// limiter or an upstream has set them: when that refused the client, or leaves it no more than
    /// `remaining`. `read` finds what it leaves in the text of `name`.
    pub(super) fn stay(
        &self,
        name: &HeaderName,
        read: fn(&str) -> Option<u64>,
        remaining: u64,
    ) -> bool {
        let there = self.headers.get(name).and_then(|value| value.to_str().ok());
        there
            .and_then(read)
            .is_some_and(|left| self.status == StatusCode::TOO_MANY_REQUESTS || left <= remaining)
    }

    /// Adds a piece that is printable ASCII.
    pub(super) fn raw(&mut self, piece: &(impl AsRef<[u8]> + ?Sized)) {
        self.line.extend_from_slice(piece.as_ref());
    }

    /// Adds the comma between two members of a list, if one is there already.
    pub(super) fn next_member(&mut self) {
        if !self.line.is_empty() {
            self.raw(", ");
        }
    }

    /// Adds an integer; callers keep it within 15 digits.
    pub(super) fn integer(&mut self, number: u64) {
        self.raw(itoa::Buffer::new().format(number));
    }

    /// Ends the line: it stands under `name` beside others.
    pub(super) fn append(&mut self, name: &'static HeaderName) {
        let value = self.end();
        self.headers.append(name, value);
    }

    /// Ends the line: it stands under `name` instead of others.
    pub(super) fn insert(&mut self, name: &'static HeaderName) {
        let value = self.end();
        self.headers.insert(name, value);
    }

    /// A whole line that was written before, beside others.
    pub(super) fn append_whole(&mut self, name: &'static HeaderName, line: &HeaderValue) {
        self.headers.append(name, line.clone());
    }

    /// A whole line that was written before, instead of others.
    pub(super) fn insert_whole(&mut self, name: &'static HeaderName, line: &HeaderValue) {
        self.headers.insert(name, line.clone());
    }

    /// A whole line of one integer, instead of others.
    pub(super) fn insert_integer(&mut self, name: &'static HeaderName, number: u64) {
        self.headers.insert(name, integer(number));
    }

    fn end(&mut self) -> HeaderValue {
        let value = HeaderValue::from_bytes(&self.line).expect("only printable ASCII was written");
        self.line.clear();
        value
    }
}

/// A whole line of one integer. (`HeaderValue::from` allocates twice.)
pub(crate) fn integer(number: u64) -> HeaderValue {
    let line = HeaderValue::from_str(itoa::Buffer::new().format(number));
    line.expect("digits are printable ASCII")
}

/// Adds `text` to `line` as a quoted string. What is not printable ASCII has no place in one and is
/// written as `%` and the two hex digits of each byte.
pub(super) fn quote(text: &str, line: &mut Vec<u8>) {
    line.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => line.extend([b'\\', byte]),
            b' '..=b'~' => line.push(byte),
            _ => line.extend(percent(byte)),
        }
    }
    line.push(b'"');
}
