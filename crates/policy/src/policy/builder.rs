//! Putting a policy together.

mod check;

use std::sync::Arc;

use tollgate_core::{Effect, Key};

use check::{check, needs_plans, of_override, same_names, too_many_names, too_many_patterns};

use super::{Compiled, Overrides, Policy, Preflights};
use crate::finding::{Complaint, Finding, Place, PolicyError};
use crate::group::{Group, Member};
use crate::key::KeyPart;
use crate::limit_spec::LimitSpec;
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
            let has_others = !spec.overrides.is_empty() || !spec.plans.is_empty();
            let overrides = has_others.then(|| Arc::new(overrides));
            let set = method_set(&spec, nth, &mut methods, &mut findings);
            if spec.is_enabled() {
                let all = spec.when.is_for_every_path();
                if all {
                    everywhere.push(at);
                }
                let limit = (!all).then_some(at);
                patterns.extend(spec.when.paths().iter().map(|path| (path.clone(), limit)));
            }
            limits.push(Compiled { spec, methods: set, overrides });
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
