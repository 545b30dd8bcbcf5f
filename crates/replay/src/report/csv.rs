//! A replay as CSV.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::TOP_FOR_MACHINES;
use crate::mask::Names;
use crate::replayed::Replayed;
use crate::shown::visible;
use crate::tally::Weighed;

/// The columns of [`csv`].
const HEAD: &str = "kind,name,requests,passed,refused,would_refuse,delayed,busiest_minute";

/// A replay as CSV (RFC 4180) with one head: a row of kind `total`, one of kind `limit` for each limit,
/// and `client` and `route` rows for those with the most requests. `requests` of a limit are those it was
/// asked about; what is not told of a kind is empty.
#[must_use]
pub fn csv(replayed: &Replayed, names: &Names) -> String {
    let tally = &replayed.tally;
    let mut text = format!("{HEAD}\r\n");
    let mut row = |kind: &str, name: &str, numbers: [u64; 5], minute: Option<u32>| {
        let name = field(name);
        let [requests, passed, refused, would_refuse, delayed] = numbers;
        let minute = minute.map(|most| most.to_string()).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "{kind},{name},{requests},{passed},{refused},{would_refuse},{delayed},{minute}\r\n"
        );
    };
    let totals = &tally.totals;
    let numbers =
        [totals.requests(), totals.passed, totals.refused, totals.would_refuse, totals.delayed];
    row("total", "", numbers, Some(tally.peaks.minute.most()));
    for limit in tally.limits() {
        let passed = limit.asked - limit.refused - limit.delayed;
        let (refused, would) = match limit.effect {
            tollgate_core::Effect::Enforce => (limit.refused, 0),
            tollgate_core::Effect::Shadow => (0, limit.refused),
        };
        row("limit", &limit.name, [limit.asked, passed, refused, would, limit.delayed], None);
    }
    for (network, client) in tally.clients().top(TOP_FOR_MACHINES, Weighed::weight) {
        let passed = client.requests - client.refused - client.delayed;
        let numbers =
            [client.requests, passed, client.refused, client.would_refuse, client.delayed];
        let minute = Some(client.peaks.minute.most());
        row("client", &names.of(network, Some(client)), numbers, minute);
    }
    for (label, route) in tally.routes().top(TOP_FOR_MACHINES, Weighed::weight) {
        let passed = route.requests - route.refused - route.delayed;
        let numbers = [route.requests, passed, route.refused, route.would_refuse, route.delayed];
        row("route", &String::from_utf8_lossy(label), numbers, None);
    }
    text
}

/// A field, on one line, between quotes where it has to be. What a spreadsheet would take for a formula is made text.
fn field(text: &str) -> Cow<'_, str> {
    let text = visible(text);
    let formula = text.starts_with(['=', '+', '-', '@']);
    match formula || text.contains(['"', ',']) {
        true => {
            let mark = if formula { "'" } else { "" };
            Cow::Owned(format!("\"{mark}{}\"", text.replace('"', "\"\"")))
        }
        false => text,
    }
}
