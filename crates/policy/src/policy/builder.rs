//! Putting a policy together, and what is refused.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use tollgate_core::{Algorithm, Effect, Key, Limit};

use super::{Compiled, Overrides, Policy, Preflights};
use crate::cost::Cost;
use crate::finding::{Complaint, Finding, Place, PolicyError};
use crate::group::{Group, Member};
use crate::key::KeyPart;
use crate::limit_spec::{Count, Fallback, LimitSpec, is_window};
use crate::list::{List, Which};
use crate::method::{MethodSet, Methods};
use crate::path::Case;
use crate::pattern::PathPattern;
use crate::plans::Plans;
use crate::routes::Routes;
use crate::when::When;

/// A policy in the making; [`PolicyBuilder::build`] checks all of it.
///
/// All mistakes are told at once:
///
/// ```
/// use tollgate_core::{Limit, Quota};
/// use tollgate_policy::{Cost, LimitSpec, Policy};
/// let twin = || LimitSpec::new(Limit::new("api", Quota::per_minute(60)).unwrap());
/// let error = Policy::builder()
///     .limit(twin())
///     .limit(twin().cost(Cost::Fixed(0)))
///     .build()
///     .unwrap_err();
/// assert_eq!(error.findings().count(), 2);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct PolicyBuilder {
    limits: Vec<LimitSpec>,
    routes: Vec<String>,
    allow: Vec<(KeyPart, String)>,
    deny: Vec<(KeyPart, String)>,
    preflights: Preflights,
    plans: Plans,
    case: Case,
    ipv6_prefix: Option<u8>,
}

impl PolicyBuilder {
    /// The most limits one policy may have.
    pub const MOST_LIMITS: usize = 20_000;

    /// The most path patterns one limit may have.
    pub const MOST_PATTERNS_OF_ONE: usize = 1_000;

    /// The most path patterns with a parameter or `*` all limits and named routes may have together:
    /// each is compared with all others once.
    pub const MOST_OPEN_PATTERNS: usize = 10_000;

    /// The most different headers and query parameters that the conditions of all limits may ask for.
    pub const MOST_NAMES: usize = 64;

    /// Adds a limit. Its place among the others does not matter to what is decided.
    pub fn limit(mut self, limit: LimitSpec) -> PolicyBuilder {
        self.limits.push(limit);
        self
    }

    /// Lets requests pass for free of which this part has this value: an address or network for
    /// [`KeyPart::Client`], one exact spelling for [`KeyPart::Path`].
    pub fn allow(mut self, part: KeyPart, value: impl Into<String>) -> PolicyBuilder {
        self.allow.push((part, value.into()));
        self
    }

    /// Forbids requests of which this part has this value. Goes before what is allowed.
    pub fn deny(mut self, part: KeyPart, value: impl Into<String>) -> PolicyBuilder {
        self.deny.push((part, value.into()));
        self
    }

    /// Names a pattern of paths, for keys by route.
    pub fn route(mut self, pattern: impl Into<String>) -> PolicyBuilder {
        self.routes.push(pattern.into());
        self
    }

    /// What becomes of CORS preflights; free unless said.
    pub fn preflights(self, preflights: Preflights) -> PolicyBuilder {
        PolicyBuilder { preflights, ..self }
    }

    /// How the plans of requests are found; no request has one unless said.
    pub fn plans(self, plans: Plans) -> PolicyBuilder {
        PolicyBuilder { plans, ..self }
    }

    /// Whether capital and small letters are one in paths; they are two unless said.
    pub fn case(self, case: Case) -> PolicyBuilder {
        PolicyBuilder { case, ..self }
    }

    /// How many bits of an IPv6 address stand for one client, 32 to 128; 64 unless said.
    pub fn ipv6_prefix(self, bits: u8) -> PolicyBuilder {
        PolicyBuilder { ipv6_prefix: Some(bits), ..self }
    }

