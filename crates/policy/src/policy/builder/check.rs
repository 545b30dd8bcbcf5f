//! What is refused when a policy is put together.

use std::collections::{BTreeSet, HashSet};

use tollgate_core::{Algorithm, Limit};

use super::PolicyBuilder;
use crate::cost::Cost;
use crate::finding::{Complaint, Finding, Place};
use crate::key::KeyPart;
use crate::limit_spec::{Count, Fallback, LimitSpec, is_window};
use crate::pattern::PathPattern;
use crate::when::When;

/// Told for each limit that has too many, and once where all together become too many.
pub(super) fn too_many_patterns(
    routes: &[(PathPattern, Option<u32>)],
    limits: &[LimitSpec],
    findings: &mut Vec<Finding>,
) {
    let most = PolicyBuilder::MOST_PATTERNS_OF_ONE;
    let expected = format!("at most {most} in one limit; `/*` covers many paths at once");
    for (nth, spec) in limits.iter().enumerate() {
        if spec.when.paths().len() > most {
            let complaint = Complaint::new("there are too many path patterns", &expected);
            findings.push(complaint.quoting(&[]).at(Place::Limit(nth, "when")));
        }
        let is_too_much =
            |when: &When| when.most_values() > When::MOST_VALUES || when.depth() > When::DEEPEST;
        for (key, when) in [("when", &spec.when)]
            .into_iter()
            .chain(spec.cost.conditions().map(|when| ("cost", when)))
        {
            if is_too_much(when) {
                let expected = format!(
                    "at most {} of each kind, and at most {} `not` within each other",
                    When::MOST_VALUES,
                    When::DEEPEST
                );
                let complaint = Complaint::new("there are too many conditions", expected);
                findings.push(complaint.quoting(&[]).at(Place::Limit(nth, key)));
            }
        }
    }
    let of_routes = routes.iter().enumerate().map(|(nth, (path, _))| (Place::Route(nth), path));
    let of_limits = limits.iter().enumerate().flat_map(|(nth, spec)| {
        spec.when.paths().iter().map(move |path| (Place::Limit(nth, "when"), path))
    });
    let mut open = of_routes.chain(of_limits).filter(|(_, path)| !path.is_literal());
    let most = PolicyBuilder::MOST_OPEN_PATTERNS;
    if let Some((place, _)) = open.nth(most) {
        let expected = format!("at most {most} in all limits and routes together");
        let message = "there are too many path patterns with a parameter or `*`";
        findings.push(Complaint::new(message, expected).quoting(&[]).at(place));
    }
}

/// Each name is looked up in every request, whichever limit asks for it.
pub(super) fn too_many_names(limits: &[LimitSpec], findings: &mut Vec<Finding>) {
    let mut known = HashSet::new();
    for (nth, spec) in limits.iter().enumerate() {
        let before = known.len();
        known.extend(spec.conditions().flat_map(When::named_parts));
        let most = PolicyBuilder::MOST_NAMES;
        if before <= most && known.len() > most {
            let message = "the conditions ask for too many different headers and query parameters";
            let complaint = Complaint::new(message, format!("at most {most} in all limits"));
            findings.push(complaint.quoting(&[]).at(Place::Limit(nth, "when")));
        }
    }
}

/// Two limits of one name would share headers, metrics and, when their periods agree, budgets.
pub(super) fn same_names(limits: &[LimitSpec], findings: &mut Vec<Finding>) {
    let mut seen = HashSet::new();
    for (nth, spec) in limits.iter().enumerate() {
        let windows = spec.every_limit().map(Limit::name);
        let own: BTreeSet<&str> = windows.chain([spec.name()]).collect();
        if let Some(name) = own.iter().find(|name| seen.contains(**name)) {
            let message = format!("two limits are called `{name}`");
            let complaint = Complaint::new(message, "a name of its own for each limit")
                .quoting(&["name", "rate"]);
            findings.push(complaint.at(Place::Limit(nth, "name")));
        }
        seen.extend(own);
        let same_period = || Complaint::new("two rates have one period", "one rate for each");
        if has_twins(&spec.windows) {
            findings.push(same_period().at(Place::Limit(nth, "rate")));
        }
        for (at, _) in spec.alternatives.iter().enumerate().filter(|(_, w)| has_twins(w)) {
            findings.push(of_alternative(spec, nth, at, same_period()));
        }
    }
}

/// A complaint about other windows of a limit, at the first override or plan that has them.
fn of_alternative(spec: &LimitSpec, nth: usize, at: usize, complaint: Complaint) -> Finding {
    let has = |windows: u32| usize::try_from(windows).is_ok_and(|windows| windows == at);
    match spec.overrides.iter().position(|other| has(other.windows)) {
        Some(other) => of_override(spec, other, complaint).at(Place::Override(nth, other)),
        None => complaint.at(Place::Limit(nth, "plans")),
    }
}

