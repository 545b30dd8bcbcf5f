//! Limits that are for the same paths, and which of them a request has to be compared with.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use smallvec::SmallVec;

use crate::condition::{Asked, Condition, Wanted};
use crate::host::{HostPattern, without_port};
use crate::key::{KeyPart, Secret};
use crate::method::MethodSet;
use crate::network::{Network, Networks};
use crate::request::Given;
use crate::when::When;

/// Limits that are for the same paths.
///
/// Of many, each stands in an index under one of its conditions, the one that fewest others share a
/// value of. So a request is compared with the limits that have one of its values there, not with
/// all, also where ten thousand differ by nothing but a host or a header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// Those that no index finds, in ascending order.
    always: Limits,
    probes: Vec<Probe>,
    /// The headers and query parameters by which its limits tell requests apart.
    names: Vec<Name>,
}

/// A header or query parameter, and the first limit that asks for it of each set of methods.
#[derive(Clone, Debug)]
struct Name {
    part: KeyPart,
    asking: Vec<(MethodSet, u32)>,
}

/// A limit as a group sees it.
pub(crate) struct Member<'w> {
    pub(crate) at: u32,
    pub(crate) when: &'w When,
    /// The headers and query parameters that it has to know.
    pub(crate) names: Vec<&'w KeyPart>,
    pub(crate) methods: MethodSet,
    /// Whether it refuses what it cannot tell apart.
    pub(crate) refuses: bool,
}

/// Limits, as numbers in the policy.
pub(crate) type Found = SmallVec<[u32; 8]>;

/// The same at rest: few ones lie where they are looked up, and not a cache miss away.
type Limits = SmallVec<[u32; 4]>;

impl Group {
    /// How many limits are compared one by one before an index pays.
    const FEW: usize = 8;

