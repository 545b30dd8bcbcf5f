//! A cluster: which server serves which slot, and where a redirection leads.
//!
//! Not the library's own cluster client: that one repeats commands whose outcome is unknown, which
//! charges twice.

mod map;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use redis::{Cmd, Value};
use tokio::sync::{Notify, watch};
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout, timeout_at};

use super::backoff::jitter;
use super::dial::Dial;
use super::event::Events;
use super::live::Sent;
use super::server::{Place, Server, ServerState};
use super::task::Task;
use crate::address::Endpoint;
use crate::fault::{Class, Fault, Remedy, Target};
use map::Map;

/// How often a call may be sent on, all in all.
const HOPS: usize = 2;
/// How long to wait while both sides of a moving slot hold a part of the keys.
const MOMENT: Duration = Duration::from_millis(2);
/// How often the map is fetched when nothing asks for it.
const REFRESH: Duration = Duration::from_secs(10);
/// The same, after every server that was asked had none.
const UNTOLD: Duration = Duration::from_secs(1);
/// The least pause between two fetches.
const PAUSE: Duration = Duration::from_millis(100);

/// All servers of a cluster, and the task that keeps the map; dropping it ends all.
pub(crate) struct Cluster {
    nodes: Arc<Nodes>,
    _keeper: Task,
}

struct Nodes {
    seeds: Vec<Endpoint>,
    dial: Dial,
    events: Events,
    servers: RwLock<HashMap<Endpoint, Arc<Server>>>,
    map: watch::Sender<Map>,
    stale: Notify,
}

impl Cluster {
    /// Starts to connect; returns at once.
    pub(crate) fn start(seeds: Vec<Endpoint>, dial: Dial, events: Events) -> Cluster {
        let nodes = Arc::new(Nodes {
            seeds,
            dial,
            events,
            servers: RwLock::default(),
            map: watch::Sender::new(Map::default()),
            stale: Notify::new(),
        });
        for seed in &nodes.seeds {
            nodes.server(seed);
        }
        let keeper = Task::start(keep(Arc::clone(&nodes)));
        Cluster { nodes, _keeper: keeper }
    }

    /// Sends to the server of the slot, and on to where it points, within the deadline.
    pub(crate) async fn call(
        &self,
        slot: u16,
        command: &Cmd,
        deadline: Instant,
    ) -> Result<Value, Fault> {
        let nodes = &self.nodes;
        let mut server = nodes.owner(slot)?;
        let mut sent = Sent::Plain(command);
        let mut hops = 0;
        loop {
            let fault = match server.call(sent, deadline).await {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            };
            if suspects(fault.class()) {
                nodes.stale.notify_one();
            }
            hops += 1;
            if hops > HOPS {
                return Err(fault);
            }
            match (fault.class().remedy(), fault.target()) {
                (Remedy::Follow, Some(target)) => {
                    sent = match fault.class() {
                        Class::Ask => Sent::Asking(command),
                        _ => Sent::Plain(command),
                    };
                    server = nodes.follow(&server, target, deadline).await?;
                }
                (Remedy::Again, _) => {
                    sleep_until(deadline.min(Instant::now() + MOMENT + jitter(MOMENT))).await;
                }
                _ => return Err(fault),
            }
        }
    }

    pub(crate) fn state(&self) -> Vec<ServerState> {
        let servers = self.nodes.servers.read().unwrap_or_else(PoisonError::into_inner);
        let mut states: Vec<_> = servers.values().map(|server| server.state()).collect();
        states.sort_by(|a, b| a.name.cmp(&b.name));
        states
    }

    /// Comes back once there is a map and a connection to each server in it.
    pub(crate) async fn connected(&self) {
        let mut map = self.nodes.map.subscribe();
        // The sender lives as long as `self`.
        let _ = map.wait_for(|map| !map.is_empty()).await;
        let owners = map.borrow().owners();
        for owner in owners {
            self.nodes.server(&owner).connected().await;
        }
    }
}

