//! A policy from a file: the sections `[[limit]]`, `[allow]`, `[deny]`, `[path]`, `[plans]` and
//! `[schedules]`.
//!
//! The file is read into the same builder that code uses; what that refuses is told at the place in
//! the file where it was written.

mod bytes;
mod charge;
mod columns;
mod cost;
mod limit;
mod overrides;
mod plans;
mod rates;
mod schedules;
mod spots;
mod when;
mod window;

use crate::config::{Problem, Section, nearest};
use crate::finding::{Finding, Place};
use crate::key::KeyPart;
use crate::list::Which;
use crate::path::Case;
use crate::pattern::PathPattern;
use crate::policy::{Policy, PolicyBuilder, Preflights};
use limit::read_limit;
use plans::read_plans;
use schedules::read_schedules;
use spots::Spots;

impl Policy {
    /// Reads a policy from the file's `[[limit]]`, `[allow]`, `[deny]`, `[path]`, `[plans]` and
    /// `[schedules]`; leaves all other sections to their owners. The guide to the file says how the keys look.
    ///
    /// `None` when something is wrong with them, which the reading then tells; it tells what is
    /// doubtful as well.
    ///
    /// ```
    /// use tollgate_policy::config::{Reading, Source};
    /// use tollgate_policy::Policy;
    /// let text = "[[limit]]\nname = \"per-client\"\nrate = \"100/minute\"\nburts = 20\n";
    /// let reading = Reading::new(Source::new("limits.toml", text)?, &|_| None);
    /// let policy = Policy::read(&mut reading.root());
    /// assert!(policy.is_none());
    /// assert!(reading.finish().to_string().contains("did you mean `burst`?"));
    /// # Ok::<(), tollgate_policy::config::SourceError>(())
    /// ```
    pub fn read(root: &mut Section<'_>) -> Option<Policy> {
        let reading = root.reading();
        let before = reading.errors();
        let mut spots = Spots::default();
        let mut policy = Policy::builder();
        read_schedules(root);
        if let Some(plans) = read_plans(root) {
            policy = policy.plans(plans);
        }
        for section in root.sections("limit") {
            if let Some(limit) = read_limit(section, &mut spots) {
                policy = policy.limit(limit);
            }
        }
        policy = read_path(root, policy, &mut spots);
        policy = read_list(root, Which::Allow, policy, &mut spots);
        policy = read_list(root, Which::Deny, policy, &mut spots);
        match policy.build() {
            Err(error) => {
                for finding in error.findings() {
                    reading.report(spots.problem(Problem::error, finding));
                }
                None
            }
            // With a limit missing, what is doubtful about the rest may not be.
            Ok(_) if reading.is_broken() || reading.errors() > before => None,
            Ok(policy) => {
                // With `[[limits]]` for `[[limit]]` there are some, and that is told.
                let is_told = root.misspells("limit");
                let told = |finding: &Finding| finding.place == Place::Whole && is_told;
                for finding in policy.warnings().into_iter().filter(|finding| !told(finding)) {
                    reading.report(spots.problem(Problem::warning, &finding));
                }
                Some(policy)
            }
        }
    }
}

/// `[path]`: how paths are matched, and names of routes.
fn read_path(root: &mut Section<'_>, policy: PolicyBuilder, spots: &mut Spots) -> PolicyBuilder {
    let Some(mut path) = root.section("path") else { return policy };
    let case = path.choice("case", &[("kept", Case::Kept), ("folded", Case::Folded)]);
    let routes = path.texts("routes", PathPattern::EXPECTED).unwrap_or_default();
    routes.into_iter().fold(policy.case(case.unwrap_or_default()), |policy, route| {
        spots.route(&route);
        when::doubt_colons(path.reading(), &route);
        policy.route(route.as_str())
    })
}

/// `[allow]` or `[deny]`: values of parts of a request.
fn read_list(
    root: &mut Section<'_>,
    which: Which,
    mut policy: PolicyBuilder,
    spots: &mut Spots,
) -> PolicyBuilder {
    let Some(mut list) = root.section(which.name()) else { return policy };
    if which == Which::Allow && list.flag("preflights") == Some(false) {
        policy = policy.preflights(Preflights::Limited);
    }
    let reading = list.reading();
    for (key, values) in list.rest() {
        let part = match key.as_str().parse::<KeyPart>() {
            Ok(part) => part,
            Err(error) => {
                let known = which.words();
                let message = format!("`{}` is not a key that is known here", values.path());
                let meant = nearest(key.as_str(), known.iter().copied()).or(error.suggestion());
                let meant = meant.filter(|_| key.variable().is_none());
                reading
                    .report(Problem::error(key.span(), message, which.expected()).suggest(meant));
                continue;
            }
        };
        let expected = "a string or a list of strings";
        for value in values.texts(expected).unwrap_or_default() {
            spots.listed(which, &key, &value);
            policy = match which {
                Which::Allow => policy.allow(part.clone(), value.as_str()),
                Which::Deny => policy.deny(part.clone(), value.as_str()),
            };
        }
    }
    policy
}
