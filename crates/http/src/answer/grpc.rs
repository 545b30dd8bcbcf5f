//! Answers without a message as gRPC has them: HTTP 200, everything in the headers, no body
//! ("Trailers-Only").
//!
//! A bare 429 would reach the client as UNAVAILABLE, which it retries at once.

mod status;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::Refusal;
use crate::escape::percent;

static GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
static GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
static GRPC_DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
static GRPC_PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// The content type of a gRPC request, of whatever encoding; `None` for any other request.
#[must_use]
pub fn content_type(request: &HeaderMap) -> Option<&HeaderValue> {
    let value = request.get(CONTENT_TYPE)?;
    let is_grpc = value.as_bytes().get(..16)?.eq_ignore_ascii_case(b"application/grpc");
    is_grpc.then_some(value)
}

/// An answer of this status (google.rpc.Code) and message, but for its content type.
#[must_use]
pub fn answer(code: u16, text: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    let headers = response.headers_mut();
    headers.insert(&GRPC_STATUS, code.into());
    headers.insert(&GRPC_MESSAGE, message(text));
    response
}

/// The answer to a refused call, but for its content type.
pub(super) fn refusal(refusal: &Refusal<'_>, text: &str) -> Response<Bytes> {
    let code = code(refusal);
    let mut response = answer(code, text);
    let headers = response.headers_mut();
    if let (Refusal::Unasked(_), Some(seconds)) = (refusal, refusal.retry_after()) {
        headers.insert(&GRPC_PUSHBACK, seconds.saturating_mul(1_000).into());
    }
    if let Refusal::Limited(_) = refusal {
        let details = STANDARD_NO_PAD.encode(status::encode(code, refusal, text));
        headers.insert(&GRPC_DETAILS, ascii(&details));
        // A negative pushback tells the client not to retry at all (gRFC A6).
        let pushback = refusal.decisive().and_then(|answer| answer.retry_after());
        headers.insert(
            &GRPC_PUSHBACK,
            pushback.map_or(HeaderValue::from_static("-1"), |span| {
                span.as_micros().div_ceil(1_000).into()
            }),
        );
    }
    response
}

/// The canonical status code (google.rpc.Code).
fn code(refusal: &Refusal<'_>) -> u16 {
    match refusal {
        Refusal::Limited(_) => 8,
        Refusal::Denied => 7,
        Refusal::Keyless(_) | Refusal::Unreadable(_) => 3,
        Refusal::Unasked(_) => 14,
    }
}

/// UTF-8 with all but printable ASCII, and `%` itself, percent-encoded.
fn message(text: &str) -> HeaderValue {
    let mut message = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' => message.extend(percent(byte)),
            b' '..=b'~' => message.push(byte),
            _ => message.extend(percent(byte)),
        }
    }
    HeaderValue::from_bytes(&message).expect("only printable ASCII was written")
}

fn ascii(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("base64 is ASCII")
}
