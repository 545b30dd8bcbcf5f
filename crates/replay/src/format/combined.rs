//! The common and the combined log format.

use tollgate_core::{Span, Tick};

use super::Unreadable;
use super::times::Times;
use crate::entry::{Client, Entry, Line, Others, cut};

/// What a line begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    Client,
    /// The virtual host, and then the client.
    Host,
}

/// Reads a line: client, identity, user, time, request, status, bytes, then perhaps referer and agent,
/// then perhaps how many seconds it took. Whatever follows is passed over.
pub(super) fn parse<'l>(
    line: &'l [u8],
    lead: Lead,
    times: &mut Times,
    scratch: &'l mut Vec<u8>,
) -> Result<Entry<'l>, Unreadable> {
    let (host, rest) = match lead {
        Lead::Client => (None, line),
        Lead::Host => {
            let (host, rest) = word(line).ok_or(expected("a host at the beginning"))?;
            (some(host), rest)
        }
    };
    let (client, rest) = word(rest).ok_or(expected("a client at the beginning"))?;
    let client = Client::read(client);
    if lead == Lead::Host && !matches!(client, Client::Address(_)) {
        return Err(expected("the address of a client behind the host"));
    }
    let (_, rest) = word(rest).ok_or(expected("an identity, or `-`, behind the client"))?;
    let (user, at, rest) = user_and_time(rest, times).ok_or(expected(
        "a time in brackets, of 1970 to 2255, such as `[17/May/2015:10:05:03 +0000]`",
    ))?;
    let (request, rest) = quoted(rest).ok_or(expected("a request between quotes"))?;
    let (status, rest) = word(rest).ok_or(expected("a status behind the request"))?;
    let status =
        status_of(status).ok_or(expected("a status of three digits behind the request"))?;
    let (bytes, rest) = word(rest).unwrap_or((rest, b""));
    let bytes = number_or_absent(bytes).ok_or(expected("a number of bytes, or `-`"))?;
    let (referer, agent, took) = match rest {
        b"" => (None, None, None),
        _ => {
            let (referer, rest) = quoted(rest).ok_or(expected("a referer between quotes"))?;
            let (agent, rest) = quoted(rest).ok_or(expected("a user agent between quotes"))?;
            (Some(referer), Some(agent), seconds(rest))
        }
    };
    let escaped = [Some(user), Some(request), referer, agent];
    // Escapes are rare, so a line is looked through for one before its parts are.
    let [user, request, referer, agent] = match memchr::memchr(b'\\', line) {
        None => escaped,
        Some(_) => unescaped(escaped, scratch),
    };
    Ok(Entry {
        at,
        client,
        user: user.and_then(some),
        request: Line::read(request.unwrap_or_default()),
        host,
        status,
        bytes,
        length: None,
        took,
        referer: referer.and_then(some),
        agent: agent.and_then(some),
        others: Others::new(),
    })
}

const fn expected(expected: &'static str) -> Unreadable {
    Unreadable { expected }
}

/// A value, unless it is the sign for none.
fn some(text: &[u8]) -> Option<&[u8]> {
    Some(text).filter(|text| !matches!(*text, b"" | b"-"))
}

/// What stands before the next blank, and what behind it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (word, rest) = cut(text, memchr::memchr(b' ', text)?);
    (!word.is_empty()).then_some((word, rest))
}

/// The user, and the time behind it. A user may have blanks and brackets in it, so its end is where a
/// time begins.
fn user_and_time<'l>(text: &'l [u8], times: &mut Times) -> Option<(&'l [u8], Tick, &'l [u8])> {
    memchr::memchr_iter(b'[', text).find_map(|at| {
        let user = text.get(..at)?.strip_suffix(b" ")?;
        let (time, rest) = text.get(at + 1..)?.split_first_chunk()?;
        let rest = rest.strip_prefix(b"] ")?;
        Some((user, times.common(time)?, rest))
    })
}

/// What stands between quotes, escapes and all, and what behind them.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b'"', b'\\', inner.get(from..)?)?;
        if inner.get(at) == Some(&b'"') {
            let (inside, rest) = cut(inner, at);
            return Some((inside, rest.strip_prefix(b" ").unwrap_or(rest)));
        }
        from = at + 2;
    }
}

/// `-` is none, as where a client went before it was answered.
fn status_of(text: &[u8]) -> Option<Option<u16>> {
    match text {
        b"-" => Some(None),
        [a, b, c] if [a, b, c].iter().all(|digit| digit.is_ascii_digit()) => {
            let digits = [*a, *b, *c].map(|digit| u16::from(digit - b'0'));
            Some(Some(digits.into_iter().fold(0, |status, digit| status * 10 + digit)))
        }
        _ => None,
    }
}

fn number_or_absent(text: &[u8]) -> Option<Option<u64>> {
    match text {
        b"-" => Some(None),
        _ => number(text).map(Some),
    }
}

/// Digits; `None` for anything else, and for more than 64 bits.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.checked_sub(b'0').filter(|digit| *digit <= 9).map(u64::from);
    let add = |sum: u64, byte: &u8| sum.checked_mul(10)?.checked_add(digit(byte)?);
    text.iter().try_fold(0, add).filter(|_| !text.is_empty())
}

/// nginx's `$request_time`: seconds with a point. Without one it may be anything.
fn seconds(text: &[u8]) -> Option<Span> {
    let end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
    let (whole, part) = cut(text.get(..end)?, text.iter().position(|byte| *byte == b'.')?);
    let millis = number(part).filter(|_| part.len() == 3)?;
    number(whole)?.checked_mul(1_000)?.checked_add(millis).map(Span::from_millis)
}

/// The same without escapes: `\x16` is the byte, `\"` and `\\` are themselves, as are `\n` and `\t`.
fn unescaped<'l>(texts: [Option<&'l [u8]>; 4], scratch: &'l mut Vec<u8>) -> [Option<&'l [u8]>; 4] {
    scratch.clear();
    let mut ends = [0; 4];
    for (text, end) in texts.iter().zip(&mut ends) {
        unescape(text.unwrap_or_default(), scratch);
        *end = scratch.len();
    }
    let plain: &'l [u8] = scratch;
    let mut from = 0;
    let mut of = texts.into_iter().zip(ends).map(|(text, end)| {
        let part = plain.get(from..end);
        from = end;
        text.and(part)
    });
    std::array::from_fn(|_| of.next().flatten())
}

fn unescape(text: &[u8], plain: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, after) = cut(rest, at);
        plain.extend_from_slice(before);
        let hex = |digit: &u8| char::from(*digit).to_digit(16);
        let (byte, used) = match after {
            [b'x', high, low, ..] => match (hex(high), hex(low)) {
                (Some(high), Some(low)) => (u8::try_from(high * 16 + low).unwrap_or(0), 3),
                _ => (b'x', 1),
            },
            [b'n', ..] => (b'\n', 1),
            [b't', ..] => (b'\t', 1),
            [b'r', ..] => (b'\r', 1),
            [other, ..] => (*other, 1),
            [] => (b'\\', 0),
        };
        plain.push(byte);
        rest = after.get(used..).unwrap_or_default();
    }
    plain.extend_from_slice(rest);
}
