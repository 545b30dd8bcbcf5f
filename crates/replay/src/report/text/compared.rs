//! What other limits would do instead, for people.

use std::fmt::{self, Write};

use super::super::TOP;
use super::super::numbers::number;
use super::table::Table;
use crate::compared::{Change, Compared};
use crate::mask::Names;
use crate::replayed::Replayed;
use crate::tally::Weighed as _;

/// What differs under the other limits, as plain text that stands below [`text`](super::text).
#[must_use]
pub fn text_compared(first: &Replayed, compared: &Compared, names: &Names) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, first, compared, names);
    text
}

fn write(text: &mut String, first: &Replayed, compared: &Compared, names: &Names) -> fmt::Result {
    let Compared { other, changes } = compared;
    let Change { newly, no_longer } = changes.total;
    writeln!(text, "\nCompared with the limits of {}", other.limits)?;
    match changes.total.weight() {
        0 => writeln!(text, "  They refuse exactly the same requests.")?,
        _ => writeln!(
            text,
            "  They refuse {} that pass above, and let {} pass that are refused above.",
            number(newly),
            number(no_longer)
        )?,
    }
    let mut table = Table::new();
    table.head(["", "above", "with them", "difference"]);
    let mut row = |what: String, ours: u64, theirs: u64| {
        let sign = if theirs > ours { "+" } else { "-" };
        let difference = match theirs.abs_diff(ours) {
            0 => String::new(),
            difference => format!("{sign}{}", number(difference)),
        };
        table.row([what, number(ours), number(theirs), difference]);
    };
    let (ours, theirs) = (&first.tally.totals, &other.tally.totals);
    row("refused".to_owned(), ours.refused, theirs.refused);
    row("delayed".to_owned(), ours.delayed, theirs.delayed);
    row("would be refused (shadow)".to_owned(), ours.would_refuse, theirs.would_refuse);
    row("under no limit".to_owned(), ours.uncovered, theirs.uncovered);
    for (ours, theirs) in compared.pairs(&first.tally) {
        let name = ours.or(theirs).map(|limit| limit.name.as_str()).unwrap_or_default();
        let quota = match (ours, theirs) {
            (Some(ours), Some(theirs)) if ours.quota == theirs.quota => ours.quota.clone(),
            (Some(ours), Some(theirs)) => format!("{}; with them {}", ours.quota, theirs.quota),
            (Some(ours), None) => format!("{}; not with them", ours.quota),
            (None, Some(theirs)) => format!("{}; only with them", theirs.quota),
            (None, None) => String::new(),
        };
        let refused = |limit: Option<&crate::tally::LimitTally>| limit.map_or(0, |l| l.refused);
        row(format!("refused by {name} ({quota})"), refused(ours), refused(theirs));
    }
    table.write(text, "  ")?;
    let clients = changes.clients.top(TOP, Change::weight);
    let clients = clients.into_iter().map(|(network, change)| {
        let client = first.tally.clients().iter().find(|(other, _)| *other == network);
        (names.of(network, client.map(|(_, client)| client)), *change)
    });
    write_changes(text, "Clients", clients.collect())?;
    let routes = changes.routes.top(TOP, Change::weight);
    let routes = routes.into_iter().map(|(label, change)| (crate::shown(label), *change));
    write_changes(text, "Routes", routes.collect())
}

fn write_changes(text: &mut String, what: &str, changes: Vec<(String, Change)>) -> fmt::Result {
    if changes.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n{what} for which most changes")?;
    let mut table = Table::new();
    table.head(["", "newly refused", "no longer refused"]);
    for (name, change) in changes {
        table.row([name, number(change.newly), number(change.no_longer)]);
    }
    table.write(text, "  ")
}
