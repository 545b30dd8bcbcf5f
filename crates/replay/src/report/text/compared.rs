//! What other limits would do instead, for people.

use std::fmt::{self, Write};

use super::super::TOP;
use super::super::numbers::number;
use super::table::Table;
use crate::compared::{Change, Compared};
use crate::mask::Names;
use crate::replayed::Replayed;
use crate::shown::visible_lines;
use crate::tally::{LimitTally, Weighed as _};

/// What differs under the other limits, as plain text that stands below [`text`](super::text).
#[must_use]
pub fn text_compared(first: &Replayed, compared: &Compared, names: &Names) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, first, compared, names);
    visible_lines(&text)
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
    for (what, ours, theirs) in [
        ("refused", ours.refused, theirs.refused),
        ("delayed", ours.delayed, theirs.delayed),
        ("would be refused (shadow)", ours.would_refuse, theirs.would_refuse),
        ("under no limit", ours.uncovered, theirs.uncovered),
    ] {
        if ours + theirs > 0 {
            row(what.to_owned(), ours, theirs);
        }
    }
    let pairs = compared.pairs(&first.tally);
    for (ours, theirs) in &pairs {
        let refused = |limit: &Option<&LimitTally>| limit.map_or(0, |limit| limit.refused);
        row(format!("refused by {}", name(*ours, *theirs)), refused(ours), refused(theirs));
    }
    table.write(text, "  ")?;
    for (ours, theirs) in pairs {
        let name = name(ours, theirs);
        match (ours, theirs) {
            (Some(ours), Some(theirs)) if ours.quota != theirs.quota => {
                writeln!(text, "  {name}: {}; with them {}", ours.quota, theirs.quota)?;
            }
            (Some(ours), None) => writeln!(text, "  {name}: {}; not with them", ours.quota)?,
            (None, Some(theirs)) => writeln!(text, "  {name}: {}; only with them", theirs.quota)?,
            _ => {}
        }
    }
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

fn name<'t>(ours: Option<&'t LimitTally>, theirs: Option<&'t LimitTally>) -> &'t str {
    ours.or(theirs).map_or("", |limit| &limit.name)
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
