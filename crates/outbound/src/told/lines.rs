//! The lines of one header field.

use http::HeaderMap;

/// Each line of the field that is text, without the blanks around it.
pub(super) fn each<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h str> {
    headers.get_all(name).iter().filter_map(|line| line.to_str().ok()).map(str::trim)
}

/// The whole field as one list (RFC 9651, 4.2); `None` when it is not there or a line is no text.
pub(super) fn joined(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut whole = String::new();
    for line in headers.get_all(name) {
        if !whole.is_empty() {
            whole.push_str(", ");
        }
        whole.push_str(line.to_str().ok()?);
    }
    (!whole.is_empty()).then_some(whole)
}
