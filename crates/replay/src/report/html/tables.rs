//! The tables: limits, clients, routes, and what is left out.

use std::fmt::{self, Write};

use tollgate_core::Effect;

use super::super::numbers::number;
use super::super::rounded;
use super::page::{Text, share, short};
use super::summary::counted;
use super::table::{self, Cell, Row};
use crate::mask::Names;
use crate::pictures::Pictures;
use crate::replayed::Replayed;
use crate::tally::{LimitTally, Tally};

/// How many clients and routes are told.
const TOP: usize = 15;
/// How many limits.
const LIMITS: usize = 100;

pub(super) fn write_limits(page: &mut String, replayed: &Replayed) -> fmt::Result {
    let tally = &replayed.tally;
    writeln!(page, "<section aria-labelledby=\"limits\"><h2 id=\"limits\">Limits</h2>")?;
    // Where there are too many, those that nobody asks go first.
    let mut limits: Vec<&LimitTally> = tally.limits().iter().collect();
    let left_out = limits.len().saturating_sub(LIMITS);
    if left_out > 0 {
        limits.sort_by_key(|limit| std::cmp::Reverse((limit.refused, limit.asked)));
        limits.truncate(LIMITS);
    }
    let rows: Vec<Row> = limits.into_iter().map(limit_row).collect();
    let heads = ["limit", "asked", "refused", "share refused", "delayed", "longest wait"];
    table::write(page, &"limits", &heads, &rows)?;
    if left_out > 0 {
        writeln!(page, "<p class=\"note\">{left_out} more refused less.</p>")?;
    }
    for lack in replayed.lacks.iter().take(LIMITS) {
        writeln!(page, "<p class=\"note\"><bdi>{}</bdi></p>", Text(&short(&lack.to_string())))?;
    }
    writeln!(page, "</section>")
}

fn limit_row(limit: &LimitTally) -> Row {
    let wait = match limit.delayed {
        0 => String::new(),
        _ => rounded(limit.longest_wait),
    };
    Row {
        name: short(&limit.name),
        tag: (limit.effect == Effect::Shadow).then_some("shadow"),
        below: Some(limit.quota.clone()),
        cells: vec![
            Cell::Number(number(limit.asked)),
            Cell::Hit(number(limit.refused)),
            Cell::Share(limit.refused, limit.asked),
            Cell::Number(number(limit.delayed)),
            Cell::Number(wait),
        ],
    }
}

pub(super) fn write_clients(page: &mut String, tally: &Tally, names: &Names) -> fmt::Result {
    let clients = tally.clients();
    writeln!(
        page,
        "<section aria-labelledby=\"clients\"><h2 id=\"clients\">Clients hit most</h2>"
    )?;
    let hit = clients.top(TOP, |client| client.refused + client.would_refuse + client.delayed);
    let rows: Vec<Row> = hit
        .into_iter()
        .map(|(network, client)| Row {
            name: short(&names.of(network, Some(client))),
            tag: client.is_robot.then_some("robot"),
            below: None,
            cells: vec![
                Cell::Number(number(client.requests)),
                Cell::Hit(number(client.refused)),
                Cell::Share(client.refused, client.requests),
                Cell::Hit(number(client.would_refuse)),
                Cell::Number(number(client.delayed)),
                Cell::Number(number(client.peaks.minute.most().into())),
                Cell::Number(number(client.peaks.second.most().into())),
            ],
        })
        .collect();
    let heads = [
        "client",
        "requests",
        "refused",
        "share refused",
        "in shadow",
        "delayed",
        "busiest minute",
        "second",
    ];
    if rows.is_empty() {
        writeln!(page, "<p class=\"note\">Nobody is refused or has to wait.</p>")?;
    } else {
        table::write(page, &"clients hit most", &heads, &rows)?;
    }
    let ordinary = tally.ordinary();
    writeln!(
        page,
        "<p class=\"note\">A client looks like an ordinary user if it names no robot or tool and makes at most \
         {} in a minute, as 99 of 100 clients do: {} of {}, with {} of the requests and {} of the {}.</p>",
        counted(ordinary.most_in_a_minute.into(), "request"),
        number(ordinary.clients),
        number(u64::try_from(clients.len()).unwrap_or(0)),
        share(ordinary.requests, tally.totals.requests()),
        number(ordinary.refused),
        counted(ordinary.refused_of_all, "refusal"),
    )?;
    write_forgotten(page, clients.forgotten(), clients.others().requests, "clients")?;
    writeln!(page, "</section>")
}

