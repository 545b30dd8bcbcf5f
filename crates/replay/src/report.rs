//! A replay, told: to people as text and as a page, to machines as JSON and CSV.

mod csv;
mod file;
mod html;
mod json;
mod numbers;
mod text;

pub use csv::csv;
pub use file::toml;
pub use html::html;
pub use json::{json, json_compared, json_tuned};
pub use text::{text, text_compared, text_tuned};

use jiff::Timestamp;
use tollgate_core::{Span, Tick};

/// How many clients, routes and bursts are told.
const TOP: usize = 10;

/// How many clients and routes machines are told.
const TOP_FOR_MACHINES: usize = 1_000;

/// A time in UTC, to the second.
fn time(at: Tick, form: &str) -> String {
    let micros = i64::try_from(at.as_micros()).unwrap_or(0);
    Timestamp::from_microsecond(micros).unwrap_or_default().strftime(form).to_string()
}

/// RFC 3339.
const RFC_3339: &str = "%Y-%m-%dT%H:%M:%SZ";
/// For people.
const PLAIN: &str = "%Y-%m-%d %H:%M:%S";

/// A span without more than people read: whole milliseconds.
fn rounded(span: Span) -> String {
    Span::from_millis(span.as_micros().div_ceil(1_000)).to_string()
}
