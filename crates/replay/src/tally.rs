//! What is counted of a replay. Bounded: the length of the log does not matter.

mod agents;
mod client;
mod limit;
mod ordinary;
mod peak;
mod ranking;
mod route;
mod timeline;
mod totals;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use tollgate_core::{Effect, Limit};
use tollgate_policy::{LimitSpec, Policy};

use crate::format::Field;
use crate::run::{Decided, Fate, Outcome, Route};
pub(crate) use agents::Agents;
pub use client::{ClientTally, Network};
pub use limit::{Hits, LimitTally};
pub use ordinary::Ordinary;
pub use peak::{Peak, Peaks};
pub use ranking::{Ranking, Weighed};
pub use route::RouteTally;
pub use timeline::{Bin, Timeline};
pub use totals::Totals;

/// What is counted of a replay.
///
/// It keeps 50,000 clients and as many routes at least, each with its numbers, and up to twice as many.
/// When there are more, the half of them with the fewest requests is put together under the others; a
/// client that comes again later begins anew, so that its numbers are then what it did since.
#[derive(Debug)]
pub struct Tally {
    /// All requests.
    pub totals: Totals,
    /// Requests over time.
    pub timeline: Timeline,
    /// The most requests in a second, and in a minute.
    pub peaks: Peaks,
    limits: Vec<LimitTally>,
    by_id: HashMap<u64, usize, RandomState>,
    clients: Ranking<Network, ClientTally>,
    routes: Ranking<Box<[u8]>, RouteTally>,
    hits: Ranking<(usize, Network), Hits>,
    agents: Agents,
    ipv6_prefix: u8,
    label: Vec<u8>,
}

impl Tally {
    const MOST: usize = 50_000;

    /// Nothing, for the limits of a policy and a log of these fields.
    #[must_use]
    pub fn new(policy: &Policy, known: &[Field]) -> Tally {
        Tally::keeping(Tally::MOST, policy, known)
    }

    fn keeping(most: usize, policy: &Policy, known: &[Field]) -> Tally {
        let mut tally = Tally {
            totals: Totals::default(),
            timeline: Timeline::default(),
            peaks: Peaks::default(),
            limits: Vec::new(),
            by_id: HashMap::default(),
            clients: Ranking::new(most),
            routes: Ranking::new(most),
            hits: Ranking::new(most),
            agents: Agents::of_log(known.contains(&Field::Agent)),
            ipv6_prefix: policy.ipv6_prefix(),
            label: Vec::new(),
        };
        for spec in policy.limits().filter(|spec| spec.is_enabled()) {
            for limit in LimitSpec::limits(spec) {
                tally.limit(limit, spec.effect());
            }
        }
        tally
    }

    /// Counts a request.
    pub fn count(&mut self, decided: &Decided<'_, '_>) {
        let Decided { entry, client, route, outcome, .. } = decided;
        let (fate, would_refuse) = (outcome.fate(), outcome.would_refuse());
        let network = Network::of(*client, self.ipv6_prefix);
        self.totals.count(entry.at, outcome, fate);
        self.timeline.count(entry.at, fate, would_refuse);
        self.peaks.count(entry.at);
        let client = self.clients.at(&network, || network);
        client.count(entry, fate, would_refuse, &self.agents);
        self.count_route(*route, fate, would_refuse);
        if let Outcome::Limited(decision) = outcome {
            for answer in decision.answers() {
                let at = self.limit(answer.limit(), answer.effect());
                let Some(limit) = self.limits.get_mut(at) else { continue };
                limit.count(answer.verdict());
                if !answer.verdict().passes() {
                    self.hits.at(&(at, network), || (at, network)).0 += 1;
                }
            }
        }
    }

    /// What each limit said, in the order of the policy.
    #[must_use]
    pub fn limits(&self) -> &[LimitTally] {
        &self.limits
    }

    /// The clients.
    #[must_use]
    pub fn clients(&self) -> &Ranking<Network, ClientTally> {
        &self.clients
    }

    /// The routes, as people read them.
    #[must_use]
    pub fn routes(&self) -> &Ranking<Box<[u8]>, RouteTally> {
        &self.routes
    }

    /// How often each limit, by its place in [`Tally::limits`], refused each client.
    #[must_use]
    pub fn hits(&self) -> &Ranking<(usize, Network), Hits> {
        &self.hits
    }

    /// The client that each limit refused most often, by the limit's place in [`Tally::limits`].
    #[must_use]
    pub fn refused_most(&self) -> Vec<Option<Network>> {
        let mut most: Vec<Option<(u64, Network)>> = vec![None; self.limits.len()];
        for ((at, network), Hits(hits)) in self.hits.iter() {
            let Some(most) = most.get_mut(*at) else { continue };
            // Of equal ones the first by address, whatever order they are kept in.
            let is_more = |(other, address): (u64, Network)| {
                *hits > other || (*hits == other && *network < address)
            };
            if most.is_none_or(is_more) {
                *most = Some((*hits, *network));
            }
        }
        most.into_iter().map(|most| most.map(|(_, network)| network)).collect()
    }

    /// Who looks like an ordinary user, and what that cost them.
    fn count_route(&mut self, route: Route<'_>, fate: Fate, would_refuse: bool) {
        self.label.clear();
        route.label(&mut self.label);
        let label = self.label.as_slice();
        self.routes.at(label, || label.into()).count(fate, would_refuse);
    }

    /// The place of a limit. Overrides and plans of one period are counted with what they override.
    fn limit(&mut self, limit: &Limit, effect: Effect) -> usize {
        *self.by_id.entry(limit.id()).or_insert_with(|| {
            self.limits.push(LimitTally::new(limit, effect));
            self.limits.len() - 1
        })
    }
}
#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use tollgate_core::{Span, Tick};

    use super::*;
    use crate::entry::{Client, Entry};

    #[test]
    fn however_many_clients_and_routes_there_are_few_are_kept_and_no_request_is_lost() {
        let mut tally = Tally::keeping(100, &Policy::builder().build().unwrap(), &[]);
        for nth in 0..5_000_u32 {
            // One of two requests is of one client.
            let address = if nth % 2 == 0 { 7 } else { 1_000 + nth };
            let client = IpAddr::V4(Ipv4Addr::from_bits(address));
            let name = nth.to_string();
            let entry = Entry::bare(
                Tick::EPOCH.after(Span::from_secs(u64::from(nth) * 1_000)),
                Client::Address(client),
            );
            let route = Route::Path(name.as_bytes());
            let outcome = Outcome::Uncovered;
            tally.count(&Decided { entry: &entry, client, route, outcome, matches: None });
            assert!(tally.clients.len() <= 200 && tally.routes.len() <= 200);
        }
        let kept: u64 = tally.clients.iter().map(|(_, client)| client.requests).sum();
        assert_eq!(kept + tally.clients.others().requests, 5_000);
        let top = tally.clients.top(1, Weighed::weight);
        assert_eq!((top[0].0.to_string().as_str(), top[0].1.requests), ("0.0.0.7", 2_500));
        assert!(tally.timeline.bins().len() <= Timeline::MOST);
        assert_eq!(tally.totals.requests(), 5_000);
    }
}
