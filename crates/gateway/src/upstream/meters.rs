//! What is counted of servers and tunnels, for Prometheus.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::gate::GateMeters;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ServerLabels {
    pub(crate) upstream: String,
    pub(crate) server: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UpstreamLabels {
    upstream: String,
}

/// The series of all upstreams. They are the process's: whoever reads the file again goes on counting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meters {
    up: Family<ServerLabels, Gauge>,
    ejections: Family<ServerLabels, Counter>,
    retries: Family<UpstreamLabels, Counter>,
    tunnels: Gauge,
    pub(crate) gates: GateMeters,
}

impl Meters {
    pub(crate) fn register(registry: &mut Registry) -> Meters {
        let mut meters = Meters::default();
        registry.register(
            "upstream_up",
            "Whether a server is asked: 0 while its checks or requests in a row fail",
            meters.up.clone(),
        );
        registry.register(
            "upstream_ejections",
            "How often requests in a row that failed took a server out",
            meters.ejections.clone(),
        );
        registry.register(
            "upstream_retries",
            "Requests that could not be sent to a server and went to the next",
            meters.retries.clone(),
        );
        registry.register(
            "tunnels",
            "Connections that go on in another protocol, such as websocket",
            meters.tunnels.clone(),
        );
        meters.gates = GateMeters::register(registry);
        meters
    }

    /// Forgets a server: what is no longer asked must not look like one that is down. If it still
    /// answers it counts unseen.
    pub(super) fn forget(&self, labels: &ServerLabels) {
        self.up.remove(labels);
    }

    pub(super) fn up(&self, labels: &ServerLabels) -> Gauge {
        self.up.get_or_create_owned(labels)
    }

    pub(super) fn ejections(&self, labels: &ServerLabels) -> Counter {
        self.ejections.get_or_create_owned(labels)
    }

    pub(super) fn retries(&self, upstream: &str) -> Counter {
        self.retries.get_or_create_owned(&UpstreamLabels { upstream: upstream.to_owned() })
    }

    pub(crate) fn tunnels(&self) -> &Gauge {
        &self.tunnels
    }
}
