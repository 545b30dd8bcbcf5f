//! What becomes of requests that pass: who waits for a turn, and what is settled by the answer.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tollgate_http::{Outcome, Untold};

/// Counters of what is told of a request after it has passed.
#[derive(Clone, Default)]
pub(super) struct Afterwards {
    waiting: Gauge,
    left: Counter,
    settled: Family<Labels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    result: &'static str,
}

impl Afterwards {
    pub(super) fn register(registry: &mut Registry) -> Afterwards {
        let afterwards = Afterwards::default();
        let waiting = "Requests that wait in queues of limits for their turn";
        registry.register("waiting", waiting, afterwards.waiting.clone());
        let left = "Requests whose clients left while they waited";
        registry.register("left", left, afterwards.left.clone());
        let settled = "Charges to be settled by the answer: `settled`, or why the estimate stayed";
        registry.register("settled", settled, afterwards.settled.clone());
        afterwards
    }

    pub(super) fn count(&self, outcome: &Outcome<'_>) {
        let result = match outcome {
            Outcome::Held => {
                self.waiting.inc();
                return;
            }
            Outcome::Released => {
                self.waiting.dec();
                return;
            }
            Outcome::Left => {
                self.waiting.dec();
                self.left.inc();
                return;
            }
            Outcome::Settled { .. } => "settled",
            Outcome::Estimated(_, Untold::Missing) => "missing",
            Outcome::Estimated(_, Untold::Unreadable) => "unreadable",
            Outcome::Estimated(..) => "cut",
            Outcome::Kept(..) => "store",
            _ => return,
        };
        self.settled.get_or_create(&Labels { result }).inc();
    }
}
