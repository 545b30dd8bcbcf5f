//! The head of a request: its lines, and how they say where the body ends.

use std::iter;

use memchr::{memchr, memchr_iter};

use super::{Fault, HeadLimits};

/// What a head says of the bytes behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) body: Body,
    /// Whether it asks that another protocol follows it. A request with a body cannot: it would have
    /// to be read first. Who offers HTTP/2 in this way goes on in HTTP/1 if nobody agrees, which we
    /// never do (RFC 9113, 3.1).
    pub(super) switches: bool,
}

/// How long the body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    None,
    Sized(u64),
    Chunked,
}

/// Where the head ends, if its end is among `bytes`, of which `scanned` were searched before.
///
/// A bare line feed is refused here, since a head that is ended by two of them has no other end.
pub(super) fn end(bytes: &[u8], scanned: usize) -> Result<Option<usize>, Fault> {
    // An end may have begun among the bytes that were searched.
    let from = scanned.saturating_sub(3);
    for at in memchr_iter(b'\n', bytes.get(from..).unwrap_or_default()) {
        let at = from + at;
        let line = bytes.get(..at).unwrap_or_default();
        if !line.ends_with(b"\r") {
            return Err(Fault::malformed("expected lines that end with CR LF"));
        }
        if line.ends_with(b"\r\n\r") {
            return Ok(Some(at + 1));
        }
    }
    Ok(None)
}

/// Reads a whole head and says what follows it.
pub(super) fn read(head: &[u8], limits: HeadLimits) -> Result<Head, Fault> {
    let mut lines = lines(head);
    let version = request_line(lines.next().unwrap_or_default(), limits)?;
    let mut body = Body::None;
    let mut switches = false;
    let mut headers = 0;
    for text in lines {
        headers += 1;
        if headers > limits.headers {
            return Err(Fault::MANY_HEADERS);
        }
        let (name, value) = field(text)?;
        let said = if name.eq_ignore_ascii_case(b"content-length") {
            Body::Sized(length(value)?)
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            chunked(value, version)?
        } else {
            if name.eq_ignore_ascii_case(b"upgrade") {
                switches |= !value.eq_ignore_ascii_case(b"h2c");
            }
            continue;
        };
        if body != Body::None {
            return Err(Fault::malformed("expected the length of the body to be said once"));
        }
        body = said;
    }
    let bodiless = matches!(body, Body::None | Body::Sized(0));
    Ok(Head { body, switches: switches && bodiless && version == Version::Http11 })
}

/// The lines of a head without their ends, up to the empty one behind the last header.
fn lines(mut head: &[u8]) -> impl Iterator<Item = &[u8]> {
    iter::from_fn(move || {
        let end = memchr(b'\n', head)?;
        let (line, behind) = head.split_at_checked(end + 1)?;
        head = behind;
        line.strip_suffix(b"\r\n").filter(|line| !line.is_empty())
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Http10,
    Http11,
}

fn request_line(line: &[u8], limits: HeadLimits) -> Result<Version, Fault> {
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Fault::malformed(
            "expected a method, a target and a version in the first line",
        ));
    };
    if !is_token(method) {
        return Err(Fault::malformed("expected a method of letters"));
    }
    if target.len() > limits.target {
        return Err(Fault::LONG_TARGET);
    }
    if !is_usual(target) {
        check(target)?;
    }
    match version {
        b"HTTP/1.1" => Ok(Version::Http11),
        b"HTTP/1.0" => Ok(Version::Http10),
        other if other.starts_with(b"HTTP/") => Err(Fault::VERSION),
        _ => Err(Fault::malformed("expected a version behind the request target")),
    }
}

fn check(target: &[u8]) -> Result<(), Fault> {
    if target.is_empty() || target.iter().any(u8::is_ascii_control) {
        return Err(Fault::malformed("expected a request target without control characters"));
    }
    if target.contains(&b'#') {
        return Err(Fault::malformed("expected a request target without `#`, which is never sent"));
    }
    // hyper's own answer to what it cannot take as a target would say nothing.
    match http::Uri::try_from(target) {
        Ok(_) => Ok(()),
        Err(_) => Err(Fault::malformed(
            "expected a request target in which `<`, `>` and the like are escaped",
        )),
    }
}

/// The name and the value of a header line, the value without the space around it.
pub(super) fn field(line: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let colon = memchr(b':', line);
    let (name, value) = colon
        .and_then(|at| Some((line.get(..at)?, line.get(at + 1..)?)))
        .ok_or(Fault::malformed("expected a colon in every header line"))?;
    // A folded line begins with a space, which no name does.
    if !is_token(name) {
        return Err(Fault::malformed("expected header names without spaces, and no folded lines"));
    }
    // Looking at every byte is faster than stopping at one, since next to none is a control character.
    let is_control = |byte: u8| byte.is_ascii_control() && byte != b'\t';
    if value.iter().fold(false, |found, byte| found | is_control(*byte)) {
        return Err(Fault::malformed("expected header values without control characters"));
    }
    Ok((name, value.trim_ascii()))
}

fn length(value: &[u8]) -> Result<u64, Fault> {
    // 18 digits cannot overflow, and no body is longer.
    let digits = Some(value).filter(|v| v.len() <= 18 && v.iter().all(u8::is_ascii_digit));
    digits
        .and_then(|digits| str::from_utf8(digits).ok()?.parse().ok())
        .ok_or(Fault::malformed("expected one whole number as the content-length"))
}

fn chunked(value: &[u8], version: Version) -> Result<Body, Fault> {
    if version == Version::Http10 {
        return Err(Fault::malformed("expected no transfer-encoding in HTTP/1.0"));
    }
    if !value.eq_ignore_ascii_case(b"chunked") {
        return Err(Fault::malformed("expected `chunked` as the only transfer-encoding"));
    }
    Ok(Body::Chunked)
}

fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && TOKEN.has_all(text)
}

/// Whether a target is one at first sight, as nearly all are: a path, perhaps with a query, of what
/// may stand in one without a doubt.
fn is_usual(target: &[u8]) -> bool {
    target.starts_with(b"/") && USUAL.has_all(target)
}

static TOKEN: Bytes = Bytes::of(b"!#$%&'*+-.^_`|~");
static USUAL: Bytes = Bytes::of(b"!$%&'()*+,-./:;=?@_~");

/// Letters, digits and some other bytes, in a table, since every byte of a head is looked for.
struct Bytes([bool; 256]);

impl Bytes {
    const fn of(others: &[u8]) -> Bytes {
        let mut table = [false; 256];
        let mut places: &mut [bool] = &mut table;
        let mut byte = 0_u8;
        while let Some((place, rest)) = places.split_first_mut() {
            *place = byte.is_ascii_alphanumeric() || is_among(others, byte);
            byte = byte.wrapping_add(1);
            places = rest;
        }
        Bytes(table)
    }

    fn has_all(&self, text: &[u8]) -> bool {
        text.iter().all(|byte| self.0.get(usize::from(*byte)).is_some_and(|has| *has))
    }
}

const fn is_among(mut bytes: &[u8], sought: u8) -> bool {
    while let Some((byte, rest)) = bytes.split_first() {
        if *byte == sought {
            return true;
        }
        bytes = rest;
    }
    false
}
