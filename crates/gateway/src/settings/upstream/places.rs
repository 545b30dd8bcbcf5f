//! `max_in_flight` of an upstream, and who waits for a place.

use std::time::Duration;

use tollgate_core::Span;
use tollgate_policy::config::{Problem, Section};

use crate::upstream::PlacesSpec;

/// The most requests at once, and the most that wait.
const MOST: u64 = 1_000_000;

const MAX_WAIT: &str =
    "a length of time from `1ms` to `1m`, such as `1s`; `max_waiting = 0` lets nobody wait";

/// Reads the keys; what is wrong is noted in the reading.
pub(super) fn read(section: &mut Section<'_>) -> Option<PlacesSpec> {
    let max_in_flight = section.take("max_in_flight");
    let (waiting, wait) = (section.take("max_waiting"), section.take("max_wait"));
    let reading = section.reading();
    let Some(max_in_flight) = max_in_flight else {
        for alone in [waiting, wait].into_iter().flatten() {
            let message = format!("`{}` means nothing without `max_in_flight`", alone.path());
            let expected = "`max_in_flight` beside it, such as `max_in_flight = 100`";
            reading.report(Problem::error(alone.span(), message, expected));
        }
        return None;
    };
    let max_in_flight = max_in_flight.integer(1..=MOST);
    let max_waiting = waiting.map(|waiting| waiting.integer(0..=MOST));
    if let (Some(Some(0)), Some(wait)) = (max_waiting, &wait) {
        let message = format!("`{}` means nothing where nobody may wait", wait.path());
        let expected = "no `max_wait` beside `max_waiting = 0`";
        reading.report(Problem::error(wait.span(), message, expected));
        return None;
    }
    let max_wait = match wait.map(|wait| wait.text(MAX_WAIT)) {
        None => Duration::from_secs(1),
        Some(text) => {
            let text = text?;
            let span = reading.parse::<Span>(&text, MAX_WAIT)?;
            if !(Span::from_millis(1)..=Span::MINUTE).contains(&span) {
                reading.refuse(&text, "no request should wait so long or so short", MAX_WAIT);
                return None;
            }
            span.into()
        }
    };
    let max_in_flight = u32::try_from(max_in_flight?).ok()?;
    let max_waiting = match max_waiting {
        None => max_in_flight,
        Some(waiting) => u32::try_from(waiting?).ok()?,
    };
    Some(PlacesSpec { max_in_flight, max_waiting, max_wait })
}