pub(super) fn write_routes(page: &mut String, tally: &Tally) -> fmt::Result {
    let routes = tally.routes();
    writeln!(page, "<section aria-labelledby=\"routes\"><h2 id=\"routes\">Routes hit most</h2>")?;
    let hit = routes.top(TOP, |route| route.refused + route.would_refuse + route.delayed);
    let rows: Vec<Row> = hit
        .into_iter()
        .map(|(label, route)| {
            let cells = [
                Cell::Number(number(route.requests)),
                Cell::Hit(number(route.refused)),
                Cell::Share(route.refused, route.requests),
                Cell::Hit(number(route.would_refuse)),
                Cell::Number(number(route.delayed)),
            ];
            Row::new(short(&crate::shown(label)), cells)
        })
        .collect();
    let heads = ["route", "requests", "refused", "share refused", "in shadow", "delayed"];
    match rows.is_empty() {
        true => writeln!(page, "<p class=\"note\">No route is.</p>")?,
        false => table::write(page, &"routes hit most", &heads, &rows)?,
    }
    write_forgotten(page, routes.forgotten(), routes.others().requests, "routes")?;
    writeln!(page, "</section>")
}

/// Writes what no limit is for, what could not be replayed, and what could not be read.
pub(super) fn write_left_out(
    page: &mut String,
    replayed: &Replayed,
    pictures: &Pictures,
    names: &Names,
) -> fmt::Result {
    let Replayed { tally, log, .. } = replayed;
    let totals = &tally.totals;
    writeln!(page, "<section aria-labelledby=\"out\"><h2 id=\"out\">What no limit saw</h2>")?;
    let all = totals.requests();
    let reasons = [
        ("Under no limit", "no limit is for their route, method or host", totals.uncovered),
        ("Free", "by a list of who is free, or as a browser's preflight", totals.free),
        ("No HTTP", "never reaches a limit", totals.unasked),
        ("Forbidden", "refused by a list before limits are asked", totals.forbidden),
        ("Path of two readings", "refused before limits are asked", totals.unreadable),
        ("No key", "refused for want of what a limit needs", totals.keyless),
    ];
    let rows = reasons.into_iter().filter(|(.., count)| *count > 0).map(|(name, why, count)| Row {
        name: name.to_owned(),
        tag: None,
        below: Some(why.to_owned()),
        cells: vec![Cell::Number(number(count)), Cell::Number(share(count, all))],
    });
    let rows: Vec<Row> = rows.collect();
    match rows.is_empty() {
        true => writeln!(page, "<p class=\"note\">Limits were asked about every request.</p>")?,
        false => {
            table::write(page, &"what no limit saw", &["", "requests", "share of all"], &rows)?
        }
    }
    let uncovered = pictures.uncovered();
    let routes = uncovered.top(TOP, |hits| hits.0).into_iter().map(|(label, hits)| {
        let cells = [Cell::Number(number(hits.0)), Cell::Number(share(hits.0, totals.uncovered))];
        Row::new(short(&crate::shown(label)), cells)
    });
    let routes: Vec<Row> = routes.collect();
    if !routes.is_empty() {
        writeln!(page, "<article><h3>Routes under no limit</h3>")?;
        table::write(
            page,
            &"routes under no limit",
            &["route", "requests", "share of those"],
            &routes,
        )?;
        write_forgotten(page, uncovered.forgotten(), uncovered.others().0, "routes")?;
        writeln!(page, "</article>")?;
    }
    if log.unreadable > 0 {
        let lines = counted(log.unreadable, "line");
        writeln!(page, "<article><h3>{lines} could not be read</h3>")?;
        let rows: Vec<Row> = log
            .first_unreadable
            .iter()
            .map(|line| {
                let text = if names.show_lines() { short(&line.text) } else { String::new() };
                let place = format!("{}:{}", short(&line.source), line.number);
                let expected = format!("expected {}", line.expected);
                Row {
                    name: place,
                    tag: None,
                    below: Some(expected),
                    cells: vec![Cell::Words(text)],
                }
            })
            .collect();
        table::write(page, &"lines that could not be read", &["where", "how it begins"], &rows)?;
        let more = log.unreadable - u64::try_from(log.first_unreadable.len()).unwrap_or(0);
        if more > 0 {
            writeln!(page, "<p class=\"note\">and {} more</p>", number(more))?;
        }
        writeln!(page, "</article>")?;
    }
    for (name, why) in log.cut_short.iter().take(TOP) {
        writeln!(
            page,
            "<p class=\"note\"><bdi>{}</bdi> cannot be read to its end ({}); what stands before that is \
             used.</p>",
            Text(&short(name)),
            Text(&short(why))
        )?;
    }
    writeln!(page, "</section>")
}

fn write_forgotten(page: &mut String, forgotten: u64, requests: u64, what: &str) -> fmt::Result {
    if forgotten == 0 {
        return Ok(());
    }
    let (forgotten, requests) = (number(forgotten), number(requests));
    writeln!(
        page,
        "<p class=\"note\">{forgotten} more {what} with few requests, {requests} in all, are not told \
         apart.</p>"
    )
}
