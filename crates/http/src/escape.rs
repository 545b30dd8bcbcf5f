//! Spelling what may not stand plainly in a header or a body.

use std::fmt::Write;

/// `%` and the two upper-case hex digits of a byte.
pub(crate) fn percent(byte: u8) -> [u8; 3] {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'A' - 10 + value };
    [b'%', digit(byte >> 4), digit(byte & 0x0f)]
}

/// Adds `text` to `json` as a string (RFC 8259, 7).
pub(crate) fn json(text: &str, json: &mut String) {
    // ASCII bytes are whole characters, so what is looked for can be looked for byte by byte.
    let special = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    json.push('"');
    // Nearly all texts are plain, and looking at every byte is then faster than stopping at one.
    if !text.bytes().fold(false, |found, byte| found | special(byte)) {
        json.push_str(text);
        json.push('"');
        return;
    }
    let mut rest = text;
    while let Some(at) = rest.bytes().position(special) {
        let (plain, special) = rest.split_at(at);
        json.push_str(plain);
        let mut special = special.chars();
        match special.next() {
            Some(quote @ ('"' | '\\')) => json.extend(['\\', quote]),
            Some(control) => write!(json, "\\u{:04x}", u32::from(control))
                .expect("a String takes whatever is written to it"),
            None => {}
        }
        rest = special.as_str();
    }
    json.push_str(rest);
    json.push('"');
}
