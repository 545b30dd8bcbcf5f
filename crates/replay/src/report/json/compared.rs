//! What other limits would do instead, for machines.

use serde_json::{Value, json};

use super::super::TOP_FOR_MACHINES;
use super::{told, totals};
use crate::compared::{Change, Compared};
use crate::mask::Names;
use crate::replayed::Replayed;
use crate::tally::{LimitTally, Weighed as _};

/// A replay as [`json`](super::json()) tells it, with one field more, `compared`: what differs under the
/// other limits.
#[must_use]
pub fn json_compared(first: &Replayed, compared: &Compared, names: &Names) -> String {
    let mut told = told(first, names);
    if let Value::Object(fields) = &mut told {
        fields.insert("compared".to_owned(), differences(first, compared, names));
    }
    super::printed(&told)
}

fn differences(first: &Replayed, compared: &Compared, names: &Names) -> Value {
    let Compared { other, changes } = compared;
    let said = |limit: Option<&LimitTally>| {
        limit.map(|limit| {
            json!({
                "quota": limit.quota,
                "asked": limit.asked,
                "refused": limit.refused,
                "delayed": limit.delayed,
            })
        })
    };
    let pairs = compared.pairs(&first.tally);
    let limits = pairs.into_iter().map(|(ours, theirs)| {
        let name = ours.or(theirs).map(|limit| limit.name.as_str());
        json!({ "name": name, "first": said(ours), "other": said(theirs) })
    });
    let clients = changes.clients.top(TOP_FOR_MACHINES, Change::weight);
    let clients = clients.into_iter().map(|(network, change)| {
        let client = first.tally.clients().iter().find(|(other, _)| *other == network);
        named(names.of(network, client.map(|(_, client)| client)), *change)
    });
    let routes = changes.routes.top(TOP_FOR_MACHINES, Change::weight);
    let routes = routes
        .into_iter()
        .map(|(label, change)| named(String::from_utf8_lossy(label).into_owned(), *change));
    json!({
        "limits_of": other.limits,
        "totals": totals(&other.tally.totals),
        "newly_refused": changes.total.newly,
        "no_longer_refused": changes.total.no_longer,
        "limits": limits.collect::<Vec<_>>(),
        "clients": clients.collect::<Vec<_>>(),
        "routes": routes.collect::<Vec<_>>(),
    })
}

fn named(name: String, change: Change) -> Value {
    json!({
        "name": name,
        "newly_refused": change.newly,
        "no_longer_refused": change.no_longer,
    })
}
