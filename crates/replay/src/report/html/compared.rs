//! What other limits would do instead.

use std::fmt::{self, Write};

use super::super::numbers::number;
use super::page::{Text, short};
use super::stacked;
use super::summary::counted;
use super::table::{self, Cell, Row};
use crate::compared::{Change, Compared};
use crate::mask::Names;
use crate::replayed::Replayed;
use crate::tally::{LimitTally, Weighed as _};

const TOP: usize = 15;
const LIMITS: usize = 100;

/// Writes what differs under the other limits.
pub(super) fn write(
    page: &mut String,
    first: &Replayed,
    compared: &Compared,
    names: &Names,
) -> fmt::Result {
    let Compared { other, changes } = compared;
    let Change { newly, no_longer } = changes.total;
    writeln!(
        page,
        "<section aria-labelledby=\"compared\"><h2 id=\"compared\">Compared with \
         <bdi>{}</bdi></h2>",
        Text(&other.limits)
    )?;
    match changes.total.weight() {
        0 => writeln!(page, "<p>The other limits refuse exactly the same requests.</p>")?,
        _ => writeln!(
            page,
            "<p>The other limits refuse {} that pass here, and let through {} that are refused here.</p>",
            counted(newly, "request"),
            number(no_longer)
        )?,
    }
    stacked::write_two(page, &first.tally.timeline, &other.tally.timeline, first.effects)?;
    let (ours, theirs) = (&first.tally.totals, &other.tally.totals);
    let totals = [
        ("allowed", ours.passed, theirs.passed),
        ("delayed", ours.delayed, theirs.delayed),
        ("refused", ours.refused, theirs.refused),
        ("refused in shadow", ours.would_refuse, theirs.would_refuse),
        ("under no limit", ours.uncovered, theirs.uncovered),
    ];
    let totals = totals.into_iter().filter(|(_, ours, theirs)| ours + theirs > 0);
    let rows: Vec<Row> = totals.map(|(what, ours, theirs)| both(what, ours, theirs)).collect();
    let heads = ["requests", "these limits", "the other limits", "difference"];
    table::write(page, &"requests under both", &heads, &rows)?;
    let pairs = compared.pairs(&first.tally);
    let rows: Vec<Row> = pairs
        .iter()
        .take(LIMITS)
        .map(|(ours, theirs)| {
            let refused = |limit: &Option<&LimitTally>| limit.map_or(0, |limit| limit.refused);
            let quota = |limit: &Option<&LimitTally>| match limit {
                Some(limit) => limit.quota.clone(),
                None => "not there".to_owned(),
            };
            let name = ours.or(*theirs).map(|limit| short(&limit.name)).unwrap_or_default();
            let (was, becomes) = (quota(ours), quota(theirs));
            let below = if was == becomes { was } else { format!("{was} → {becomes}") };
            Row { below: Some(below), ..both(&name, refused(ours), refused(theirs)) }
        })
        .collect();
    if !rows.is_empty() {
        let heads = ["limit", "refused here", "refused there", "difference"];
        table::write(page, &"limits under both", &heads, &rows)?;
    }
    let clients = changes.clients.top(TOP, Change::weight);
    let clients = clients.into_iter().map(|(network, change)| {
        let client = first.tally.clients().iter().find(|(other, _)| *other == network);
        let client = client.map(|(_, client)| client);
        let requests = client.map_or(0, |client| client.requests);
        changed(short(&names.of(network, client)), requests, *change)
    });
    write_changes(page, "client", clients.collect())?;
    let routes = changes.routes.top(TOP, Change::weight);
    let routes = routes.into_iter().map(|(label, change)| {
        let route = first.tally.routes().iter().find(|(other, _)| *other == label);
        let requests = route.map_or(0, |(_, route)| route.requests);
        changed(short(&crate::shown(label)), requests, *change)
    });
    write_changes(page, "route", routes.collect())?;
    writeln!(page, "</section>")
}

fn write_changes(page: &mut String, what: &str, rows: Vec<Row>) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(page, "<article><h3>By {what}</h3>")?;
    let heads = [what, "requests", "newly refused", "no longer refused"];
    table::write(page, &format_args!("changes by {what}"), &heads, &rows)?;
    writeln!(page, "</article>")
}

fn changed(name: String, requests: u64, change: Change) -> Row {
    let cells = [
        Cell::Number(number(requests)),
        Cell::Hit(number(change.newly)),
        Cell::Number(number(change.no_longer)),
    ];
    Row::new(name, cells)
}

fn both(what: &str, ours: u64, theirs: u64) -> Row {
    let difference = match theirs.abs_diff(ours) {
        0 => String::new(),
        more if theirs > ours => format!("+{}", number(more)),
        less => format!("−{}", number(less)),
    };
    let cells =
        [Cell::Number(number(ours)), Cell::Number(number(theirs)), Cell::Number(difference)];
    Row::new(what, cells)
}
