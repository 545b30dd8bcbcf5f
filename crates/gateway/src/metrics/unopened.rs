//! Connections that were closed before HTTP began.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::opening::Unopened;

/// A counter for each reason.
pub(super) struct Closed {
    proxy_header: Counter,
    handshake: Counter,
    slow: Counter,
    crowded: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WhyLabels {
    why: &'static str,
}

impl Closed {
    pub(super) fn register(registry: &mut Registry) -> Closed {
        let closed = Family::<WhyLabels, Counter>::default();
        registry.register(
            "connections_unopened",
            "Connections that were closed before a request could be read",
            closed.clone(),
        );
        let why = |why| closed.get_or_create(&WhyLabels { why }).clone();
        Closed {
            proxy_header: why("proxy_header"),
            handshake: why("handshake"),
            slow: why("slow"),
            crowded: why("crowded"),
        }
    }

    /// Takes note of one. Clients that left by themselves do not count.
    pub(super) fn count(&self, why: &Unopened) {
        let counter = match why {
            Unopened::Left => return,
            Unopened::ProxyHeader(_) => &self.proxy_header,
            Unopened::Handshake(_) => &self.handshake,
            Unopened::Slow => &self.slow,
            Unopened::Crowded => &self.crowded,
        };
        counter.inc();
    }
}
