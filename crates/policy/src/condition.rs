//! What a limit may ask of a request beyond its method and path.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use tollgate_core::Tick;

use crate::host::HostPattern;
use crate::key::{KeyPart, Secret};
use crate::network::{Network, Networks};
use crate::path::Case;
use crate::request::{Given, Request};
use crate::schedule::Schedule;

/// One thing that is asked of a request; any of its values will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Host(Vec<HostPattern>),
    /// A header or a query parameter.
    Named(KeyPart, Wanted),
    Client(ClientNetworks),
    Plan(Vec<Box<str>>),
    Schedule(Vec<Arc<Schedule>>),
}

/// What a header or query parameter has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// There, and not empty.
    Present,
    /// One of these.
    OneOf(Vec<Secret>),
}

/// Networks as they were written, and to be asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientNetworks {
    pub(crate) written: Vec<Network>,
    networks: Networks<()>,
}

impl ClientNetworks {
    pub(crate) fn insert(&mut self, network: Network) {
        self.written.push(network);
        self.networks.insert(network, ());
    }

    fn have(&self, address: IpAddr) -> bool {
        self.networks.find(address).is_some()
    }
}

impl PartialEq for ClientNetworks {
    fn eq(&self, other: &ClientNetworks) -> bool {
        self.written == other.written
    }
}

impl Eq for ClientNetworks {}

/// What conditions are asked of a request: what it gives, and what a policy makes of it.
pub(crate) trait Asked {
    fn method(&self) -> &str;
    fn path(&self) -> &str;
    /// How its path is matched.
    fn case(&self) -> Case;
    /// What it gives for a header or query parameter.
    fn named(&self, part: &KeyPart) -> Given<'_>;
    fn host(&self) -> Option<&str>;
    fn client(&self) -> Option<IpAddr>;
    fn plan(&self) -> &[u8];
    fn now(&self) -> Option<Tick>;
}

/// What a request gives for a header or query parameter.
pub(crate) fn named<'r, R: Request + ?Sized>(request: &'r R, part: &KeyPart) -> Given<'r> {
    match part {
        KeyPart::Header(name) => request.header(name),
        KeyPart::Query(name) => request.query(name),
        _ => Given::Nothing,
    }
}

impl Condition {
    /// Whether it holds for a request; `unsure` when nobody can tell.
    pub(crate) fn holds(&self, asked: &impl Asked, unsure: bool) -> bool {
        match self {
            Condition::Host(hosts) => {
                asked.host().is_some_and(|host| hosts.iter().any(|pattern| pattern.covers(host)))
            }
            Condition::Named(part, wanted) => match asked.named(part) {
                Given::One(value) if !value.is_empty() => match wanted {
                    Wanted::Present => true,
                    Wanted::OneOf(values) => values.iter().any(|wanted| wanted.is(&value)),
                },
                Given::One(_) | Given::Nothing | Given::Several => false,
            },
            Condition::Client(networks) => {
                asked.client().is_some_and(|address| networks.have(address))
            }
            Condition::Plan(plans) => plans.iter().any(|plan| plan.as_bytes() == asked.plan()),
            Condition::Schedule(schedules) => asked
                .now()
                .map_or(unsure, |now| schedules.iter().any(|schedule| schedule.holds(now))),
        }
    }

    /// What it asks for, for people.
    pub(crate) fn subject(&self) -> Subject<'_> {
        match self {
            Condition::Host(_) => Subject::Part(&KeyPart::Host),
            Condition::Named(part, _) => Subject::Part(part),
            Condition::Client(_) => Subject::Part(&KeyPart::Client),
            Condition::Plan(_) => Subject::Part(&KeyPart::Plan),
            Condition::Schedule(schedules) => {
                Subject::Time(schedules.iter().map(|schedule| schedule.name()).collect())
            }
        }
    }

    /// The same with more values; `None` when `other` asks for something else.
    pub(crate) fn join(&mut self, other: Condition) -> Option<Condition> {
        match (self, other) {
            (Condition::Host(own), Condition::Host(more)) => own.extend(more),
            (Condition::Plan(own), Condition::Plan(more)) => own.extend(more),
            (Condition::Schedule(own), Condition::Schedule(more)) => own.extend(more),
            (Condition::Client(own), Condition::Client(more)) => {
                more.written.into_iter().for_each(|network| own.insert(network));
            }
            (
                Condition::Named(own_part, Wanted::OneOf(own)),
                Condition::Named(part, Wanted::OneOf(more)),
            ) if *own_part == part => own.extend(more),
            (_, other) => return Some(other),
        }
        None
    }
}

/// What a condition is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject<'w> {
    /// A part of the request.
    Part(&'w KeyPart),
    /// The time, by these schedules.
    Time(Vec<&'w str>),
}

impl fmt::Display for Condition {
    /// Without the values of headers and query parameters, which may be keys of customers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Host(hosts) => list(f, "host", hosts),
            Condition::Named(part, _) => write!(f, "{part}"),
            Condition::Client(networks) => list(f, "client", &networks.written),
            Condition::Plan(plans) => list(f, "plan", plans),
            Condition::Schedule(schedules) => {
                list(f, "schedule", schedules.iter().map(|schedule| schedule.name()))
            }
        }
    }
}

fn list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    word: &str,
    values: impl IntoIterator<Item = T>,
) -> fmt::Result {
    for (nth, value) in values.into_iter().enumerate() {
        match nth {
            0 => write!(f, "{word} {value}")?,
            1..4 => write!(f, ", {value}")?,
            _ => return f.write_str(", …"),
        }
    }
    Ok(())
}
