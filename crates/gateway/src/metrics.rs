//! What is counted, for Prometheus. Every label comes from the config or from a list in here.

mod backend;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tollgate_core::{Answer, Effect, Limit, Source, Verdict};
use tollgate_http::{Outcome, Refusal};
use tollgate_memory::Memory;
use tollgate_policy::Policy;
use tollgate_redis::Redis;

/// Seconds; from what a refusal takes to what no client waits for.
const BUCKETS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The counters, their handles made once, so that counting looks nothing up but a limit's name.
pub(crate) struct Metrics {
    registry: Registry,
    limits: HashMap<Box<str>, OfLimit>,
    requests: Requests,
    answers: Classes,
    upstream: Classes,
    no_answer: Counter,
    seconds: Histogram,
    store: OfStore,
}

impl Metrics {
    /// Counters of this policy's limits over the store in this process, and over the shared one, if
    /// there is one.
    pub(crate) fn new(policy: &Policy, store: Arc<Memory>, shared: Option<Arc<Redis>>) -> Metrics {
        let mut registry = Registry::with_prefix("tollgate");
        let seconds = Histogram::new(BUCKETS);
        let no_answer = Counter::default();
        let limits = OfLimit::register(policy, &mut registry);
        let requests = Requests::register(&mut registry);
        let answers = Classes::register("answers", "Answers given to clients", &mut registry);
        let upstream =
            Classes::register("upstream_answers", "Answers of the upstream", &mut registry);
        registry.register(
            "upstream_failures",
            "Requests that the upstream did not answer",
            no_answer.clone(),
        );
        registry.register(
            "answer_seconds",
            "From the head of a request to the head of its answer",
            seconds.clone(),
        );
        let store = OfStore::register(store, &mut registry);
        if let Some(shared) = shared {
            registry.register_collector(Box::new(backend::Backend(shared)));
        }
        Metrics { registry, limits, requests, answers, upstream, no_answer, seconds, store }
    }

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
            _ => return,
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

    /// Takes note of the upstream's answer; `None` when it gave none.
    pub(crate) fn asked(&self, status: Option<StatusCode>) {
        match status {
            Some(status) => self.upstream.count(status),
            None => {
                self.no_answer.inc();
            }
        }
    }

    /// Takes note of an answer to a client.
    pub(crate) fn answered(&self, status: StatusCode, took: Duration) {
        self.answers.count(status);
        self.seconds.observe(took.as_secs_f64());
    }

    /// Everything counted, as OpenMetrics text.
    pub(crate) fn text(&self) -> String {
        self.store.read();
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
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

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FallbackLabels {
    limit: String,
    mode: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    limit: String,
    effect: &'static str,
    verdict: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    limit: String,
}

impl OfLimit {
    fn register(policy: &Policy, registry: &mut Registry) -> HashMap<Box<str>, OfLimit> {
        let decisions = Family::<DecisionLabels, Counter>::default();
        let given_back = Family::<LimitLabels, Counter>::default();
        registry.register(
            "decisions",
            "What each limit said; where the effect is `shadow` nobody was refused",
            decisions.clone(),
        );
        registry.register("given_back", "Charges given back by their answers", given_back.clone());
        let fallback = Family::<FallbackLabels, Counter>::default();
        registry.register(
            "fallback",
            "What a limit said while the shared store could not be asked, by its `on_error`",
            fallback.clone(),
        );
        let enabled = policy.limits().filter(|spec| spec.is_enabled());
        let named = enabled.flat_map(|spec| {
            let effect = match spec.effect() {
                Effect::Enforce => "enforce",
                Effect::Shadow => "shadow",
            };
            let overridden = (spec.overrides() > 0).then_some(spec.name());
            let windows = spec.limits().iter().map(|limit| limit.name());
            windows.chain(overridden).map(move |name| (name, effect))
        });
        named
            .map(|(name, effect)| {
                let said = |verdict| {
                    let labels = DecisionLabels { limit: name.to_owned(), effect, verdict };
                    decisions.get_or_create(&labels).clone()
                };
                let without = |mode| {
                    let labels = FallbackLabels { limit: name.to_owned(), mode };
                    fallback.get_or_create(&labels).clone()
                };
                let labels = LimitLabels { limit: name.to_owned() };
                let of_limit = OfLimit {
                    allow: said("allow"),
                    deny: said("deny"),
                    never: said("never"),
                    given_back: given_back.get_or_create(&labels).clone(),
                    local: without("local"),
                    unasked: without("allow"),
                };
                (name.into(), of_limit)
            })
            .collect()
    }
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

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

impl Requests {
    fn register(registry: &mut Registry) -> Requests {
        let requests = Family::<OutcomeLabels, Counter>::default();
        registry.register("requests", "What became of requests at the limits", requests.clone());
        let of = |outcome| requests.get_or_create(&OutcomeLabels { outcome }).clone();
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

/// Answers by class of status, 1xx to 5xx.
struct Classes([Counter; 5]);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClassLabels {
    class: &'static str,
}

impl Classes {
    fn register(name: &str, help: &str, registry: &mut Registry) -> Classes {
        let classes = Family::<ClassLabels, Counter>::default();
        registry.register(name, help, classes.clone());
        let of = |class| classes.get_or_create(&ClassLabels { class }).clone();
        Classes(["1xx", "2xx", "3xx", "4xx", "5xx"].map(of))
    }

    fn count(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).checked_sub(1);
        if let Some(counter) = class.and_then(|class| self.0.get(class)) {
            counter.inc();
        }
    }
}

/// What the store counts itself, read when someone asks.
struct OfStore {
    store: Arc<Memory>,
    keys: Gauge,
    bytes: Gauge,
    forgotten: Counter,
    forgotten_in_debt: Counter,
    debt_forgiven: Counter,
}

impl OfStore {
    fn register(store: Arc<Memory>, registry: &mut Registry) -> OfStore {
        let of_store = OfStore {
            store,
            keys: Gauge::default(),
            bytes: Gauge::default(),
            forgotten: Counter::default(),
            forgotten_in_debt: Counter::default(),
            debt_forgiven: Counter::default(),
        };
        registry.register("store_keys", "Keys that are held", of_store.keys.clone());
        registry.register("store_bytes", "Bytes that hold them", of_store.bytes.clone());
        registry.register(
            "store_forgotten",
            "Keys forgotten that owed nothing",
            of_store.forgotten.clone(),
        );
        registry.register(
            "store_forgotten_in_debt",
            "Keys forgotten for want of room while they still owed: quota granted",
            of_store.forgotten_in_debt.clone(),
        );
        registry.register(
            "store_debt_forgiven",
            "What those owed together",
            of_store.debt_forgiven.clone(),
        );
        of_store
    }

    fn read(&self) {
        let stats = self.store.stats();
        self.keys.set(stats.entries.try_into().unwrap_or(i64::MAX));
        self.bytes.set(stats.bytes.try_into().unwrap_or(i64::MAX));
        // Relaxed: these only mirror what the store has counted.
        self.forgotten.inner().store(stats.forgotten, Ordering::Relaxed);
        self.forgotten_in_debt.inner().store(stats.forgotten_in_debt, Ordering::Relaxed);
        self.debt_forgiven.inner().store(stats.debt_forgiven, Ordering::Relaxed);
    }
}
