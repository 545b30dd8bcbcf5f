//! What is doubtful about a policy that can be used.

use tollgate_core::{Algorithm, Anchor, Limit};

use crate::finding::{Complaint, Finding, Place};
use crate::key::KeyPart;
use crate::limit_spec::{Fallback, LimitSpec};
use crate::policy::Policy;
use crate::when::When;
use crate::worst::Worst;

impl Policy {
    /// What is doubtful: a window's double edge, a burst beyond three times the rate, a cost that
    /// never passes, a header that seldom arrives, a plan that nobody has, requests that no limit can match.
    #[must_use]
    pub fn warnings(&self) -> Vec<Finding> {
        let mut warnings: Vec<_> = (self.limits().enumerate())
            .filter(|(_, spec)| spec.is_enabled())
            .flat_map(|(nth, spec)| {
                let complaints = of_limit(spec).chain(self.unknown_plans(spec));
                complaints.map(move |(key, c)| c.at(Place::Limit(nth, key)))
            })
            .collect();
        if self.limits().next().is_none() {
            let complaint = Complaint::new("there is no limit at all", "at least one `[[limit]]`");
            warnings.push(complaint.at(Place::Whole));
        } else if !self.covers_everything() {
            let complaint = Complaint::new(
                "some requests are under no limit at all",
                "one limit without `when` and without `fallback = \"skip\"`, such as \
                 one by `client`, as a backstop",
            )
            .quoting(&[]);
            warnings.push(complaint.at(Place::Limit(0, "name")));
        }
        warnings
    }

    /// The plans that a limit names and no request is ever under.
    fn unknown_plans(&self, spec: &LimitSpec) -> impl Iterator<Item = (&'static str, Complaint)> {
        let own = spec.plans().map(|plan| ("plans", plan));
        let asked = spec.condition().plans().into_iter().map(|plan| ("when", plan));
        let unknown = own.chain(asked).filter(|(_, plan)| !self.may_plan(plan));
        unknown.map(|(key, plan)| {
            let expected = "a plan of the `file` in `[plans]`, or its `default`";
            (key, Complaint::new(format!("no request is under the plan `{plan}`"), expected))
        })
    }
}

fn of_limit(spec: &LimitSpec) -> impl Iterator<Item = (&'static str, Complaint)> {
    let of_headers = named_headers(spec).map(|(key, name)| (key, underscore(name)));
    let of_windows = spec.limits().iter().flat_map(|limit| {
        [
            ("rate", double_edge(spec, limit)),
            ("rate", long_burst(limit)),
            ("cost", dear(spec, limit)),
        ]
    });
    of_headers.chain(of_windows).filter_map(|(key, complaint)| Some((key, complaint?)))
}

/// The headers that a limit reads, and the keys that name them.
fn named_headers(spec: &LimitSpec) -> impl Iterator<Item = (&'static str, &str)> {
    let fallback = match spec.on_missing() {
        Fallback::Part(part) => header(part),
        _ => None,
    };
    let cost = spec.price().headers().into_iter();
    let by = spec.key().iter().filter_map(header).map(|name| ("by", name));
    let when = spec.condition().named_parts().into_iter().filter_map(header);
    let cases = spec.price().conditions().flat_map(When::named_parts).filter_map(header);
    let when = when.map(|name| ("when", name)).chain(cases.map(|name| ("cost", name)));
    let others = fallback.map(|name| ("fallback", name)).into_iter().chain(when);
    by.chain(others).chain(cost.map(|name| ("cost", name)))
}

fn header(part: &KeyPart) -> Option<&str> {
    match part {
        KeyPart::Header(name) => Some(name),
        _ => None,
    }
}

/// A CGI-like service reads `x_key` and `x-key` as one, so a client could choose which of the two a
/// limit sees.
fn underscore(header: &str) -> Option<Complaint> {
    header.contains('_').then(|| {
        Complaint::new(
            format!("the header `{header}` is dropped by the gateway, as by most proxies"),
            "a hyphen for each underscore, as in `x-api-key`: clients nearly always send that",
        )
    })
}

/// The keys that say what a quota is.
const QUOTA: &[&str] = &["rate", "burst"];

fn double_edge(spec: &LimitSpec, limit: &Limit) -> Option<Complaint> {
    // Who names a unit of the calendar wants its edges: no other rule has them.
    let Algorithm::FixedWindow(Anchor::Spread | Anchor::Clock | Anchor::FirstHit) =
        limit.algorithm()
    else {
        return None;
    };
    let (amount, twice) = (limit.quota().amount(), Worst::of(spec, limit).at_once);
    (amount > 0).then(|| {
        Complaint::new(
            format!("`{}` admits {twice} at once across the edge of two windows", limit.quota()),
            "`sliding-window` or `token-bucket`, unless that is wanted",
        )
        .quoting(QUOTA)
    })
}

fn long_burst(limit: &Limit) -> Option<Complaint> {
    let burst = limit.quota().burst()?;
    (burst > limit.quota().amount().saturating_mul(3)).then(|| {
        Complaint::new(
            format!("the burst of `{}` is more than three times its rate", limit.quota()),
            "a burst of 1.5 to 3 times the rate, unless clients come in batches",
        )
        .quoting(QUOTA)
    })
}

fn dear(spec: &LimitSpec, limit: &Limit) -> Option<Complaint> {
    let capacity = limit.capacity();
    let (least, most) = (spec.price().least(), spec.price().most());
    (capacity > 0 && most > capacity).then(|| {
        let which = if least > capacity { "no request" } else { "not every request" };
        Complaint::new(
            format!(
                "{which} can pass `{}`: a cost of {most} is above its capacity of {capacity}",
                limit.name()
            ),
            "a cost of at most the capacity, or a larger burst",
        )
        .quoting(&["name", "cost", "rate", "burst"])
    })
}
