//! Writing structured fields (RFC 9651) by hand, without formatting machinery.

use std::ptr;

use http::header::{HeaderMap, HeaderName, ValuesMut};
use http::{HeaderValue, Response, StatusCode};

use super::blank::Blank;
use super::integer::integer;
use super::text::Text;
use crate::escape::percent;

/// Lines, printable ASCII only, on their way into the headers of an answer.
pub(crate) struct Lines<'h> {
    target: Target<'h>,
    status: StatusCode,
    /// The line that is being written.
    line: Text,
    /// The first line that has no place in the blank, and all after it.
    rest: Vec<Line>,
}

enum Target<'h> {
    /// Headers that others have begun.
    Begun(&'h mut HeaderMap),
    /// A copy of a blank: the names and the places that wait for a value.
    Blank(&'h [&'static HeaderName], ValuesMut<'h, HeaderValue>),
}

struct Line {
    name: &'static HeaderName,
    value: HeaderValue,
    stands: Stands,
}

/// Where a line stands that has a name which is there already.
#[derive(Clone, Copy)]
enum Stands {
    Beside,
    Instead,
}

impl Lines<'_> {
    /// Has lines written into the headers of `response`; `blank` is what they are when nothing else
    /// is there and nothing is left out.
    pub(crate) fn write<B>(
        response: &mut Response<B>,
        blank: &Blank,
        write: impl FnOnce(&mut Lines<'_>),
    ) {
        let (status, headers) = (response.status(), response.headers_mut());
        if !headers.is_empty() {
            return write(&mut Lines::into(Target::Begun(headers), status));
        }
        *headers = blank.headers.clone();
        let mut lines = Lines::into(Target::Blank(&blank.names, headers.values_mut()), status);
        write(&mut lines);
        let Lines { target, rest, .. } = lines;
        let unused = match target {
            Target::Blank(names, _) => names.len(),
            Target::Begun(_) => 0,
        };
        // From the last, so that no header moves into the place of one that goes.
        for name in blank.names.iter().rev().take(unused) {
            headers.remove(*name);
        }
        for Line { name, value, stands } in rest {
            put(headers, name, value, stands);
        }
    }

    fn into(target: Target<'_>, status: StatusCode) -> Lines<'_> {
        Lines { target, status, line: Text::new(), rest: Vec::new() }
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
        let Target::Begun(headers) = &self.target else { return false };
        let there = headers.get(name).and_then(|value| value.to_str().ok());
        there
            .and_then(read)
            .is_some_and(|left| self.status == StatusCode::TOO_MANY_REQUESTS || left <= remaining)
    }

    /// Adds a piece that is printable ASCII.
    pub(super) fn raw(&mut self, piece: &(impl AsRef<[u8]> + ?Sized)) {
        self.line.push(piece.as_ref());
    }

    /// Adds the comma between two members of a list, if one is there already.
    pub(super) fn next_member(&mut self) {
        if !self.line.as_bytes().is_empty() {
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
        self.append_whole(name, value);
    }

    /// Ends the line: it stands under `name` instead of others.
    pub(super) fn insert(&mut self, name: &'static HeaderName) {
        let value = self.end();
        self.insert_whole(name, value);
    }

    /// A whole line that was written before, beside others.
    pub(crate) fn append_whole(&mut self, name: &'static HeaderName, value: HeaderValue) {
        self.put(name, value, Stands::Beside);
    }

    /// A whole line that was written before, instead of others.
    pub(crate) fn insert_whole(&mut self, name: &'static HeaderName, value: HeaderValue) {
        self.put(name, value, Stands::Instead);
    }

    /// A whole line of one integer, instead of others.
    pub(crate) fn insert_integer(&mut self, name: &'static HeaderName, number: u64) {
        self.insert_whole(name, integer(number));
    }

    fn end(&mut self) -> HeaderValue {
        let value = HeaderValue::from_bytes(self.line.as_bytes());
        self.line.clear();
        value.expect("only printable ASCII was written")
    }

    fn put(&mut self, name: &'static HeaderName, value: HeaderValue, stands: Stands) {
        match &mut self.target {
            Target::Begun(headers) => put(headers, name, value, stands),
            Target::Blank(names, places) => {
                // Names are few and static, so that one is known by where it stands.
                if let Some((next, others)) = names.split_first()
                    && ptr::eq(*next, name)
                    && let Some(place) = places.next()
                {
                    *place = value;
                    *names = others;
                } else {
                    self.rest.push(Line { name, value, stands });
                }
            }
        }
    }
}

fn put(headers: &mut HeaderMap, name: &'static HeaderName, value: HeaderValue, stands: Stands) {
    match stands {
        Stands::Beside => drop(headers.append(name, value)),
        Stands::Instead => drop(headers.insert(name, value)),
    }
}

/// Adds `text` to `line` as a quoted string. What is not printable ASCII has no place in one and is
/// written as `%` and the two hex digits of each byte.
pub(crate) fn quote(text: &str, line: &mut Vec<u8>) {
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
