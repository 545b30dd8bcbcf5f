//! What came of it, in one sentence and a few numbers, and what was run on what.

use std::fmt::{self, Write};

use super::super::numbers::number;
use super::super::{PLAIN, time};
use super::page::{Text, share, short};
use crate::mask::Names;
use crate::replayed::Replayed;
use crate::run::Effects;
use crate::tally::{ClientTally, Tally};

/// How many sources of a log are named.
const SOURCES: usize = 20;

/// Whom the limits would hit, in one sentence.
pub(super) fn sentence(tally: &Tally) -> String {
    let totals = &tally.totals;
    let all = counted(totals.requests(), "request");
    let of_all = |count: u64| {
        let share = share(count, totals.requests());
        format!("{} of {all} ({share})", number(count))
    };
    if totals.requests() == 0 {
        return "There is no request to decide.".to_owned();
    }
    let hit = match (totals.refused, totals.would_refuse) {
        (0, 0) if totals.delayed > 0 => {
            let delayed = number(totals.delayed);
            return format!(
                "These limits would refuse nobody: of {all}, {delayed} would have to wait."
            );
        }
        (0, 0) => return format!("These limits would refuse nobody: all of {all} pass."),
        (refused, 0) => of_all(refused),
        (0, would) => format!("{}, if they did more than watch", of_all(would)),
        (refused, would) => {
            format!("{}, and {} more if they did more than watch", of_all(refused), number(would))
        }
    };
    let clients = tally.clients();
    let is_hit = |client: &ClientTally| client.refused + client.would_refuse > 0;
    let of_clients = clients.iter().filter(|(_, client)| is_hit(client)).count();
    let ordinary = match tally.ordinary().clients_refused {
        0 => "none of them looks like an ordinary user".to_owned(),
        1 => "1 of them looks like an ordinary user".to_owned(),
        some => format!("{} of them look like ordinary users", number(some)),
    };
    format!(
        "These limits would refuse {hit}: they hit {} of {}, and {ordinary}.",
        number(u64::try_from(of_clients).unwrap_or(0)),
        counted(u64::try_from(clients.len()).unwrap_or(0), "client"),
    )
}

/// Writes whom they would hit most.
pub(super) fn write_lead(page: &mut String, tally: &Tally, names: &Names) -> fmt::Result {
    let top = tally.clients().top(1, |client| client.refused + client.would_refuse);
    let Some((network, client)) = top.first() else { return Ok(()) };
    let name = short(&names.of(network, Some(client)));
    let robot = if client.is_robot { ", which names a robot or a tool," } else { "" };
    let hit = client.refused + client.would_refuse;
    writeln!(
        page,
        "<p class=\"lead\">Hit most is <bdi>{}</bdi>{robot} with {} of its {} ({}).</p>",
        Text(&name),
        number(hit),
        counted(client.requests, "request"),
        share(hit, client.requests)
    )
}

/// Writes the numbers that matter most.
pub(super) fn write_tiles(page: &mut String, tally: &Tally) -> fmt::Result {
    let totals = &tally.totals;
    let all = totals.requests();
    writeln!(page, "<ul class=\"tiles\">")?;
    let mut tile = |count: u64, what: &str, more: &str| {
        let count = number(count);
        writeln!(
            page,
            "<li><b>{count}</b><span class=\"what\">{what}</span><span>{more}</span></li>"
        )
    };
    let clients = u64::try_from(tally.clients().len()).unwrap_or(0);
    tile(all, "requests", &format!("of {}", counted(clients, "client")))?;
    tile(totals.passed, "allowed", &share(totals.passed, all))?;
    if totals.delayed > 0 {
        tile(totals.delayed, "delayed", &share(totals.delayed, all))?;
    }
    tile(totals.refused, "refused", &share(totals.refused, all))?;
    if totals.would_refuse > 0 {
        tile(totals.would_refuse, "refused in shadow", &share(totals.would_refuse, all))?;
    }
    tile(totals.uncovered, "under no limit", &share(totals.uncovered, all))?;
    let minute = tally.peaks.minute;
    let when = format!("{} UTC", time(minute.when(), "%-d %b, %H:%M"));
    tile(minute.most().into(), "in the busiest minute", &when)?;
    writeln!(page, "</ul>")
}

/// Writes what was run on what.
pub(super) fn write_run(
    page: &mut String,
    replayed: &Replayed,
    other: Option<&str>,
) -> fmt::Result {
    let Replayed { log, tally, sources, .. } = replayed;
    writeln!(
        page,
        "<section aria-labelledby=\"run\"><h2 id=\"run\">What was run on what</h2>\n<dl>"
    )?;
    writeln!(page, "<dt>Log</dt><dd>")?;
    for (name, format) in sources.iter().take(SOURCES) {
        let format = format.map_or("no lines", |format| format.name());
        writeln!(page, "<div><code><bdi>{}</bdi></code> ({format})</div>", Text(&short(name)))?;
    }
    if let Some(more) = sources.len().checked_sub(SOURCES).filter(|more| *more > 0) {
        writeln!(page, "<div>and {more} more</div>")?;
    }
    writeln!(
        page,
        "</dd><dt>Lines</dt><dd>{}, of them {}, {} unreadable</dd>",
        counted(log.lines, "line"),
        counted(log.entries, "request"),
        number(log.unreadable)
    )?;
    if let (Some(first), Some(last)) = (tally.totals.first, tally.totals.last) {
        let (from, to) = (time(first, PLAIN), time(last, PLAIN));
        writeln!(page, "<dt>Time</dt><dd>{from} to {to}, all times in UTC</dd>")?;
    }
    let effects = match replayed.effects {
        Effects::AsGiven => "",
        Effects::Shadow => ", which only watch here (<code>--shadow</code>)",
    };
    let limits = Text(&replayed.limits).to_string();
    writeln!(page, "<dt>Limits</dt><dd><code><bdi>{limits}</bdi></code>{effects}</dd>")?;
    if let Some(other) = other {
        writeln!(page, "<dt>Compared</dt><dd><code><bdi>{}</bdi></code></dd>", Text(other))?;
    }
    let disorder = log.disorder;
    if disorder.put_right + disorder.late > 0 {
        writeln!(
            page,
            "<dt>Order</dt><dd>{} put in order; {} came too late for that: decided as of the newest time \
             before</dd>",
            counted(disorder.put_right, "line"),
            number(disorder.late)
        )?;
    }
    if replayed.forgotten_in_debt > 0 {
        writeln!(
            page,
            "<dt>Keys</dt><dd>{} were forgotten while they owed: give more by <code>--keys</code></dd>",
            number(replayed.forgotten_in_debt)
        )?;
    }
    writeln!(
        page,
        "<dt>Program</dt><dd>tollgate {}</dd>\n</dl></section>",
        env!("CARGO_PKG_VERSION")
    )
}

pub(super) fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", number(count))
}