/// A complaint about an override, with its line if it comes from a file.
pub(super) fn of_override(spec: &LimitSpec, nth: usize, complaint: Complaint) -> Complaint {
    let line = spec.overrides.get(nth).and_then(|other| other.line);
    match (&spec.overrides_file, line) {
        (Some(file), Some(line)) => complaint.in_line(file, line),
        _ => complaint,
    }
}

/// Whether two windows of a limit have one name.
fn has_twins(windows: &[Limit]) -> bool {
    let names: HashSet<_> = windows.iter().map(Limit::name).collect();
    names.len() < windows.len()
}

/// What is wrong with one limit by itself.
pub(super) fn check(spec: &LimitSpec, nth: usize, findings: &mut Vec<Finding>) {
    let no_rate = || Complaint::new("a limit without a rate", "at least one rate");
    for (at, _) in spec.alternatives.iter().enumerate().filter(|(_, w)| w.is_empty()) {
        findings.push(of_alternative(spec, nth, at, no_rate()));
    }
    let mut complain =
        |key, complaint: Complaint| findings.push(complaint.at(Place::Limit(nth, key)));
    let name = spec.name();
    if name.is_empty() || name.len() > 128 || name.chars().any(char::is_control) {
        let expected = "1 to 128 bytes without control characters";
        complain("name", Complaint::new("this cannot be the name of a limit", expected));
    }
    if spec.windows.is_empty() {
        complain("rate", no_rate());
    }
    if spec.by.is_empty() {
        let expected = "at least one part, such as `client`; `global` for one budget for all";
        complain("by", Complaint::new("a key without parts", expected));
    }
    if spec.by.len() > 8 {
        complain("by", Complaint::new("a key of more than 8 parts", "at most 8 parts"));
    }
    // The client is the default, and nothing to complain of beside itself.
    if let Fallback::Part(part) = &spec.fallback
        && *part != KeyPart::Client
        && spec.by.contains(part)
    {
        let message = format!("`{part}` is part of the key and cannot stand in for a part of it");
        complain("fallback", Complaint::new(message, "another part, `refuse` or `skip`"));
    }
    if spec.cost.has_nothing() {
        complain("cost", Complaint::new("a cost of 0 would limit nothing", "a cost of at least 1"));
    }
    if let Cost::Cases(cases) = &spec.cost
        && cases.len() > LimitSpec::MOST_CASES
    {
        let expected = format!("at most {}", LimitSpec::MOST_CASES);
        complain("cost", Complaint::new("there are too many costs", expected).quoting(&[]));
    }
    for complaint in of_settlement(spec) {
        complain("charge", complaint.quoting(&[]));
    }
    if let Err(complaint) = spec.answer.check() {
        complain("content_type", complaint);
    }
    if spec.answer.status().is_some_and(|status| !(400..=599).contains(&status)) {
        let message = "a refusal has a status of an error";
        complain("status", Complaint::new(message, "a status from 400 to 599").quoting(&[]));
    }
    let inexact = spec.every_limit().find(|limit| !is_window(limit.algorithm()));
    if let (Count::Failures | Count::Successes, Some(limit)) = (spec.count, inexact) {
        let message = format!(
            "`count` gives charges back, and a {} has leaked part of them by then",
            limit.algorithm()
        );
        let expected = "`algorithm` to be `sliding-window`, `sliding-log` or `fixed-window`, \
            where giving back is exact";
        complain("count", Complaint::new(message, expected));
    }
}

/// Why a charge cannot be settled when the answer tells the cost.
fn of_settlement(spec: &LimitSpec) -> impl Iterator<Item = Complaint> {
    let settlement = spec.settlement.as_ref();
    let twice = settlement.filter(|settlement| spec.cost != Cost::Fixed(settlement.estimate()));
    let twice = twice.map(|_| {
        let message = "what is charged at first is said twice, by `cost` and by `charge`";
        Complaint::new(message, "`estimate` in `charge` alone")
    });
    let given_back = settlement.filter(|_| spec.count != Count::All).map(|_| {
        let message = "`charge` settles what an answer cost, and `count` gives it back whole";
        Complaint::new(message, "one of the two")
    });
    let is_queue = |limit: &Limit| matches!(limit.algorithm(), Algorithm::LeakyBucket(_));
    let queued = settlement.filter(|_| spec.every_limit().any(is_queue)).map(|_| {
        let message = "a leaky-bucket gives out places, whose size cannot change later";
        Complaint::new(message, "another `algorithm` beside `charge`, such as `token-bucket`")
    });
    [twice, given_back, queued].into_iter().flatten()
}

/// The key of a limit that asks for the plan of a request.
pub(super) fn needs_plans(spec: &LimitSpec) -> Option<&'static str> {
    let by_plan = spec.by.contains(&KeyPart::Plan);
    let stands_in = spec.fallback == Fallback::Part(KeyPart::Plan);
    let keys = [
        (by_plan, "by"),
        (stands_in, "fallback"),
        (!spec.plans.is_empty(), "plans"),
        (spec.when.asks_for_plan(), "when"),
        (spec.cost.conditions().any(When::asks_for_plan), "cost"),
    ];
    keys.into_iter().find(|(needs, _)| *needs).map(|(_, key)| key)
}
