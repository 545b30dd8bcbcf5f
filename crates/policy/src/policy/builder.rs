//! Putting a policy together, and what is refused.

use std::collections::{BTreeSet, HashSet};

use tollgate_core::{Key, Limit};

use super::{Compiled, Overrides, Policy, Preflights};
use crate::cost::Cost;
use crate::finding::{Complaint, Finding, Place, PolicyError};
use crate::key::KeyPart;
use crate::limit_spec::{Count, Fallback, LimitSpec, is_window};
use crate::list::{List, Which};
use crate::method::{MethodSet, Methods};
use crate::path::Case;
use crate::pattern::PathPattern;
use crate::routes::Routes;

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
        let (mut methods, mut limits, mut everywhere) = (Methods::new(), Vec::new(), Vec::new());
        for (spec, (nth, at)) in self.limits.into_iter().zip((0..).zip(0u32..)) {
            check(&spec, nth, &mut findings);
            let overrides = Overrides::of(&spec, self.case).unwrap_or_else(|complaints| {
                let at =
                    |(other, complaint): (_, Complaint)| complaint.at(Place::Override(nth, other));
                findings.extend(complaints.into_iter().map(at));
                Overrides::default()
            });
            let set = method_set(&spec, nth, &mut methods, &mut findings);
            if spec.is_enabled() {
                let paths = spec.when.paths();
                let all = paths.is_empty() || paths.iter().any(PathPattern::is_everything);
                if all {
                    everywhere.push(at);
                }
                let limit = (!all).then_some(at);
                patterns.extend(paths.iter().map(|path| (path.clone(), limit)));
            }
            limits.push(Compiled { spec, methods: set, overrides });
        }
        if !findings.is_empty() {
            return Err(PolicyError { findings });
        }
        let policy = Policy {
            limits,
            everywhere,
            routes: Routes::new(patterns, self.case),
            methods,
            allow,
            deny,
            preflights: self.preflights,
            case: self.case,
            ipv6_prefix: 0,
        };
        Ok(policy.with_ipv6_prefix(self.ipv6_prefix.unwrap_or(Key::IPV6_PREFIX)))
    }
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
        for (at, other) in spec.overrides.iter().enumerate() {
            if has_twins(&other.windows) {
                findings.push(same_period().at(Place::Override(nth, at)));
            }
        }
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
    for (at, other) in spec.overrides.iter().enumerate() {
        if other.windows.is_empty() {
            findings.push(no_rate().at(Place::Override(nth, at)));
        }
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
    if spec.cost == Cost::Fixed(0) {
        complain("cost", Complaint::new("a cost of 0 would limit nothing", "a cost of at least 1"));
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
