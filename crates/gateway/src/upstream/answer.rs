//! What a server has answered, made ready for the client.

use std::time::Duration;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Response, StatusCode, Version};
use http_body_util::Either;
use hyper::body::Incoming;

use super::server::Asked;
use crate::body::{AnswerBody, Ends, UpstreamBody, whole};
use crate::framing::Fault;
use crate::hop;
use crate::tunnel::{Switch, Tunnels};

/// Answers in which silence is no fault: events come when there are any.
const STREAMS: [&[u8]; 2] = [b"text/event-stream", b"application/grpc"];

/// The answer as it is sent on. Its body may be silent for so long: `patience.0` as a rule,
/// `patience.1` if it is a stream of events.
///
/// # Errors
/// When its framing is ambiguous, or it switches to a protocol that was not asked for.
pub(super) fn answer(
    mut response: Response<Incoming>,
    asked: Asked,
    patience: (Option<Duration>, Option<Duration>),
    switch: Option<(Switch, &Tunnels)>,
) -> Result<Response<AnswerBody>, Fault> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let unasked = || asked.invalid("it switches to a protocol that was not asked for");
        let (switch, tunnels) = switch.ok_or_else(unasked)?;
        switch.accept(&mut response, asked, tunnels)?;
        let (mut parts, _) = response.into_parts();
        parts.version = Version::default();
        return Ok(Response::from_parts(parts, Either::Left(whole(""))));
    }
    let (mut parts, body) = response.into_parts();
    if !settle_coding(&mut parts.headers) {
        return Err(asked.invalid("its answer has more transfer codings than `chunked`"));
    }
    if !settle_length(&mut parts.headers) {
        return Err(asked.invalid("its answer says its length in more than one way"));
    }
    if parts.status == StatusCode::NO_CONTENT {
        parts.headers.remove(CONTENT_LENGTH);
    }
    let ends = Ends::of(parts.version);
    hop::strip_response(&mut parts.headers);
    parts.version = Version::default();
    let patience = if is_stream(&parts.headers) { patience.1 } else { patience.0 };
    Ok(Response::from_parts(parts, Either::Right(UpstreamBody::new(body, ends, patience, asked))))
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes());
    kind.is_some_and(|kind| {
        let is = |stream: &[u8]| {
            kind.get(..stream.len()).is_some_and(|start| start.eq_ignore_ascii_case(stream))
        };
        STREAMS.iter().any(|stream| is(stream))
    })
}

/// Where an answer is chunked, what it says of its length counts for nothing (RFC 9112, 6.3), and to
/// pass that on would cut the body off. A coding other than `chunked` was not asked for, and the
/// client would not know of it.
///
/// Whether it could be settled.
fn settle_coding(headers: &mut HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => {
            headers.remove(CONTENT_LENGTH);
            true
        }
        _ => false,
    }
}

/// A length that is said more than once, and always the same, is said once from here on: to pass it on
/// as it came is for the client to settle (RFC 9112, 6.3).
///
/// Whether it could be settled.
fn settle_length(headers: &mut HeaderMap) -> bool {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let mut lines = headers.get_all(CONTENT_LENGTH).iter();
    match (lines.next(), lines.next()) {
        (None, _) => return true,
        (Some(only), None) if is_number(only.as_bytes()) => return true,
        _ => {}
    }
    let lines = headers.get_all(CONTENT_LENGTH).iter();
    let mut lengths = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let first = lengths.next().map(<[u8]>::trim_ascii).filter(|length| is_number(length));
    let Some(length) = first.filter(|first| lengths.all(|length| length.trim_ascii() == *first))
    else {
        return false;
    };
    let Ok(length) = HeaderValue::from_bytes(length) else { return false };
    headers.insert(CONTENT_LENGTH, length);
    true
}
