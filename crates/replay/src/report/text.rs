//! A replay for people, at a terminal.

mod compared;
mod table;
mod tuned;

use std::fmt::{self, Write};

use tollgate_core::Effect;

use super::numbers::{number, percent};
use super::{PLAIN, TOP, rounded, time};
use crate::mask::Names;
use crate::replayed::Replayed;
use crate::run::Effects;
use crate::shown::visible_lines;
use crate::tally::{Bin, Peaks, Tally, Timeline};
pub use compared::text_compared;
use table::{Table, bar};
pub use tuned::text_tuned;

/// A replay for people: plain text of at most 100 columns, with small charts.
#[must_use]
pub fn text(replayed: &Replayed, names: &Names) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, replayed, names);
    visible_lines(&text)
}

fn write(text: &mut String, replayed: &Replayed, names: &Names) -> fmt::Result {
    let tally = &replayed.tally;
    write_log(text, replayed, names)?;
    if tally.totals.requests() == 0 {
        return writeln!(text, "\nThere is no request to decide.");
    }
    write_totals(text, replayed)?;
    write_timeline(text, &tally.timeline)?;
    write_limits(text, replayed, names)?;
    write_clients(text, tally, names)?;
    write_routes(text, tally)?;
    write_bursts(text, tally, names)?;
    write_ordinary(text, tally)
}

fn write_log(text: &mut String, replayed: &Replayed, names: &Names) -> fmt::Result {
    let Replayed { log, tally, .. } = replayed;
    for (name, format) in &replayed.sources {
        match format {
            Some(format) => writeln!(text, "{name}: {format}")?,
            None => writeln!(text, "{name}: no lines")?,
        }
    }
    let clients = tally.clients().len();
    let requests = if log.entries == 1 { "request" } else { "requests" };
    write!(text, "{} {requests}", number(log.entries))?;
    if let (Some(first), Some(last)) = (tally.totals.first, tally.totals.last) {
        write!(text, " of {}, ", counted(clients, "client"))?;
        write!(text, "{} to {} UTC", time(first, PLAIN), time(last, PLAIN))?;
    }
    writeln!(text)?;
    let disorder = log.disorder;
    if disorder.put_right > 0 {
        let were = if disorder.put_right == 1 { "was" } else { "were" };
        writeln!(text, "{} stood out of order and {were} put right", lines(disorder.put_right))?;
    }
    if disorder.late > 0 {
        writeln!(
            text,
            "{} came too late to be put right: decided as of the newest time before",
            lines(disorder.late)
        )?;
    }
    for (name, why) in &log.cut_short {
        writeln!(
            text,
            "{name} cannot be read to its end ({why}); what stands before that is used"
        )?;
    }
    if log.unreadable > 0 {
        writeln!(text, "{} could not be read:", lines(log.unreadable))?;
        for line in &log.first_unreadable {
            write!(text, "  {}:{}: expected {}", line.source, line.number, line.expected)?;
            match names.show_lines() {
                true => writeln!(text, ": {}", line.text)?,
                false => writeln!(text)?,
            }
        }
        let more = log.unreadable - u64::try_from(log.first_unreadable.len()).unwrap_or(0);
        if more > 0 {
            writeln!(text, "  and {} more", number(more))?;
        }
    }
    Ok(())
}

