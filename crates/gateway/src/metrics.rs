//! What is counted, for Prometheus. Every label comes from the config or from a list in here.

mod afterwards;
mod backend;
mod limits;
mod order;
mod status;
mod tokens;
mod unopened;

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
use tollgate_memory::Memory;
use tollgate_policy::Policy;
use tollgate_redis::Redis;

pub(crate) use limits::Decisions;
pub(crate) use status::Loaded;
pub(crate) use tokens::Tokens;

use crate::upstream::Meters;

use limits::Series;
use status::Status;
use unopened::Closed;

use crate::opening::Unopened;

/// Seconds; from what a refusal takes to what no client waits for.
const BUCKETS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0];

/// What one process counts, whatever its file says meanwhile.
pub(crate) struct Metrics {
    registry: Registry,
    status: Status,
    series: Series,
    closed: Closed,
    answers: Classes,
    upstream: Classes,
    no_answer: Counter,
    seconds: Histogram,
    store: OfStore,
    /// Of clients' tokens.
    pub(crate) tokens: Tokens,
    /// Of the servers behind, and of tunnels to them.
    pub(crate) meters: Meters,
}

impl Metrics {
    /// Counters over the store in this process, and over the shared one, if there is one.
    pub(crate) fn new(store: Arc<Memory>, shared: Option<Arc<Redis>>) -> Metrics {
        let mut registry = Registry::with_prefix("tollgate");
        let seconds = Histogram::new(BUCKETS);
        let no_answer = Counter::default();
        let status = Status::register(&mut registry);
        let series = Series::register(&mut registry);
        let closed = Closed::register(&mut registry);
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
        let meters = Meters::register(&mut registry);
        let store = OfStore::register(store, &mut registry);
        let tokens = Tokens::register(&mut registry);
        if let Some(shared) = shared {
            registry.register_collector(Box::new(backend::Backend(shared)));
        }
        Metrics {
            registry,
            status,
            series,
            closed,
            answers,
            upstream,
            no_answer,
            seconds,
            store,
            tokens,
            meters,
        }
    }

    /// Counters of this policy's limits, which are in force from now on.
    pub(crate) fn follow(&self, policy: &Policy) -> Decisions {
        self.series.follow(policy)
    }

    /// Takes note of an attempt to put a file in force.
    pub(crate) fn reloaded(&self, loaded: Loaded) {
        self.status.reloaded(loaded);
    }

    /// Takes note of a connection that was closed before HTTP began.
    pub(crate) fn unopened(&self, why: &Unopened) {
        self.closed.count(why);
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
        self.status.read();
        self.store.read();
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        order::in_order(&text)
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
