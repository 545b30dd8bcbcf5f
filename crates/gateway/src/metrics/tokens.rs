//! What became of clients' tokens.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::jwt::Disbelief;

/// Tokens that were looked at, by what was found.
pub(crate) struct Tokens(Family<Labels, Counter>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    result: &'static str,
}

impl Tokens {
    pub(super) fn register(registry: &mut Registry) -> Tokens {
        let tokens = Tokens(Family::default());
        let help = "Tokens that limits asked about, `valid` or why they were not believed";
        registry.register("tokens", help, tokens.0.clone());
        tokens
    }

    /// Takes note of a token.
    pub(crate) fn count(&self, result: Result<(), Disbelief>) {
        let result = result.map_or_else(Disbelief::name, |()| "valid");
        self.0.get_or_create(&Labels { result }).inc();
    }
}
