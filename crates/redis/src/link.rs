//! Connections that are kept open in the background; requests only use them.
//!
//! A call never connects and never waits for a connection, but for the very first: without one it
//! fails at once, as a call that surely did not run. Nothing here sends a command twice unless the
//! server's reply proves that it did not run the first time.

mod backoff;
mod cluster;
mod dial;
mod event;
mod expiry;
mod frames;
mod gate;
mod identity;
mod live;
#[cfg(feature = "tls")]
mod secure;
mod sentinel;
mod server;
mod slot;
mod task;

use core::fmt;
use std::time::SystemTime;

use redis::{Cmd, Value};
use tokio::time::{Duration, Instant};
use tollgate_core::breaker::{Breaker, Status};

pub(crate) use backoff::jitter;
pub use event::Event;
pub use server::ServerState;
pub use slot::slot;
pub(crate) use task::Task;

use crate::address::{Address, Topology};
use crate::fault::Fault;
use cluster::Cluster;
use dial::Dial;
use event::Events;
use live::Sent;
use sentinel::Sentinels;
use server::{Place, Server};

/// The connections to all servers of an address. Dropping it closes them.
pub struct Link {
    topology: Kept,
    address: String,
    /// When the certificate ends that servers are shown.
    own_ends: Option<SystemTime>,
    _own: Task,
}

enum Kept {
    One(Server),
    Many(Cluster),
}

/// Whether the keys of one call have to share a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// They need not.
    One,
    /// They have to.
    Many,
}

/// How connections are kept.
#[derive(Clone, Debug)]
pub struct Options {
    connect_timeout: Duration,
    in_flight: usize,
    breaker: Option<Breaker>,
    events: Events,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            connect_timeout: Duration::from_millis(250),
            in_flight: 1_024,
            breaker: None,
            events: Events::default(),
        }
    }
}

impl Options {
    /// The longest that resolving, connecting, TLS and login may take together; 250 ms unless
    /// given. No call ever waits for it.
    #[must_use]
    pub fn connect_timeout(self, connect_timeout: Duration) -> Options {
        Options { connect_timeout, ..self }
    }

    /// The most calls that may wait for one server; 1,024 unless given. A call that was given up
    /// counts until the server has answered it, since it still takes room there.
    #[must_use]
    pub fn in_flight(self, in_flight: usize) -> Options {
        Options { in_flight: in_flight.max(1), ..self }
    }

    /// When to leave a server alone; never unless given.
    #[must_use]
    pub fn breaker(self, breaker: Breaker) -> Options {
        Options { breaker: Some(breaker), ..self }
    }

    /// Who is told what happens to connections. It runs in the task that keeps them and must not
    /// block.
    #[must_use]
    pub fn events(self, listener: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Options {
        Options { events: Events::to(listener), ..self }
    }
}

impl Link {
    /// Starts to connect and returns at once, whether or not a server is there.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start(address: &Address, options: Options) -> Link {
        let Options { connect_timeout, in_flight, breaker, events } = options;
        let dial = Dial {
            login: address.login.clone(),
            db: address.db,
            timeout: connect_timeout,
            in_flight,
            breaker,
            #[cfg(feature = "tls")]
            secure: address.tls.clone().map(secure::Secure::shared),
        };
        #[cfg(feature = "tls")]
        let own_ends = dial.secure.as_ref().and_then(|secure| secure.shown_ends());
        #[cfg(not(feature = "tls"))]
        let own_ends = None;
        let one = |name, place, dial| Kept::One(Server::start(name, place, dial, events.clone()));
        let topology = match &address.topology {
            Topology::Single(endpoint) => {
                one(endpoint.to_string(), Place::At(endpoint.clone()), dial)
            }
            Topology::Sentinel { sentinels, group } => {
                let login = address.sentinel_login.clone();
                let sentinels = Sentinels {
                    endpoints: sentinels.clone(),
                    group: group.clone(),
                    dial: Dial { login, db: 0, ..dial.clone() },
                };
                one(group.clone(), Place::Named(Box::new(sentinels)), dial)
            }
            Topology::Cluster { seeds } => {
                Kept::Many(Cluster::start(seeds.clone(), dial, events.clone()))
            }
        };
        let own = Task::start(expiry::watched("this client", move || own_ends));
        Link { topology, address: address.to_string(), own_ends, _own: own }
    }

    /// Sends a command to the server of the slot and waits for its reply until the deadline.
    ///
    /// # Errors
    /// Why there is no reply, and whether the command may have run all the same. A deadline that
    /// has passed sends nothing.
    pub async fn call(&self, slot: u16, command: &Cmd, deadline: Instant) -> Result<Value, Fault> {
        match &self.topology {
            Kept::One(server) => server.call(Sent::Plain(command), deadline).await,
            Kept::Many(cluster) => cluster.call(slot, command, deadline).await,
        }
    }

    /// Whether the keys of one call have to share a slot.
    #[must_use]
    pub fn slots(&self) -> Slots {
        match &self.topology {
            Kept::One(_) => Slots::One,
            Kept::Many(_) => Slots::Many,
        }
    }

    /// When the certificate ends that servers are shown; none if none is.
    pub(crate) fn own_ends(&self) -> Option<SystemTime> {
        self.own_ends
    }

    /// What is known about each server.
    #[must_use]
    pub fn state(&self) -> Vec<ServerState> {
        match &self.topology {
            Kept::One(server) => vec![server.state()],
            Kept::Many(cluster) => cluster.state(),
        }
    }

    /// The servers that something is wrong with, for operators; the address if none is known.
    pub(crate) fn troubled(&self) -> String {
        let is_well = |server: &ServerState| {
            server.connected && server.fault.is_none() && server.status == Status::Closed
        };
        let troubled: Vec<String> = (self.state().into_iter())
            .filter_map(|server| (!is_well(&server)).then_some(server.name))
            .collect();
        if troubled.is_empty() { self.address.clone() } else { troubled.join(", ") }
    }

    /// Comes back once every slot known has a connection; for starting up and for tests, never for
    /// requests.
    pub async fn connected(&self) {
        match &self.topology {
            Kept::One(server) => server.connected().await,
            Kept::Many(cluster) => cluster.connected().await,
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("address", &self.address)
            .field("servers", &self.state())
            .finish()
    }
}