impl Nodes {
    /// The server of a slot; before there is a map any that is connected, or will soon know whether it
    /// is: it will redirect.
    fn owner(&self, slot: u16) -> Result<Arc<Server>, Fault> {
        let owner = self.map.borrow().owner(slot).cloned();
        match owner {
            Some(owner) => Ok(self.server(&owner)),
            None => {
                self.stale.notify_one();
                let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
                let any = (servers.values().find(|server| server.is_connected()))
                    .or_else(|| servers.values().find(|server| server.is_untried()));
                any.cloned().ok_or_else(|| Fault::never(Class::Down))
            }
        }
    }

    /// The server a redirection points to. If nobody has heard of it, it is being connected to now,
    /// in the background, and only the rest of the deadline is given to that.
    async fn follow(
        &self,
        from: &Server,
        target: &Target,
        deadline: Instant,
    ) -> Result<Arc<Server>, Fault> {
        let host = match target.host.as_str() {
            "" | "?" => from.host().ok_or_else(|| Fault::never(Class::Moved))?,
            host => host,
        };
        let server = self.server(&Endpoint::Tcp { host: host.to_owned(), port: target.port });
        if !server.is_connected() {
            let connected = timeout_at(deadline, server.connected()).await;
            connected.map_err(|_| Fault::never(Class::Down))?;
        }
        Ok(server)
    }

    /// The server at an address, begun to be connected to if it is new.
    fn server(&self, endpoint: &Endpoint) -> Arc<Server> {
        if let Some(server) =
            self.servers.read().unwrap_or_else(PoisonError::into_inner).get(endpoint)
        {
            return Arc::clone(server);
        }
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        let server = servers.entry(endpoint.clone()).or_insert_with(|| {
            Arc::new(Server::start(
                endpoint.to_string(),
                Place::At(endpoint.clone()),
                self.dial.clone(),
                self.events.clone(),
            ))
        });
        Arc::clone(server)
    }

    /// Fetches the map from the first server that has one, and tells when to fetch again unless
    /// asked for earlier.
    async fn refresh(&self) -> Duration {
        let mut slots = Cmd::new();
        slots.arg("CLUSTER").arg("SLOTS");
        let servers: Vec<_> = {
            let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
            servers.values().filter(|server| server.is_connected()).cloned().collect()
        };
        if servers.is_empty() {
            return PAUSE / 4;
        }
        for server in servers {
            let Ok(reply) = server.ask(&slots, self.dial.timeout).await else { continue };
            let Some(map) = Map::read(&reply, server.host()) else { continue };
            let owners = map.owners();
            for owner in &owners {
                self.server(owner);
            }
            let keep =
                |endpoint: &Endpoint| owners.contains(endpoint) || self.seeds.contains(endpoint);
            // A server that has left is let go; calls that use it still hold it.
            let mut known = self.servers.write().unwrap_or_else(PoisonError::into_inner);
            known.retain(|endpoint, _| keep(endpoint));
            drop(known);
            self.map.send_replace(map);
            return REFRESH;
        }
        // Servers that are no cluster, or tell nobody; redirections lead the way all the same.
        UNTOLD
    }
}

/// Whether such a fault may mean that the map is old.
fn suspects(class: Class) -> bool {
    matches!(
        class,
        Class::Moved
            | Class::ClusterDown
            | Class::Down
            | Class::Refused
            | Class::Dropped
            | Class::Timeout
            | Class::ReadOnly
            | Class::MasterDown
    )
}

/// Fetches the map when a call suspects it, one fetch at a time, each instance at another moment.
async fn keep(nodes: Arc<Nodes>) {
    loop {
        let pause = nodes.refresh().await;
        if pause > PAUSE {
            sleep(PAUSE + jitter(PAUSE / 2)).await;
        }
        let _ = timeout(pause, nodes.stale.notified()).await;
    }
}
