//! One reading of the log: of each request what matters for limits.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use tollgate_core::{Key, Limit, Quota, Tick};
use tollgate_policy::{Case, Given, KeyPart, LimitSpec, Policy, Request, Scratch, Selection};

use super::{Aside, Grouping, TuneOptions};
use crate::entry::{Client, Entry, Line};
use crate::error::ReplayError;
use crate::format::Field;
use crate::lacks::lacks;
use crate::log::{Log, LogSummary};
use crate::seen::{Addresses, Paths, Seen};
use crate::tally::{Agents, Network};

/// What is kept of a log.
pub(super) struct Gathered {
    pub(super) keys: Vec<Known>,
    pub(super) places: Vec<Visited>,
    /// In the order of time.
    pub(super) arrivals: Vec<Arrival>,
    pub(super) aside: Aside,
    pub(super) log: LogSummary,
    pub(super) ipv6_prefix: u8,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) at: Tick,
    /// Whose budget, by its number.
    pub(super) key: u32,
    /// Where to, by its number; [`Arrival::UNREADABLE`] when that can be read in two ways.
    pub(super) place: u32,
}

impl Arrival {
    pub(super) const UNREADABLE: u32 = u32::MAX;
}

/// A key.
pub(super) struct Known {
    /// What people call it.
    pub(super) label: Box<str>,
    /// Whether some request of it named a robot or a tool.
    pub(super) is_robot: bool,
    /// The last agent that was looked at.
    agent: u64,
}

/// A pattern of the policy or the first segment of a path, and where below it requests went.
pub(super) struct Visited {
    pub(super) name: Box<str>,
    pub(super) requests: u64,
    /// Whether some request went further than the segment.
    pub(super) has_more: bool,
}

/// A policy that finds the keys of requests, and their routes if they are grouped by some.
pub(super) fn sieve(by: &[KeyPart], routes: Option<&Policy>) -> Result<Policy, ReplayError> {
    let limit = Limit::new("key", Quota::per_second(1)).expect("one a second fits every tick");
    let policy = Policy::builder().limit(LimitSpec::new(limit).by(by.iter().cloned()));
    let policy = match routes {
        None => policy,
        Some(routes) => {
            let patterns = routes.routes().map(ToString::to_string);
            let policy = policy.case(routes.case()).ipv6_prefix(routes.ipv6_prefix());
            patterns.fold(policy, |policy, pattern| policy.route(pattern))
        }
    };
    policy.build().map_err(|error| ReplayError::key_parts(error.to_string()))
}

impl Gathered {
    pub(super) fn of(
        log: Log,
        options: &TuneOptions,
        progress: impl FnMut(u64),
    ) -> Result<Gathered, ReplayError> {
        let routes = match &options.grouping {
            Grouping::Segments(_) => None,
            Grouping::Routes(policy) => Some(&**policy),
        };
        let policy = sieve(&options.by, routes)?;
        // A log without lines tells nothing, and lacks nothing either.
        let has_lines = log.parts().iter().any(|part| part.format.is_some());
        if let (true, Some(lack)) = (has_lines, lacks(&policy, log.known()).first()) {
            return Err(ReplayError::key_parts(format!(
                "the log does not tell {}",
                lack.needs.join(", ")
            )));
        }
        let mut gatherer = Gatherer {
            wanted: log.wanted().to_vec(),
            agents: Agents::of_log(log.known().contains(&Field::Agent)),
            by: &options.by,
            case: policy.case(),
            policy: &policy,
            addresses: Addresses::default(),
            scratch: Scratch::new(),
            numbers: HashMap::default(),
            encoded: Vec::new(),
            keys: Vec::new(),
            places: Places { by_route: routes.is_some(), ..Places::default() },
            arrivals: Vec::new(),
            aside: Aside::default(),
        };
        let log = log.read(progress, |entry| gatherer.take(entry))?;
        let Gatherer { keys, places: Places { visited: places, .. }, arrivals, aside, .. } =
            gatherer;
        Ok(Gathered { keys, places, arrivals, aside, log, ipv6_prefix: policy.ipv6_prefix() })
    }
}

struct Gatherer<'o> {
    wanted: Vec<KeyPart>,
    agents: Agents,
    by: &'o [KeyPart],
    case: Case,
    policy: &'o Policy,
    addresses: Addresses,
    scratch: Scratch,
    numbers: HashMap<Box<[u8]>, u32, RandomState>,
    encoded: Vec<u8>,
    keys: Vec<Known>,
    places: Places,
    arrivals: Vec<Arrival>,
    aside: Aside,
}