    pub(crate) fn new(members: &[Member<'_>]) -> Group {
        let mut group = Group::default();
        for member in members.iter().filter(|member| member.refuses) {
            for part in &member.names {
                group.asked_by(part, member);
            }
        }
        if members.len() <= Group::FEW {
            group.always = members.iter().map(|member| member.at).collect();
            return group;
        }
        let mut shared: HashMap<Value<'_>, u32> = HashMap::new();
        for value in members.iter().flat_map(|m| m.when.conditions()).flat_map(values) {
            *shared.entry(value).or_default() += 1;
        }
        let crowd = |condition: &Condition| {
            values(condition).into_iter().filter_map(|value| shared.get(&value)).max().copied()
        };
        for member in members {
            let conditions = member.when.conditions().iter();
            let rarest = conditions.filter_map(|c| Some((crowd(c)?, c))).min_by_key(|(n, _)| *n);
            match rarest {
                None => group.always.push(member.at),
                Some((_, condition)) => {
                    values(condition).into_iter().for_each(|v| group.insert(v, member.at));
                }
            }
        }
        group
    }

    /// Whether its limits are the same for every request.
    pub(crate) fn constant(&self) -> Option<&[u32]> {
        self.probes.is_empty().then_some(&self.always)
    }

    /// Adds those limits that may be for a request.
    pub(crate) fn find(&self, asked: &impl Asked, found: &mut Found) {
        found.extend_from_slice(&self.always);
        for probe in &self.probes {
            probe.find(asked, found);
        }
    }

    /// The first limit that has to know a header or query parameter which the request gives more than
    /// once.
    pub(crate) fn unclear(
        &self,
        asked: &impl Asked,
        methods: impl Fn() -> MethodSet,
    ) -> Option<(u32, &KeyPart)> {
        let several = |name: &&Name| asked.named(&name.part) == Given::Several;
        self.names.iter().filter(several).find_map(|name| {
            let (_, limit) = name.asking.iter().find(|(set, _)| set.meets(methods()))?;
            Some((*limit, &name.part))
        })
    }

    /// Has none of its limits refuse what it cannot tell apart.
    pub(crate) fn refuse_nothing(&mut self) {
        self.names.clear();
    }

    fn asked_by(&mut self, part: &KeyPart, member: &Member<'_>) {
        let name = match self.names.iter_mut().find(|name| name.part == *part) {
            Some(name) => name,
            None => self.names.push_mut(Name { part: part.clone(), asking: Vec::new() }),
        };
        let before = name.asking.iter().fold(MethodSet::EMPTY, |all, (set, _)| all.union(*set));
        if before.union(member.methods) != before {
            name.asking.push((member.methods, member.at));
        }
    }

    fn insert(&mut self, value: Value<'_>, at: u32) {
        match self.probes.iter_mut().find(|probe| probe.takes(&value)) {
            Some(probe) => probe.insert(value, at),
            None => self.probes.push_mut(Probe::of(&value)).insert(value, at),
        }
    }
}

/// One value of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Value<'w> {
    Host(&'w str),
    HostBelow(&'w str),
    Present(&'w KeyPart),
    Named(&'w KeyPart, &'w Secret),
    Client(Network),
    Plan(&'w str),
}

impl<'w> Value<'w> {
    fn of_host(pattern: &'w HostPattern) -> Value<'w> {
        match pattern {
            HostPattern::Exact(host) => Value::Host(host),
            HostPattern::Below(host) => Value::HostBelow(host),
        }
    }
}

/// The values of a condition, none if no index can find it.
fn values(condition: &Condition) -> Vec<Value<'_>> {
    match condition {
        Condition::Host(hosts) => hosts.iter().map(Value::of_host).collect(),
        Condition::Named(part, Wanted::Present) => vec![Value::Present(part)],
        Condition::Named(part, Wanted::OneOf(wanted)) => {
            wanted.iter().map(|wanted| Value::Named(part, wanted)).collect()
        }
        Condition::Client(networks) => networks.written.iter().map(|n| Value::Client(*n)).collect(),
        Condition::Plan(plans) => plans.iter().map(|plan| Value::Plan(plan)).collect(),
        Condition::Schedule(_) => Vec::new(),
    }
}

/// Where a value of a request is looked up, and the limits that stand there.
#[derive(Clone, Debug)]
enum Probe {
    Host(HashMap<Box<str>, Limits>),
    /// With the numbers of labels that its hosts have.
    HostBelow(HashMap<Box<str>, Limits>, BTreeSet<usize>),
    Named(KeyPart, HashMap<Secret, Limits>, Limits),
    Client(Networks<Limits>),
    Plan(HashMap<Box<[u8]>, Limits>),
}

impl Probe {
    fn of(value: &Value<'_>) -> Probe {
        match value {
            Value::Host(_) => Probe::Host(HashMap::new()),
            Value::HostBelow(_) => Probe::HostBelow(HashMap::new(), BTreeSet::new()),
            Value::Present(part) | Value::Named(part, _) => {
                Probe::Named((*part).clone(), HashMap::new(), Limits::new())
            }
            Value::Client(_) => Probe::Client(Networks::default()),
            Value::Plan(_) => Probe::Plan(HashMap::new()),
        }
    }

    fn takes(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Probe::Named(own, ..), Value::Present(part) | Value::Named(part, _)) => own == *part,
            (Probe::Host(_), Value::Host(_))
            | (Probe::HostBelow(..), Value::HostBelow(_))
            | (Probe::Client(_), Value::Client(_))
            | (Probe::Plan(_), Value::Plan(_)) => true,
            _ => false,
        }
    }

    fn insert(&mut self, value: Value<'_>, at: u32) {
        match (self, value) {
            (Probe::Host(hosts), Value::Host(host)) => {
                hosts.entry(host.into()).or_default().push(at);
            }
            (Probe::HostBelow(hosts, labels), Value::HostBelow(host)) => {
                labels.insert(host.split('.').count());
                hosts.entry(host.into()).or_default().push(at);
            }
            (Probe::Named(_, _, present), Value::Present(_)) => present.push(at),
            (Probe::Named(_, values, _), Value::Named(_, value)) => {
                values.entry(value.clone()).or_default().push(at);
            }
            (Probe::Client(networks), Value::Client(network)) => networks.entry(network).push(at),
            (Probe::Plan(plans), Value::Plan(plan)) => {
                plans.entry(plan.as_bytes().into()).or_default().push(at);
            }
            _ => debug_assert!(false, "a probe is given what it takes"),
        }
    }

    fn find(&self, asked: &impl Asked, found: &mut Found) {
        let mut add = |limits: Option<&Limits>| {
            limits.into_iter().for_each(|limits| found.extend_from_slice(limits));
        };
        match self {
            Probe::Host(hosts) => {
                let Some(host) = asked.host() else { return };
                let bare = without_port(host);
                add(hosts.get(bare));
                if bare != host {
                    add(hosts.get(host));
                }
            }
            Probe::HostBelow(hosts, labels) => {
                let Some(host) = asked.host().map(without_port) else { return };
                let most = labels.last().copied().unwrap_or(0);
                // A name of many labels costs no more than the longest that was written.
                for (nth, (dot, _)) in host.rmatch_indices('.').take(most).enumerate() {
                    if labels.contains(&(nth + 1)) {
                        let below = host.get(dot + 1..).unwrap_or_default();
                        add(hosts.get(below));
                    }
                }
            }
            Probe::Named(part, values, present) => {
                if let Given::One(value) = asked.named(part)
                    && !value.is_empty()
                {
                    add(values.get(&*value));
                    add(Some(present));
                }
            }
            Probe::Client(networks) => {
                let Some(address) = asked.client() else { return };
                networks.holding(address).for_each(|limits| add(Some(limits)));
            }
            Probe::Plan(plans) => add(plans.get(asked.plan())),
        }
    }
}
