//! Any headers of an answer, one per line: nothing panics, and no reset is beyond reason.

#![no_main]

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use libfuzzer_sys::fuzz_target;
use tollgate_core::{Span, Tick};
use tollgate_outbound::Told;

/// The longest reset that is believed.
const FURTHEST: Span = Span::from_secs(31 * 24 * 60 * 60);

fuzz_target!(|input: (u16, u64, &[u8])| {
    let (status, local, lines) = input;
    let mut headers = HeaderMap::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    let status = StatusCode::from_u16(100 + status % 500).expect("it lies from 100 to 599");
    let told = Told::read(status, &headers, Tick::from_micros(local));
    for allowance in told.allowances() {
        assert!(allowance.reset.is_none_or(|reset| reset <= FURTHEST));
    }
    if !headers.contains_key("retry-after") {
        assert!(told.retry_after().is_none_or(|span| span <= FURTHEST));
    }
});
