//! What each limit says: series that follow the limits in force.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tollgate_core::{Answer, Effect, Limit, Source, Verdict};
use tollgate_http::{Outcome, Refusal};
use tollgate_policy::Policy;

use super::afterwards::Afterwards;

/// Limits and windows with series of their own, the first of the file: what is scraped stays within
/// some 200 KiB.
const MOST: usize = 500;
/// Stands for all others, and is no name that a limit can have.
const OTHERS: &str = "(others)";

const VERDICTS: [&str; 3] = ["allow", "deny", "never"];
const MODES: [&str; 2] = ["local", "allow"];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    limit: String,
    effect: &'static str,
    verdict: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FallbackLabels {
    limit: String,
    mode: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    limit: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

/// The label of a limit or of one of its windows, with its effect.
type Named = (String, &'static str);

/// The series of all limits in force.
pub(super) struct Series {
    decisions: Family<DecisionLabels, Counter>,
    given_back: Family<LimitLabels, Counter>,
    fallback: Family<FallbackLabels, Counter>,
    requests: Family<OutcomeLabels, Counter>,
    afterwards: Afterwards,
    in_force: Mutex<HashSet<Named>>,
}

impl Series {
    pub(super) fn register(registry: &mut Registry) -> Series {
        let series = Series {
            decisions: Family::default(),
            given_back: Family::default(),
            fallback: Family::default(),
            requests: Family::default(),
            afterwards: Afterwards::register(registry),
            in_force: Mutex::default(),
        };
        registry.register(
            "decisions",
            "What each limit said; where the effect is `shadow` nobody was refused",
            series.decisions.clone(),
        );
        registry.register(
            "given_back",
            "Charges given back by their answers",
            series.given_back.clone(),
        );
        registry.register(
            "fallback",
            "What a limit said while the shared store could not be asked, by its `on_error`",
            series.fallback.clone(),
        );
        registry.register(
            "requests",
            "What became of requests at the limits",
            series.requests.clone(),
        );
        series
    }

    /// The counters of this policy's limits. Series that were there go on; those of limits that are
    /// gone vanish.
    pub(super) fn follow(&self, policy: &Policy) -> Decisions {
        let (mut limits, mut named) = (HashMap::default(), HashSet::new());
        for (nth, (name, effect)) in self::named(policy).enumerate() {
            let label = if nth < MOST { name } else { OTHERS };
            limits.insert(name.into(), self.of(label, effect));
            named.insert((label.to_owned(), effect));
        }
        let (requests, afterwards) = (self.requests(), self.afterwards.clone());
        let decisions = Decisions { limits, requests, afterwards };
        let mut in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, effect) in in_force.difference(&named) {
            let stays = named.iter().any(|(other, _)| other == name);
            self.remove(name, effect, stays);
        }
        *in_force = named;
        decisions
    }

    fn of(&self, name: &str, effect: &'static str) -> OfLimit {
        let said = |verdict| {
            let labels = DecisionLabels { limit: name.to_owned(), effect, verdict };
            self.decisions.get_or_create(&labels).clone()
        };
        let without = |mode| {
            let labels = FallbackLabels { limit: name.to_owned(), mode };
            self.fallback.get_or_create(&labels).clone()
        };
        let [allow, deny, never] = VERDICTS.map(said);
        let [local, unasked] = MODES.map(without);
        let labels = LimitLabels { limit: name.to_owned() };
        let given_back = self.given_back.get_or_create(&labels).clone();
        OfLimit { allow, deny, never, given_back, local, unasked }
    }

    fn remove(&self, name: &str, effect: &'static str, stays: bool) {
        let limit = || name.to_owned();
        for verdict in VERDICTS {
            self.decisions.remove(&DecisionLabels { limit: limit(), effect, verdict });
        }
        // Only the effect has changed: what has no effect among its labels goes on.
        if stays {
            return;
        }
        for mode in MODES {
            self.fallback.remove(&FallbackLabels { limit: limit(), mode });
        }
        self.given_back.remove(&LimitLabels { limit: limit() });
    }

    fn requests(&self) -> Requests {
        let of = |outcome| self.requests.get_or_create(&OutcomeLabels { outcome }).clone();
        Requests {
            free: of("free"),
            passed: of("passed"),
            limited: of("limited"),
            denied: of("denied"),
            unreadable: of("unreadable"),
            unasked: of("unasked"),
        }
    }
}

/// Every name that a decision of this policy may bear, in the order of the file.
fn named(policy: &Policy) -> impl Iterator<Item = (&str, &'static str)> {
    let enabled = policy.limits().filter(|spec| spec.is_enabled());
    enabled.flat_map(|spec| {
        let effect = match spec.effect() {
            Effect::Enforce => "enforce",
            Effect::Shadow => "shadow",
        };
        let overridden = (spec.overrides() > 0).then_some(spec.name());
        let windows = spec.limits().iter().map(|limit| limit.name());
        windows.chain(overridden).map(move |name| (name, effect))
    })
}

/// Counters of one policy's limits, their handles made once, so that counting looks nothing up but
/// a limit's name.
pub(crate) struct Decisions {
    limits: HashMap<Box<str>, OfLimit, RandomState>,
    requests: Requests,
    afterwards: Afterwards,
}

impl Decisions {
    /// Takes note of what the limits say of a request.
    pub(crate) fn decided(&self, outcome: &Outcome<'_>) {
        let what = match outcome {
            Outcome::Free => &self.requests.free,
            Outcome::Passed(decision) => {
                self.answered_by(decision.answers());
                &self.requests.passed
            }
            Outcome::Refused(Refusal::Limited(decision)) => {
                self.answered_by(decision.answers());
                &self.requests.limited
            }
            Outcome::Refused(Refusal::Denied) => &self.requests.denied,
            Outcome::Refused(Refusal::Unasked(_)) => &self.requests.unasked,
            Outcome::Refused(_) => &self.requests.unreadable,
            Outcome::GivenBack(limit) => match self.of_limit(limit) {
                Some(of_limit) => &of_limit.given_back,
                None => return,
            },
            afterwards => return self.afterwards.count(afterwards),
        };
        what.inc();
    }

    /// The counters of a window, or of the limit that an override has given other windows.
    fn of_limit(&self, limit: &Limit) -> Option<&OfLimit> {
        let whole = || self.limits.get(limit.name().rsplit_once('-')?.0);
        self.limits.get(limit.name()).or_else(whole)
    }

    fn answered_by<'l: 'a, 'a>(&self, answers: impl Iterator<Item = &'a Answer<'l>>) {
        for answer in answers {
            if let Some(of_limit) = self.of_limit(answer.limit()) {
                match answer.verdict() {
                    Verdict::Allow | Verdict::Wait(_) => of_limit.allow.inc(),
                    Verdict::Deny(_) => of_limit.deny.inc(),
                    Verdict::Never => of_limit.never.inc(),
                };
                match answer.source() {
                    Source::Store => {}
                    Source::Share(_) => drop(of_limit.local.inc()),
                    Source::Nobody => drop(of_limit.unasked.inc()),
                }
            }
        }
    }
}

/// The counters of one limit.
struct OfLimit {
    allow: Counter,
    deny: Counter,
    never: Counter,
    given_back: Counter,
    /// Decided by this process alone, or not at all, since the shared store could not be asked.
    local: Counter,
    unasked: Counter,
}

/// What became of requests at the limits.
struct Requests {
    free: Counter,
    passed: Counter,
    limited: Counter,
    denied: Counter,
    unreadable: Counter,
    unasked: Counter,
}
