//! `google.rpc.Status` with `RetryInfo` and `QuotaFailure`, encoded by hand: four small messages of
//! google/rpc/status.proto and error_details.proto do not call for a compiler of their own.

use super::super::Refusal;

/// The status of a refusal: its code and text, how long to wait, and each limit that refuses.
pub(super) fn encode(code: u16, refusal: &Refusal<'_>, text: &str) -> Vec<u8> {
    let mut status = Vec::new();
    integer(&mut status, 1, code.into());
    bytes(&mut status, 2, text.as_bytes());
    if let Some(span) = refusal.decisive().and_then(|answer| answer.retry_after()) {
        let micros = span.as_micros();
        let mut delay = Vec::new();
        integer(&mut delay, 1, micros / 1_000_000);
        integer(&mut delay, 2, micros % 1_000_000 * 1_000);
        let mut retry_info = Vec::new();
        bytes(&mut retry_info, 1, &delay);
        any(&mut status, b"type.googleapis.com/google.rpc.RetryInfo", &retry_info);
    }
    let mut failure = Vec::new();
    for name in refusal.violated() {
        let mut violation = Vec::new();
        bytes(&mut violation, 1, format!("limit:{name}").as_bytes());
        bytes(&mut violation, 2, text.as_bytes());
        bytes(&mut failure, 1, &violation);
    }
    any(&mut status, b"type.googleapis.com/google.rpc.QuotaFailure", &failure);
    status
}

/// One entry of `details`, field 3 of the status.
fn any(status: &mut Vec<u8>, type_url: &[u8], value: &[u8]) {
    let mut any = Vec::new();
    bytes(&mut any, 1, type_url);
    bytes(&mut any, 2, value);
    bytes(status, 3, &any);
}

/// A field of wire type 0. Zero is the default and not written.
fn integer(message: &mut Vec<u8>, field: u8, number: u64) {
    if number > 0 {
        message.push(field << 3);
        varint(message, number);
    }
}

/// A field of wire type 2.
fn bytes(message: &mut Vec<u8>, field: u8, content: &[u8]) {
    message.push(field << 3 | 2);
    varint(message, u64::try_from(content.len()).unwrap_or(u64::MAX));
    message.extend_from_slice(content);
}

/// Seven bits a byte, the lowest first, the top bit set while more follow.
fn varint(message: &mut Vec<u8>, mut number: u64) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            message.push(low & 0x7f);
            return;
        }
        message.push(low | 0x80);
    }
}