fn write_totals(text: &mut String, replayed: &Replayed) -> fmt::Result {
    let totals = &replayed.tally.totals;
    let all = totals.requests();
    let watching = match replayed.effects {
        Effects::AsGiven => "",
        Effects::Shadow => ", which only watch here",
    };
    writeln!(text, "\nUnder the limits of {}{watching}:", replayed.limits)?;
    let mut table = Table::new();
    let mut row = |indent: &str, what: &str, count: u64| {
        table.row([format!("{indent}{what}"), number(count), percent(count, all)]);
    };
    row("", "passed", totals.passed);
    for (what, count) in [("under no limit", totals.uncovered), ("free", totals.free)] {
        if count > 0 {
            row("  ", what, count);
        }
    }
    if totals.would_refuse > 0 {
        row("  ", "would be refused (shadow)", totals.would_refuse);
    }
    if totals.delayed > 0 {
        row("", "delayed", totals.delayed);
    }
    row("", "refused", totals.refused);
    let others = totals.refused - totals.limited;
    for (what, count) in [
        ("by limits", if others > 0 { totals.limited } else { 0 }),
        ("by the deny list", totals.forbidden),
        ("for a path of two readings", totals.unreadable),
        ("for want of a key", totals.keyless),
    ] {
        if count > 0 {
            row("  ", what, count);
        }
    }
    if totals.unasked > 0 {
        row("", "no HTTP, asked no limit", totals.unasked);
    }
    table.write(text, "  ")?;
    if totals.delayed > 0 {
        writeln!(text, "  longest wait {}", rounded(totals.longest_wait))?;
    }
    if replayed.forgotten_in_debt > 0 {
        writeln!(
            text,
            "  {} keys were forgotten while they owed: give more by --keys",
            number(replayed.forgotten_in_debt)
        )?;
    }
    Ok(())
}

fn write_timeline(text: &mut String, timeline: &Timeline) -> fmt::Result {
    const COLUMNS: usize = 72;
    let small = timeline.in_bins(COLUMNS);
    if small.bins().len() < 2 {
        return Ok(());
    }
    let most = |of: fn(&Bin) -> u64| small.bins().iter().map(of).max().unwrap_or(0);
    let all = most(|bin| bin.requests());
    let refused = most(|bin| bin.refused);
    writeln!(
        text,
        "\nOver time, a column for each {}; most requests in one: {}, refused: {}",
        small.width(),
        number(all),
        number(refused)
    )?;
    let chart = |of: fn(&Bin) -> u64, most: u64| -> String {
        small.bins().iter().map(|bin| bar(of(bin), most)).collect()
    };
    writeln!(text, "  requests  {}", chart(|bin| bin.requests(), all))?;
    if refused > 0 {
        writeln!(text, "  refused   {}", chart(|bin| bin.refused, refused))?;
    }
    let would = most(|bin| bin.would_refuse);
    if would > 0 {
        writeln!(text, "  in shadow {}", chart(|bin| bin.would_refuse, would))?;
    }
    Ok(())
}

/// Up to how many limits are told whatever they were asked.
const SHORT: usize = 20;

fn write_limits(text: &mut String, replayed: &Replayed, names: &Names) -> fmt::Result {
    let tally = &replayed.tally;
    writeln!(text, "\nLimits")?;
    let mut table = Table::new();
    table.head(["", "", "asked", "refused", "", "delayed", "longest wait", "refused most"]);
    let mut silent = 0;
    for (limit, most) in tally.limits().iter().zip(tally.refused_most()) {
        if limit.asked == 0 && tally.limits().len() > SHORT {
            silent += 1;
            continue;
        }
        let watches = match limit.effect {
            Effect::Enforce => "",
            Effect::Shadow => " (shadow)",
        };
        let most = most.map(|network| names.of(&network, tally.clients().get(&network)));
        table.row([
            format!("{}{watches}", limit.name),
            limit.quota.clone(),
            number(limit.asked),
            number(limit.refused),
            percent(limit.refused, limit.asked),
            number(limit.delayed),
            if limit.delayed > 0 { rounded(limit.longest_wait) } else { String::new() },
            most.unwrap_or_default(),
        ]);
    }
    table.write(text, "  ")?;
    if silent > 0 {
        writeln!(text, "  {} more were asked about no request", number(silent))?;
    }
    for lack in &replayed.lacks {
        writeln!(text, "  {lack}")?;
    }
    Ok(())
}

