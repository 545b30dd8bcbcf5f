//! What is counted of a replay. Bounded: the length of the log does not matter.

mod agents;
mod peak;
mod ranking;
mod timeline;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use foldhash::fast::RandomState;
use tollgate_core::{Effect, Key, Limit, Span, Tick, Verdict};
use tollgate_policy::{LimitSpec, Policy};

use crate::entry::{Client, Entry};
use crate::format::Field;
use crate::run::{Decided, Fate, Outcome, Route};
pub(crate) use agents::Agents;
pub use peak::Peak;
pub use ranking::{Ranking, Weighed};
pub use timeline::{Bin, Timeline};

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

/// All requests, by what becomes of them. The first four are all there are; the rest says why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Those that pass at once.
    pub passed: u64,
    /// Those that pass after a wait.
    pub delayed: u64,
    /// Those that are refused.
    pub refused: u64,
    /// What is no HTTP, and reaches no limit.
    pub unasked: u64,
    /// Of those that are refused: by a limit.
    pub limited: u64,
    /// By the list of what is forbidden.
    pub forbidden: u64,
    /// For a path that can be read in two ways.
    pub unreadable: u64,
    /// For want of what a limit needs.
    pub keyless: u64,
    /// Of those that pass: those no limit is for.
    pub uncovered: u64,
    /// Those that are free whatever limits say.
    pub free: u64,
    /// Those that a limit would refuse which only watches.
    pub would_refuse: u64,
    /// The longest wait.
    pub longest_wait: Span,
    /// When the first one came.
    pub first: Option<Tick>,
    /// When the last one came.
    pub last: Option<Tick>,
}

impl Totals {
    /// How many requests there are.
    #[must_use]
    pub fn requests(&self) -> u64 {
        [self.passed, self.delayed, self.refused, self.unasked].into_iter().sum()
    }
}

/// The most requests in one second and in one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    /// In a second of the clock.
    pub second: Peak<1>,
    /// In a minute of the clock.
    pub minute: Peak<60>,
}

/// What one window of a limit said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitTally {
    /// Its name.
    pub name: String,
    /// Its quota and its algorithm, as people read them.
    pub quota: String,
    /// Whether its refusal blocks.
    pub effect: Effect,
    /// How many requests it was asked about.
    pub asked: u64,
    /// How many it refused, or would have refused.
    pub refused: u64,
    /// How many of those can never pass, since they cost more than it ever has.
    pub never: u64,
    /// How many it let wait.
    pub delayed: u64,
    /// The longest wait.
    pub longest_wait: Span,
}

/// A client: an address, or the network that stands for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network {
    bits: u128,
    /// Of an IPv6 address; 255 for IPv4.
    prefix: u8,
}

/// What one client did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTally {
    /// How the log calls it, if not by an address.
    pub name: Option<Box<str>>,
    /// How many requests it made.
    pub requests: u64,
    /// How many were refused.
    pub refused: u64,
    /// How many had to wait.
    pub delayed: u64,
    /// How many a limit would have refused which only watches.
    pub would_refuse: u64,
    /// The most requests in one second and in one minute.
    pub peaks: Peaks,
    /// Whether some request of it named a robot or a tool, or, in a log of agents, none.
    pub is_robot: bool,
    /// The last agent that was looked at.
    agent: u64,
}

/// What became of the requests for one route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteTally {
    /// How many there were.
    pub requests: u64,
    /// How many were refused.
    pub refused: u64,
    /// How many had to wait.
    pub delayed: u64,
    /// How many a limit would have refused which only watches.
    pub would_refuse: u64,
}

/// How often a limit refused a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits(pub u64);

/// Who of the clients looks like an ordinary user: it named no robot or tool, and in its busiest minute it
/// made no more requests than 99 in 100 of the clients did in theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ordinary {
    /// The most requests that an ordinary user makes in a minute.
    pub most_in_a_minute: u32,
    /// How many clients look like one.
    pub clients: u64,
    /// How many requests they made.
    pub requests: u64,
    /// How many of theirs were refused, or would have been.
    pub refused: u64,
    /// How many of those clients were refused at all.
    pub clients_refused: u64,
    /// How many requests of anybody were refused, or would have been.
    pub refused_of_all: u64,
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
        self.count_client(network, entry, fate, would_refuse);
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
    #[must_use]
    pub fn ordinary(&self) -> Ordinary {
        let mut minutes: Vec<u32> =
            self.clients.iter().map(|(_, client)| client.peaks.minute.most()).collect();
        minutes.sort_unstable();
        // The nearest rank: 99 in 100 are not above it.
        let rank = (minutes.len() * 99).div_ceil(100).saturating_sub(1);
        let most_in_a_minute = minutes.get(rank).copied().unwrap_or(0);
        let mut ordinary = Ordinary { most_in_a_minute, ..Ordinary::default() };
        for (_, client) in self.clients.iter() {
            let refused = client.refused + client.would_refuse;
            ordinary.refused_of_all += refused;
            if !client.is_robot && client.peaks.minute.most() <= most_in_a_minute {
                ordinary.clients += 1;
                ordinary.requests += client.requests;
                ordinary.refused += refused;
                ordinary.clients_refused += u64::from(refused > 0);
            }
        }
        let others = self.clients.others();
        ordinary.refused_of_all += others.refused + others.would_refuse;
        ordinary
    }

    fn count_client(
        &mut self,
        network: Network,
        entry: &Entry<'_>,
        fate: Fate,
        would_refuse: bool,
    ) {
        let client = self.clients.at(&network, || network);
        if client.requests == 0
            && let Client::Name(name) = entry.client
        {
            client.name = Some(crate::shown(name).into());
        }
        client.requests += 1;
        client.refused += u64::from(fate == Fate::Refused);
        client.delayed += u64::from(matches!(fate, Fate::Delayed(_)));
        client.would_refuse += u64::from(would_refuse);
        client.peaks.count(entry.at);
        let agent = self.agents.number(entry.agent);
        if client.agent != agent {
            client.agent = agent;
            client.is_robot |= self.agents.is_robot(entry.agent);
        }
    }

    fn count_route(&mut self, route: Route<'_>, fate: Fate, would_refuse: bool) {
        self.label.clear();
        route.label(&mut self.label);
        let label = self.label.as_slice();
        let route = self.routes.at(label, || label.into());
        route.requests += 1;
        route.refused += u64::from(fate == Fate::Refused);
        route.delayed += u64::from(matches!(fate, Fate::Delayed(_)));
        route.would_refuse += u64::from(would_refuse);
    }

    /// The place of a limit. Overrides and plans of one period are counted with what they override.
    fn limit(&mut self, limit: &Limit, effect: Effect) -> usize {
        *self.by_id.entry(limit.id()).or_insert_with(|| {
            self.limits.push(LimitTally::new(limit, effect));
            self.limits.len() - 1
        })
    }
}

