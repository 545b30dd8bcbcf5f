//! Writing structured fields (RFC 9651) by hand, without formatting machinery.

use http::HeaderValue;

use crate::escape::percent;

/// One header value in the making: printable ASCII only, so that every line is a valid value.
pub(super) struct Line(Vec<u8>);

impl Line {
    pub(super) fn new() -> Line {
        // Two policies with long names fit; a longer line grows.
        Line(Vec::with_capacity(128))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a piece of syntax.
    pub(super) fn raw(&mut self, text: &'static str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Adds the comma between two members of a list, if one is there already.
    pub(super) fn next_member(&mut self) {
        if !self.0.is_empty() {
            self.raw(", ");
        }
    }

    /// Adds an integer; callers keep it within 15 digits.
    pub(super) fn integer(&mut self, number: u64) {
        self.0.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    /// Adds `text` as a quoted string. What is not printable ASCII has no place in one and is
    /// written as `%` and the two hex digits of each byte.
    pub(super) fn string(&mut self, text: &str) {
        self.0.push(b'"');
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
            self.0.extend_from_slice(text.as_bytes());
        } else {
            text.bytes().for_each(|byte| self.character(byte));
        }
        self.0.push(b'"');
    }

    fn character(&mut self, byte: u8) {
        match byte {
            b'"' | b'\\' => self.0.extend([b'\\', byte]),
            b' '..=b'~' => self.0.push(byte),
            _ => self.0.extend(percent(byte)),
        }
    }

    /// The line as a header value; the next one begins empty.
    pub(super) fn take(&mut self) -> HeaderValue {
        let value = HeaderValue::from_bytes(&self.0).expect("only printable ASCII was written");
        self.0.clear();
        value
    }
}

/// A number alone as a header value.
pub(super) fn number(number: u64) -> HeaderValue {
    HeaderValue::from_str(itoa::Buffer::new().format(number)).expect("digits are ASCII")
}
