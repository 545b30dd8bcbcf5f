//! A replay as JSON.

mod compared;
mod tuned;

pub use compared::json_compared;
use serde_json::{Map, Value, json};
use tollgate_core::Effect;
pub use tuned::json_tuned;

use super::{RFC_3339, TOP_FOR_MACHINES, time};
use crate::lacks::Then;
use crate::mask::Names;
use crate::replayed::Replayed;
use crate::run::Effects;
use crate::shown::visible_json;
use crate::tally::{Bin, Peaks, Totals, Weighed};

/// A replay as one JSON object. Its fields are described in the guide; more may be added.
///
/// Counts are numbers of requests unless said; spans end in their unit, times are RFC 3339 in UTC.
#[must_use]
pub fn json(replayed: &Replayed, names: &Names) -> String {
    printed(&told(replayed, names))
}

/// Printed with what terminals do not show, or heed, as JSON escapes it.
fn printed(told: &Value) -> String {
    visible_json(&format!("{told:#}\n"))
}

fn told(replayed: &Replayed, names: &Names) -> Value {
    let Replayed { tally, log, .. } = replayed;
    let sources = replayed.sources.iter().map(
        |(name, format)| json!({ "name": name, "format": format.map(|format| format.name()) }),
    );
    let unreadable = log.first_unreadable.iter().map(|line| {
        let mut told = Map::new();
        told.insert("source".into(), line.source.clone().into());
        told.insert("line".into(), line.number.into());
        told.insert("expected".into(), line.expected.into());
        if names.show_lines() {
            told.insert("text".into(), line.text.clone().into());
        }
        Value::Object(told)
    });
    let lacks = replayed.lacks.iter().map(|lack| {
        let then = match lack.then {
            Then::LeftOut => "left-out",
            Then::Estimated => "estimated",
            Then::Ignored => "ignored",
        };
        json!({ "limit": lack.limit, "needs": lack.needs, "then": then })
    });
    let limits = tally.limits().iter().map(|limit| {
        json!({
            "name": limit.name,
            "quota": limit.quota,
            "shadow": limit.effect == Effect::Shadow,
            "asked": limit.asked,
            "refused": limit.refused,
            "never": limit.never,
            "delayed": limit.delayed,
            "longest_wait_ms": limit.longest_wait.as_micros().div_ceil(1_000),
        })
    });
    let clients = tally.clients().top(TOP_FOR_MACHINES, Weighed::weight);
    let clients = clients.into_iter().map(|(network, client)| {
        json!({
            "name": names.of(network, Some(client)),
            "requests": client.requests,
            "refused": client.refused,
            "would_refuse": client.would_refuse,
            "delayed": client.delayed,
            "robot": client.is_robot,
            "peaks": peaks(&client.peaks),
        })
    });
    let routes = tally.routes().top(TOP_FOR_MACHINES, Weighed::weight);
    let routes = routes.into_iter().map(|(label, route)| {
        json!({
            "name": String::from_utf8_lossy(label),
            "requests": route.requests,
            "refused": route.refused,
            "would_refuse": route.would_refuse,
            "delayed": route.delayed,
        })
    });
    let ordinary = tally.ordinary();
    let bins = tally.timeline.bins().iter();
    json!({
        "version": 1,
        "limits_of": replayed.limits,
        "shadow": replayed.effects == Effects::Shadow,
        "sources": sources.collect::<Vec<_>>(),
        "log": {
            "lines": log.lines,
            "requests": log.entries,
            "unreadable": log.unreadable,
            "first_unreadable": unreadable.collect::<Vec<_>>(),
            "put_right": log.disorder.put_right,
            "late": log.disorder.late,
            "cut_short": log.cut_short.iter().map(|(name, why)| json!({ "name": name, "why": why }))
                .collect::<Vec<_>>(),
            "bytes": log.bytes,
        },
        "totals": totals(&tally.totals),
        "peaks": peaks(&tally.peaks),
        "limits": limits.collect::<Vec<_>>(),
        "cannot_be_replayed": lacks.collect::<Vec<_>>(),
        "clients": clients.collect::<Vec<_>>(),
        "client_count": tally.clients().len(),
        "clients_forgotten": tally.clients().forgotten(),
        "routes": routes.collect::<Vec<_>>(),
        "route_count": tally.routes().len(),
        "routes_forgotten": tally.routes().forgotten(),
        "ordinary_users": {
            "most_in_a_minute": ordinary.most_in_a_minute,
            "clients": ordinary.clients,
            "requests": ordinary.requests,
            "refused": ordinary.refused,
            "clients_refused": ordinary.clients_refused,
            "refused_of_all": ordinary.refused_of_all,
        },
        "timeline": {
            "begins": time(tally.timeline.begins(), RFC_3339),
            "width_s": tally.timeline.width().as_secs_ceil(),
            "passed": bins.clone().map(|bin: &Bin| bin.passed).collect::<Vec<_>>(),
            "delayed": bins.clone().map(|bin| bin.delayed).collect::<Vec<_>>(),
            "refused": bins.clone().map(|bin| bin.refused).collect::<Vec<_>>(),
            "would_refuse": bins.map(|bin| bin.would_refuse).collect::<Vec<_>>(),
        },
        "keys_forgotten_in_debt": replayed.forgotten_in_debt,
    })
}

fn totals(totals: &Totals) -> Value {
    json!({
        "requests": totals.requests(),
        "passed": totals.passed,
        "delayed": totals.delayed,
        "refused": totals.refused,
        "unasked": totals.unasked,
        "limited": totals.limited,
        "forbidden": totals.forbidden,
        "unreadable_path": totals.unreadable,
        "keyless": totals.keyless,
        "uncovered": totals.uncovered,
        "free": totals.free,
        "would_refuse": totals.would_refuse,
        "longest_wait_ms": totals.longest_wait.as_micros().div_ceil(1_000),
        "first": totals.first.map(|at| time(at, RFC_3339)),
        "last": totals.last.map(|at| time(at, RFC_3339)),
    })
}

fn peaks(peaks: &Peaks) -> Value {
    json!({
        "second": { "requests": peaks.second.most(), "at": time(peaks.second.when(), RFC_3339) },
        "minute": { "requests": peaks.minute.most(), "at": time(peaks.minute.when(), RFC_3339) },
    })
}
