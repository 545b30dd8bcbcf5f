//! `x-ratelimit-epoch`, `x-ratelimit-delta` and `x-rate-limit-epoch`: three bare numbers.
//!
//! No standard says what the reset means: Unix seconds at GitHub, X, Laravel and Flask-Limiter,
//! seconds from now elsewhere.

use http::header::HeaderName;

use super::lines::Lines;
use super::said::Told;

/// Limit, remaining and reset, spelled as GitHub does.
pub(super) static PLAIN: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

/// The same, spelled as X does.
pub(super) static HYPHENATED: [HeaderName; 3] = [
    HeaderName::from_static("x-rate-limit-limit"),
    HeaderName::from_static("x-rate-limit-remaining"),
    HeaderName::from_static("x-rate-limit-reset"),
];

/// What the reset is counted from.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    /// Seconds since 1970.
    Epoch,
    /// Seconds from now.
    Delta,
}

pub(super) fn write(
    [limit, remaining, reset]: &'static [HeaderName; 3],
    unit: Unit,
    told: Told<'_>,
    lines: &mut Lines<'_>,
) {
    let Some((terms, figures)) = told.decisive() else { return };
    if lines.stay(remaining, |text| text.parse().ok(), figures.remaining) {
        return;
    }
    lines.insert_whole(limit, terms.limit_line.clone());
    lines.insert_integer(remaining, figures.remaining);
    let instant = match unit {
        Unit::Epoch => figures.at,
        Unit::Delta => figures.after,
    };
    lines.insert_integer(reset, instant);
}
