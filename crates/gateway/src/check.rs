//! `tollgate check`: what a file means, as a table.

use std::fmt;

use tollgate_core::{Algorithm, Anchor, Effect, Limit, OnError};
use tollgate_policy::{Count, Fallback, LimitSpec, Policy, Worst};
use tollgate_redis::{Redis, Severity};

use crate::assemble::scope;
use crate::shared::Shared;

/// The limits of a policy as a table for people, one row for each window.
///
/// The last two columns are the worst case for one key, however the requests are timed.
pub(crate) fn table(policy: &Policy) -> Table {
    let mut rows = vec![HEAD.map(str::to_owned)];
    for spec in policy.limits() {
        rows.extend(spec.limits().iter().map(|limit| row(spec, limit)));
    }
    Table(rows)
}

/// Connects to the shared store and says what its servers lack, the worst first.
///
/// # Errors
/// When the file names no store, or limits would not work over it.
pub(crate) async fn store(shared: Option<&Shared>) -> Result<(), String> {
    let Some(shared) = shared else {
        return Err("the file has no `[store]`: its limits are counted in the process".to_owned());
    };
    let findings = Redis::check(&shared.address, &shared.prefix).await;
    let mut text = format!("\nStore: {}.\n", scope(shared));
    for finding in &findings {
        text.push_str(&format!("  {finding}\n"));
    }
    crate::say(&text)?;
    let errors = findings.iter().filter(|finding| finding.severity() == Severity::Error).count();
    match errors {
        0 => Ok(()),
        1 => Err("the store has 1 error".to_owned()),
        errors => Err(format!("the store has {errors} errors")),
    }
}

const HEAD: [&str; 8] = [
    "limit",
    "quota",
    "algorithm",
    "key",
    "when",
    "at most at once",
    "at most per period",
    "remarks",
];

fn row(spec: &LimitSpec, limit: &Limit) -> [String; 8] {
    let worst = Worst::of(spec, limit);
    let (when, remarks) = (spec.condition().to_string(), remarks(spec, limit));
    let key: Vec<_> = spec.key().iter().map(ToString::to_string).collect();
    [
        limit.name().to_owned(),
        limit.quota().to_string(),
        limit.algorithm().to_string(),
        short(key.join(" + ")),
        short(when),
        worst.at_once.to_string(),
        worst.per_period.to_string(),
        short(remarks),
    ]
}

/// The most characters of a cell: a condition may hold a thousand paths.
const CELL: usize = 120;

fn short(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(CELL) {
        text.truncate(at);
        text.push('…');
    }
    text
}

/// What else there is to know, in few words.
fn remarks(spec: &LimitSpec, limit: &Limit) -> String {
    let mut remarks = Vec::new();
    if !spec.is_enabled() {
        remarks.push("disabled".to_owned());
    }
    if spec.effect() == Effect::Shadow {
        remarks.push("shadow".to_owned());
    }
    if let Algorithm::FixedWindow(Anchor::Calendar(calendar)) = limit.algorithm() {
        remarks.push(format!("by the calendar ({})", calendar.name()));
    }
    if let waiting @ 1.. = limit.capacity().saturating_sub(limit.capacity_at_once()) {
        remarks.push(format!("up to {waiting} wait"));
    }
    match spec.counted() {
        Count::All => {}
        Count::Failures => remarks.push("counts failures".to_owned()),
        Count::Successes => remarks.push("counts successes".to_owned()),
    }
    if spec.price().most() != 1 {
        remarks.push(format!("costs {}", spec.price()));
    }
    match spec.on_missing() {
        Fallback::Skip => remarks.push("skips who lacks the key".to_owned()),
        Fallback::Refuse => remarks.push("refuses who lacks the key".to_owned()),
        Fallback::Part(_) => {}
    }
    match spec.limits().first().map(Limit::on_error) {
        Some(OnError::Deny) => remarks.push("refuses while the store is down".to_owned()),
        Some(OnError::Allow) => remarks.push("passes while the store is down".to_owned()),
        Some(OnError::Local) | None => {}
    }
    if let lease @ 1.. = spec.limits().iter().map(Limit::lease).max().unwrap_or(0) {
        remarks.push(format!("leases up to {lease} to each gateway"));
    }
    match spec.overrides() {
        0 => {}
        1 => remarks.push("1 override".to_owned()),
        many => remarks.push(format!("{many} overrides")),
    }
    remarks.join(", ")
}

/// Rows of columns, each as wide as its widest cell.
pub(crate) struct Table(Vec<[String; 8]>);

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() == 1 {
            return f.write_str("  none: every request passes\n");
        }
        let width = |column: usize| {
            let cells = self.0.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: [usize; 8] = std::array::from_fn(width);
        for row in &self.0 {
            let mut line = String::from(" ");
            for (cell, width) in row.iter().zip(widths) {
                line.push_str(&format!(" {cell:width$} "));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
