//! A client, and what it did.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tollgate_core::Key;

use super::agents::Agents;
use super::peak::Peaks;
use super::ranking::Weighed;
use crate::entry::{Client, Entry};
use crate::run::Fate;
use crate::shown::short;

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

impl Network {
    const IPV4: u8 = 255;

    pub(crate) fn of(address: IpAddr, ipv6_prefix: u8) -> Network {
        match Key::network(address, ipv6_prefix) {
            Key::Net(net) => Network { bits: net.bits(), prefix: net.prefix() },
            Key::Bytes(_) | Key::Int(_) => Network { bits: 0, prefix: Network::IPV4 },
        }
    }
}

impl fmt::Display for Network {
    /// An IPv4 address, or an IPv6 network with its prefix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.prefix, u32::try_from(self.bits)) {
            (Network::IPV4, Ok(bits)) => Ipv4Addr::from_bits(bits).fmt(f),
            (128, _) => Ipv6Addr::from_bits(self.bits).fmt(f),
            (prefix, _) => write!(f, "{}/{prefix}", Ipv6Addr::from_bits(self.bits)),
        }
    }
}

impl ClientTally {
    pub(super) fn count(
        &mut self,
        entry: &Entry<'_>,
        fate: Fate,
        would_refuse: bool,
        agents: &Agents,
    ) {
        if self.requests == 0
            && let Client::Name(name) = entry.client
        {
            self.name = Some(short(name).into());
        }
        self.requests += 1;
        self.refused += u64::from(fate == Fate::Refused);
        self.delayed += u64::from(matches!(fate, Fate::Delayed(_)));
        self.would_refuse += u64::from(would_refuse);
        self.peaks.count(entry.at);
        if !self.is_robot {
            let agent = agents.number(entry.agent);
            if self.agent != agent {
                self.agent = agent;
                self.is_robot = agents.is_robot(entry.agent);
            }
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