impl Totals {
    fn count(&mut self, at: Tick, outcome: &Outcome<'_>, fate: Fate) {
        match fate {
            Fate::Passed => self.passed += 1,
            Fate::Delayed(wait) => {
                self.delayed += 1;
                self.longest_wait = self.longest_wait.max(wait);
            }
            Fate::Refused => self.refused += 1,
            Fate::Unasked => self.unasked += 1,
        }
        match outcome {
            Outcome::Garbled => {}
            Outcome::Free(_) => self.free += 1,
            Outcome::Uncovered => self.uncovered += 1,
            Outcome::Forbidden(_) => self.forbidden += 1,
            Outcome::Unreadable(_) => self.unreadable += 1,
            Outcome::Keyless(_) => self.keyless += 1,
            Outcome::Limited(_) if fate == Fate::Refused => self.limited += 1,
            Outcome::Limited(_) => self.would_refuse += u64::from(outcome.would_refuse()),
        }
        self.first = self.first.or(Some(at));
        self.last = Some(at);
    }
}

impl Peaks {
    fn count(&mut self, at: Tick) {
        let second = at.as_micros() / 1_000_000;
        self.second.count(second);
        self.minute.count(second);
    }
}

impl LimitTally {
    fn new(limit: &Limit, effect: Effect) -> LimitTally {
        LimitTally {
            name: limit.name().to_owned(),
            quota: format!("{}, {}", limit.quota(), limit.algorithm()),
            effect,
            asked: 0,
            refused: 0,
            never: 0,
            delayed: 0,
            longest_wait: Span::ZERO,
        }
    }

    fn count(&mut self, verdict: Verdict) {
        self.asked += 1;
        match verdict {
            Verdict::Allow => {}
            Verdict::Wait(wait) => {
                self.delayed += 1;
                self.longest_wait = self.longest_wait.max(wait);
            }
            Verdict::Deny(_) => self.refused += 1,
            Verdict::Never => {
                self.refused += 1;
                self.never += 1;
            }
        }
    }
}

impl Network {
    const IPV4: u8 = 255;

    pub(crate) fn of(address: IpAddr, ipv6_prefix: u8) -> Network {
        match Key::network(address, ipv6_prefix) {
            Key::Net(net) => Network { bits: net.bits(), prefix: net.prefix() },
            Key::Bytes(_) | Key::Int(_) => Network { bits: 0, prefix: Network::IPV4 },
        }
    }
}

impl std::fmt::Display for Network {
    /// An IPv4 address, or an IPv6 network with its prefix.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.prefix, u32::try_from(self.bits)) {
            (Network::IPV4, Ok(bits)) => Ipv4Addr::from_bits(bits).fmt(f),
            (128, _) => Ipv6Addr::from_bits(self.bits).fmt(f),
            (prefix, _) => write!(f, "{}/{prefix}", Ipv6Addr::from_bits(self.bits)),
        }
    }
}

impl Weighed for ClientTally {
    fn weight(&self) -> u64 {
        self.requests
    }

    fn absorb(&mut self, other: ClientTally) {
        self.requests += other.requests;
        self.refused += other.refused;
        self.delayed += other.delayed;
        self.would_refuse += other.would_refuse;
    }
}

impl Weighed for RouteTally {
    fn weight(&self) -> u64 {
        self.requests
    }

    fn absorb(&mut self, other: RouteTally) {
        self.requests += other.requests;
        self.refused += other.refused;
        self.delayed += other.delayed;
        self.would_refuse += other.would_refuse;
    }
}

impl Weighed for Hits {
    fn weight(&self) -> u64 {
        self.0
    }

    fn absorb(&mut self, other: Hits) {
        self.0 += other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