fn write_clients(text: &mut String, tally: &Tally, names: &Names) -> fmt::Result {
    let clients = tally.clients();
    let hit = clients.top(TOP, |client| client.refused + client.would_refuse + client.delayed);
    if hit.is_empty() {
        return Ok(());
    }
    writeln!(text, "\nClients hit most")?;
    let mut table = Table::new();
    table.head(["", "requests", "refused", "of theirs", "would be", "delayed", "busiest minute"]);
    for (network, client) in hit {
        let agent = if client.is_robot { " (robot)" } else { "" };
        table.row([
            format!("{}{agent}", names.of(network, Some(client))),
            number(client.requests),
            number(client.refused),
            percent(client.refused, client.requests),
            number(client.would_refuse),
            number(client.delayed),
            number(client.peaks.minute.most().into()),
        ]);
    }
    table.write(text, "  ")?;
    let hit = clients.iter().filter(|(_, client)| client.refused + client.would_refuse > 0).count();
    writeln!(text, "  {} refused at all", counted(hit, "client"))?;
    write_forgotten(text, clients.forgotten(), clients.others().requests, "clients")
}

fn write_routes(text: &mut String, tally: &Tally) -> fmt::Result {
    let routes = tally.routes();
    let hit = routes.top(TOP, |route| route.refused + route.would_refuse + route.delayed);
    if hit.is_empty() {
        return Ok(());
    }
    writeln!(text, "\nRoutes hit most")?;
    let mut table = Table::new();
    table.head(["", "requests", "refused", "of theirs", "would be", "delayed"]);
    for (label, route) in hit {
        table.row([
            crate::shown(label),
            number(route.requests),
            number(route.refused),
            percent(route.refused, route.requests),
            number(route.would_refuse),
            number(route.delayed),
        ]);
    }
    table.write(text, "  ")?;
    write_forgotten(text, routes.forgotten(), routes.others().requests, "routes")
}

fn write_forgotten(text: &mut String, forgotten: u64, requests: u64, what: &str) -> fmt::Result {
    if forgotten == 0 {
        return Ok(());
    }
    let (forgotten, requests) = (number(forgotten), number(requests));
    writeln!(
        text,
        "  {forgotten} more {what} with few requests, {requests} in all, are not told apart"
    )
}

fn write_bursts(text: &mut String, tally: &Tally, names: &Names) -> fmt::Result {
    let clients = tally.clients().top(5, |client| client.peaks.minute.most().into());
    if clients.is_empty() {
        return Ok(());
    }
    writeln!(text, "\nLargest bursts")?;
    let mut table = Table::new();
    table.head(["", "in a minute", "at", "in a second", "at"]);
    let all = &tally.peaks;
    let mut row = |name: String, peaks: &Peaks| {
        table.row([
            name,
            number(peaks.minute.most().into()),
            time(peaks.minute.when(), PLAIN),
            number(peaks.second.most().into()),
            time(peaks.second.when(), PLAIN),
        ]);
    };
    row("all clients".to_owned(), all);
    for (network, client) in clients {
        row(names.of(network, Some(client)), &client.peaks);
    }
    table.write(text, "  ")
}

fn write_ordinary(text: &mut String, tally: &Tally) -> fmt::Result {
    let ordinary = tally.ordinary();
    if tally.clients().is_empty() {
        return Ok(());
    }
    writeln!(text, "\nOrdinary users")?;
    writeln!(
        text,
        "  A client looks like one that names no robot or tool and makes at most {} requests in a minute, \
         as 99 of\n  100 clients do: {} of {}, with {} of the requests.",
        ordinary.most_in_a_minute,
        number(ordinary.clients),
        number(u64::try_from(tally.clients().len()).unwrap_or(0)),
        percent(ordinary.requests, tally.totals.requests()),
    )?;
    match ordinary.refused_of_all {
        0 => writeln!(text, "  Nobody is refused."),
        all => writeln!(
            text,
            "  {} of the {} refusals hit them ({}); {} of these clients were refused at all.",
            number(ordinary.refused),
            number(all),
            percent(ordinary.refused, all),
            number(ordinary.clients_refused),
        ),
    }
}

fn lines(count: u64) -> String {
    match count {
        1 => "1 line".to_owned(),
        _ => format!("{} lines", number(count)),
    }
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", number(u64::try_from(count).unwrap_or(0)))
}