    /// Checks everything and compiles it.
    ///
    /// # Errors
    /// With all that is wrong: two limits or windows of one name, a key without parts, a count of
    /// failures under an algorithm that cannot give back exactly, a cost of 0, an override or an
    /// entry of a list that cannot be a value of its part.
    pub fn build(self) -> Result<Policy, PolicyError> {
        let mut findings = Vec::new();
        let (allow, deny) = (
            list(Which::Allow, &self.allow, &mut findings),
            list(Which::Deny, &self.deny, &mut findings),
        );
        let mut patterns = routes(&self.routes, &mut findings);
        if self.limits.len() > PolicyBuilder::MOST_LIMITS {
            let expected = format!("at most {} limits", PolicyBuilder::MOST_LIMITS);
            let complaint = Complaint::new("there are too many limits", expected);
            findings.push(complaint.at(Place::Limit(PolicyBuilder::MOST_LIMITS, "name")));
        }
        same_names(&self.limits, &mut findings);
        too_many_patterns(&patterns, &self.limits, &mut findings);
        too_many_names(&self.limits, &mut findings);
        let (mut methods, mut limits, mut everywhere) = (Methods::new(), Vec::new(), Vec::new());
        for (spec, (nth, at)) in self.limits.into_iter().zip((0..).zip(0u32..)) {
            check(&spec, nth, &mut findings);
            if let (true, Some(key)) = (self.plans.is_empty(), needs_plans(&spec)) {
                let expected = "`[plans]` to say how the plan of a request is found";
                let complaint = Complaint::new("no request has a plan", expected).quoting(&[]);
                findings.push(complaint.at(Place::Limit(nth, key)));
            }
            let overrides = Overrides::of(&spec, self.case).unwrap_or_else(|complaints| {
                let at = |(other, complaint): (_, Complaint)| {
                    of_override(&spec, other, complaint).at(Place::Override(nth, other))
                };
                findings.extend(complaints.into_iter().map(at));
                Overrides::default()
            });
            let set = method_set(&spec, nth, &mut methods, &mut findings);
            if spec.is_enabled() {
                let all = spec.when.is_for_every_path();
                if all {
                    everywhere.push(at);
                }
                let limit = (!all).then_some(at);
                patterns.extend(spec.when.paths().iter().map(|path| (path.clone(), limit)));
            }
            limits.push(Compiled { spec, methods: set, overrides: Arc::new(overrides) });
        }
        if !findings.is_empty() {
            return Err(PolicyError { findings });
        }
        let group = |members: &[u32]| Group::new(&self::members(&limits, members));
        let policy = Policy {
            everywhere: group(&everywhere),
            routes: Routes::new(patterns, self.case, group),
            limits,
            methods,
            allow,
            deny,
            preflights: self.preflights,
            plans: self.plans,
            case: self.case,
            ipv6_prefix: 0,
        };
        Ok(policy.with_ipv6_prefix(self.ipv6_prefix.unwrap_or(Key::IPV6_PREFIX)))
    }
}

/// These limits, as a group sees them.
fn members<'l>(limits: &'l [Compiled], members: &[u32]) -> Vec<Member<'l>> {
    let mut members = members.to_vec();
    // A limit has a pattern twice when two of its patterns differ by the names of parameters only.
    members.dedup();
    let limit = |at: u32| Some((at, limits.get(usize::try_from(at).ok()?)?));
    let member = |(at, limit): (u32, &'l Compiled)| Member {
        at,
        when: &limit.spec.when,
        names: limit.spec.conditions().flat_map(When::named_parts).collect(),
        methods: limit.methods,
        refuses: limit.spec.effect == Effect::Enforce,
    };
    members.into_iter().filter_map(limit).map(member).collect()
}

fn list(which: Which, entries: &[(KeyPart, String)], findings: &mut Vec<Finding>) -> List {
    let mut list = List::default();
    for (nth, (part, value)) in entries.iter().enumerate() {
        if let Err(complaint) = list.insert(which, part, value) {
            findings.push(complaint.at(which.place(nth)));
        }
    }
    list
}

fn routes(written: &[String], findings: &mut Vec<Finding>) -> Vec<(PathPattern, Option<u32>)> {
    let mut patterns = Vec::new();
    for (nth, text) in written.iter().enumerate() {
        match text.parse() {
            Ok(pattern) => patterns.push((pattern, None)),
            Err(error) => {
                let message = format!("`{text}` is no pattern of paths: {error}");
                let complaint = Complaint::new(message, PathPattern::EXPECTED);
                findings.push(complaint.at(Place::Route(nth)));
            }
        }
    }
    patterns
}

/// Told for each limit that has too many, and once where all together become too many.
fn too_many_patterns(
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
fn too_many_names(limits: &[LimitSpec], findings: &mut Vec<Finding>) {
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
fn same_names(limits: &[LimitSpec], findings: &mut Vec<Finding>) {
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
fn of_override(spec: &LimitSpec, nth: usize, complaint: Complaint) -> Complaint {
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
fn check(spec: &LimitSpec, nth: usize, findings: &mut Vec<Finding>) {
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
    if let Some(settlement) = &spec.settlement {
        if spec.cost != Cost::Fixed(settlement.estimate()) {
            let expected = "`estimate` in `charge` alone";
            let message = "what is charged at first is said twice, by `cost` and by `charge`";
            complain("charge", Complaint::new(message, expected).quoting(&[]));
        }
        if spec.count != Count::All {
            let message = "`charge` settles what an answer cost, and `count` gives it back whole";
            complain("charge", Complaint::new(message, "one of the two").quoting(&[]));
        }
        let queue = |limit: &Limit| matches!(limit.algorithm(), Algorithm::LeakyBucket(_));
        if spec.every_limit().any(queue) {
            let message = "a leaky-bucket gives out places, whose size cannot change later";
            let expected = "another `algorithm` beside `charge`, such as `token-bucket`";
            complain("charge", Complaint::new(message, expected).quoting(&[]));
        }
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

/// The key of a limit that asks for the plan of a request.
fn needs_plans(spec: &LimitSpec) -> Option<&'static str> {
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

fn method_set(
    spec: &LimitSpec,
    nth: usize,
    methods: &mut Methods,
    findings: &mut Vec<Finding>,
) -> MethodSet {
    if spec.when.methods().is_empty() {
        return MethodSet::ALL;
    }
    let mut set = MethodSet::EMPTY;
    for method in spec.when.methods() {
        match methods.learn(method) {
            Some(one) => set = set.union(one),
            None => {
                let complaint = Complaint::new("too many methods", "at most 63 in all limits");
                findings.push(complaint.at(Place::Limit(nth, "when")));
            }
        }
    }
    set
}
