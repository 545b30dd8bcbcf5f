//! What is counted of the gates of upstreams, for Prometheus.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UpstreamLabels {
    upstream: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusedLabels {
    upstream: String,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TurnLabels {
    upstream: String,
    to: &'static str,
}

/// Why a request was not sent to an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// As many waited as may.
    Full,
    /// It waited as long as it may.
    Late,
    /// The breaker was open.
    Open,
}

/// The series of all gates. An upstream without one has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct GateMeters {
    in_flight: Family<UpstreamLabels, Gauge>,
    waiting: Family<UpstreamLabels, Gauge>,
    refused: Family<RefusedLabels, Counter>,
    state: Family<UpstreamLabels, Gauge>,
    turns: Family<TurnLabels, Counter>,
}

impl GateMeters {
    pub(crate) fn register(registry: &mut Registry) -> GateMeters {
        let meters = GateMeters::default();
        registry.register(
            "upstream_in_flight",
            "Requests that have a place at an upstream with `max_in_flight`",
            meters.in_flight.clone(),
        );
        registry.register(
            "upstream_waiting",
            "Requests that wait for such a place",
            meters.waiting.clone(),
        );
        registry.register(
            "upstream_refused",
            "Requests that were not sent to an upstream, by why",
            meters.refused.clone(),
        );
        registry.register(
            "upstream_breaker_state",
            "Whether requests flow to an upstream: 0 they do, 1 some try, 2 none",
            meters.state.clone(),
        );
        registry.register(
            "upstream_breaker_turns",
            "How often a breaker turned, by what to",
            meters.turns.clone(),
        );
        meters
    }

    pub(super) fn in_flight(&self, upstream: &str) -> Gauge {
        self.in_flight.get_or_create_owned(&of(upstream))
    }

    pub(super) fn waiting(&self, upstream: &str) -> Gauge {
        self.waiting.get_or_create_owned(&of(upstream))
    }

    pub(super) fn refused(&self, upstream: &str, why: Refused) -> Counter {
        let reason = match why {
            Refused::Full => "full",
            Refused::Late => "late",
            Refused::Open => "open",
        };
        let labels = RefusedLabels { upstream: upstream.to_owned(), reason };
        self.refused.get_or_create_owned(&labels)
    }

    pub(super) fn state(&self, upstream: &str) -> Gauge {
        self.state.get_or_create_owned(&of(upstream))
    }

    pub(super) fn turns(&self, upstream: &str, to: &'static str) -> Counter {
        self.turns.get_or_create_owned(&TurnLabels { upstream: upstream.to_owned(), to })
    }

    /// Shows no places of an upstream any more: what still has one of them counts unseen.
    pub(super) fn forget_places(&self, upstream: &str) {
        self.in_flight.remove(&of(upstream));
        self.waiting.remove(&of(upstream));
    }

    /// Shows no breaker of an upstream any more.
    pub(super) fn forget_circuit(&self, upstream: &str) {
        self.state.remove(&of(upstream));
    }
}

fn of(upstream: &str) -> UpstreamLabels {
    UpstreamLabels { upstream: upstream.to_owned() }
}