impl Gatherer<'_> {
    fn take(&mut self, entry: &Entry<'_>) {
        let client = self.addresses.of(&entry.client);
        let Line::Asked { method, target } = entry.request else {
            self.aside.garbled += 1;
            return;
        };
        let paths = Paths::Matter(self.case);
        let (request, fault) = Seen::of(entry, (method, target), client, paths, &self.wanted);
        let matched = match self.policy.select(&request, &mut self.scratch) {
            Selection::Limits(matches) => matches.iter().next(),
            Selection::Free(_) => {
                self.aside.preflights += 1;
                return;
            }
            Selection::Refused(_) | Selection::Forbidden(_) => None,
        };
        let Some(matched) = matched else {
            self.aside.keyless += 1;
            return;
        };
        encode(matched.key, &mut self.encoded);
        let key = match self.numbers.get(self.encoded.as_slice()) {
            Some(key) => *key,
            None => {
                let label = label(self.by, &request, entry, self.policy.ipv6_prefix());
                let known = Known { label: label.into(), is_robot: false, agent: 0 };
                let key = next_number(self.keys.len());
                self.keys.push(known);
                self.numbers.insert(self.encoded.as_slice().into(), key);
                key
            }
        };
        let known = usize::try_from(key).ok().and_then(|at| self.keys.get_mut(at));
        let agent = self.agents.number(entry.agent);
        if let Some(known) = known
            && known.agent != agent
        {
            known.agent = agent;
            known.is_robot = known.is_robot || self.agents.is_robot(entry.agent);
        }
        let place = match fault {
            Some(_) => Arrival::UNREADABLE,
            None => self.places.visit(self.policy, request.path()),
        };
        self.arrivals.push(Arrival { at: entry.at, key, place });
    }
}

/// Where requests went.
#[derive(Default)]
struct Places {
    /// Whether by the patterns of the policy instead of first segments.
    by_route: bool,
    numbers: HashMap<Box<str>, u32, RandomState>,
    visited: Vec<Visited>,
}

impl Places {
    /// Counts a request, and gives the number of its pattern or of the first segment of its path.
    fn visit(&mut self, policy: &Policy, path: &str) -> u32 {
        let inner = path.strip_prefix('/').unwrap_or(path);
        let (name, has_more) = match self.by_route {
            true => (policy.route(path).unwrap_or(""), false),
            false => inner.split_once('/').map_or((inner, false), |(name, _)| (name, true)),
        };
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                let number = next_number(self.visited.len());
                self.visited.push(Visited { name: name.into(), requests: 0, has_more: false });
                self.numbers.insert(name.into(), number);
                number
            }
        };
        let visited = usize::try_from(number).ok().and_then(|at| self.visited.get_mut(at));
        if let Some(visited) = visited {
            visited.requests += 1;
            visited.has_more |= has_more;
        }
        number
    }
}

/// Beyond four billion, which take hundreds of gigabytes, all are one.
fn next_number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX - 1).min(u32::MAX - 1)
}

/// A key as bytes, by its kind and what it is.
fn encode(key: Key<'_>, bytes: &mut Vec<u8>) {
    bytes.clear();
    match key {
        Key::Bytes(text) => {
            bytes.push(0);
            bytes.extend_from_slice(text);
        }
        Key::Int(number) => {
            bytes.push(1);
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        Key::Net(net) => {
            bytes.push(2);
            bytes.extend_from_slice(&net.to_bytes());
        }
    }
}

/// What people call a key: its parts, the client where one is missing.
fn label(by: &[KeyPart], request: &Seen<'_, '_>, entry: &Entry<'_>, ipv6_prefix: u8) -> String {
    let client = || match entry.client {
        Client::Name(name) => crate::shown(name),
        Client::Address(address) => Network::of(address, ipv6_prefix).to_string(),
        Client::Absent => "(nobody)".to_owned(),
    };
    let given = |given: Given<'_>| match given {
        Given::One(value) if !value.is_empty() => crate::shown(&value),
        _ => client(),
    };
    let parts = by.iter().map(|part| match part {
        KeyPart::Global => "everybody".to_owned(),
        KeyPart::User => request.user().map_or_else(client, crate::shown),
        KeyPart::Path | KeyPart::Route => crate::shown(request.path().as_bytes()),
        KeyPart::Method => request.method().to_ascii_uppercase(),
        KeyPart::Host => request.host().map_or_else(client, |host| crate::shown(host.as_bytes())),
        KeyPart::Header(name) => given(request.header(name)),
        KeyPart::Query(name) => given(request.query(name)),
        KeyPart::Cookie(name) => given(request.cookie(name)),
        KeyPart::Claim(name) => given(request.claim(name)),
        KeyPart::Certificate => request.certificate().map_or_else(client, crate::shown),
        KeyPart::Client | KeyPart::Plan => client(),
    });
    parts.collect::<Vec<_>>().join(" + ")
}
