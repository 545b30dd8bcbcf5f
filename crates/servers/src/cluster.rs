//! A cluster of three primaries, and the moving of its slots.

use std::time::Duration;

use crate::builder::Builder;
use crate::port::Port;
use crate::resp::Value;
use crate::wait::until;
use crate::{Server, give_up};

/// How many primaries there are: the fewest that can agree that one is down.
const PRIMARIES: u16 = 3;

/// All slots of a cluster.
const SLOTS: u16 = 16_384;

/// How long the nodes may take to agree on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// Three primaries with a third of the slots each, and their replicas.
///
/// A node that is silent for a second counts as down (`cluster-node-timeout`, which a setting of the
/// builder overrides).
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Server>,
    names: Vec<String>,
    // Held, since the nodes speak with each other there.
    buses: Vec<Port>,
}

impl Builder {
    /// Starts three primaries as built so far, each with so many replicas, and waits until all agree
    /// that the cluster works.
    ///
    /// # Panics
    ///
    /// When one does not start, or that takes more than 30 s.
    #[must_use]
    #[track_caller]
    pub fn cluster(self, replicas: usize) -> Cluster {
        let primaries = usize::from(PRIMARIES);
        let buses: Vec<Port> = (0..primaries * (replicas + 1)).map(|_| Port::take()).collect();
        let mut nodes: Vec<Server> = Vec::new();
        for bus in &buses {
            let number = bus.number().to_string();
            let node = self
                .clone()
                .default("cluster-enabled", "yes")
                .default("cluster-port", &number)
                .default("cluster-node-timeout", "1000")
                .default("repl-diskless-sync-delay", "0");
            let node = if self.has_tls() { node.default("tls-cluster", "yes") } else { node };
            let node = nodes.first().map_or(node.clone(), |first| node.beside(first));
            nodes.push(node.start());
        }
        let name = |node: &Server| node.command(&["CLUSTER", "MYID"]).text();
        let names = nodes.iter().map(name).collect();
        let cluster = Cluster { nodes, names, buses };
        cluster.form();
        cluster
    }
}

impl Cluster {
    /// All nodes: at the start the three primaries, then their replicas, each primary's together.
    #[must_use]
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// Where clients find each node.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Server::url).collect()
    }

    /// The slot of a key.
    ///
    /// # Panics
    ///
    /// When no node is up.
    #[must_use]
    #[track_caller]
    pub fn slot_of(&self, key: &str) -> u16 {
        let slot = self.live().command(&["CLUSTER", "KEYSLOT", key]).integer();
        slot.and_then(|slot| slot.try_into().ok()).unwrap_or(0)
    }

    /// The index of the node that serves a slot, as a node that is up sees it.
    ///
    /// # Panics
    ///
    /// When none does, or no node is up.
    #[must_use]
    #[track_caller]
    pub fn owner(&self, slot: u16) -> usize {
        match self.seen_owner(self.live(), slot) {
            Ok(owner) => owner,
            Err(reason) => give_up(&reason),
        }
    }

    /// Moves a slot with all its keys to another primary, and waits until all nodes know.
    ///
    /// # Panics
    ///
    /// When a node refuses, or they do not agree within 30 s.
    #[track_caller]
    pub fn migrate(&self, slot: u16, to: usize) {
        self.open_slot(slot, to);
        self.move_keys(slot, to);
        self.close_slot(slot, to);
    }

    /// The first step of a migration: from here on the old owner answers `ASK` for keys that it does
    /// not hold and `TRYAGAIN` for several keys of which it holds a part.
    ///
    /// # Panics
    ///
    /// When a node refuses.
    #[track_caller]
    pub fn open_slot(&self, slot: u16, to: usize) {
        let (from, number) = (self.owner(slot), slot.to_string());
        let set = ["CLUSTER", "SETSLOT", &number];
        self.order(to, &[&set[..], &["IMPORTING", self.name(from)]].concat());
        self.order(from, &[&set[..], &["MIGRATING", self.name(to)]].concat());
    }

    /// The second step: moves all keys of the slot.
    ///
    /// # Panics
    ///
    /// When a node refuses.
    #[track_caller]
    pub fn move_keys(&self, slot: u16, to: usize) {
        let (from, number) = (self.owner(slot), slot.to_string());
        let [user, password] = crate::builder::ADMIN;
        let port = self.node(to).port().to_string();
        loop {
            let keys = self.order(from, &["CLUSTER", "GETKEYSINSLOT", &number, "100"]);
            let keys: Vec<String> = keys.items().iter().map(Value::text).collect();
            if keys.is_empty() {
                return;
            }
            let order =
                ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "AUTH2", user, password, "KEYS"];
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            self.order(from, &[&order[..], &keys].concat());
        }
    }

    /// The last step: the slot is the new owner's, and all nodes know.
    ///
    /// # Panics
    ///
    /// When a node refuses, or they do not agree within 30 s.
    #[track_caller]
    pub fn close_slot(&self, slot: u16, to: usize) {
        let (from, number) = (self.owner(slot), slot.to_string());
        for node in [to, from] {
            self.order(node, &["CLUSTER", "SETSLOT", &number, "NODE", self.name(to)]);
        }
        let all_know = || {
            for node in self.nodes.iter().filter(|node| node.is_up()) {
                let seen = self.seen_owner(node, slot)?;
                if seen != to {
                    return Err(format!("the node on port {} names node {seen}", node.port()));
                }
            }
            Ok(())
        };
        if let Err(reason) = until(SOON, all_know) {
            give_up(&format!("slot {slot} is not node {to}'s: {reason}"));
        }
    }

    /// Waits until every node that is up says that the cluster works.
    ///
    /// # Panics
    ///
    /// When that takes more than 30 s.
    #[track_caller]
    pub fn works(&self) {
        let all_agree = || {
            for node in self.nodes.iter().filter(|node| node.is_up()) {
                let info = node.try_command(&["CLUSTER", "INFO"])?.text();
                if !info.contains("cluster_state:ok") || !info.contains("cluster_slots_ok:16384") {
                    return Err(info);
                }
            }
            Ok(())
        };
        if let Err(reason) = until(SOON, all_agree) {
            give_up(&format!("the cluster does not work: {reason}"));
        }
    }

    /// Makes one cluster of the nodes that know nothing of each other.
    #[track_caller]
    fn form(&self) {
        for (epoch, node) in (1_u64..).zip(&self.nodes) {
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch.to_string()]);
        }
        for (number, node) in (0..PRIMARIES).zip(&self.nodes) {
            let bound = |number| u32::from(SLOTS) * u32::from(number) / u32::from(PRIMARIES);
            let (first, last) = (bound(number).to_string(), (bound(number + 1) - 1).to_string());
            node.command(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]);
        }
        // Each meets each, which is quicker than hearing of each other.
        for (number, node) in self.nodes.iter().enumerate() {
            for (other, bus) in self.nodes.iter().zip(&self.buses).skip(number + 1) {
                let (port, bus) = (other.told_port().to_string(), bus.number().to_string());
                node.command(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
            }
        }
        let (primaries, replicas) = self.nodes.split_at(usize::from(PRIMARIES));
        let each = replicas.len() / primaries.len();
        for (number, replica) in replicas.iter().enumerate() {
            let order = ["CLUSTER", "REPLICATE", self.name(number / each)];
            // Refused until it has met its primary.
            if let Err(reason) = until(SOON, || replica.try_command(&order)) {
                give_up(&reason);
            }
        }
        for replica in replicas {
            if let Err(reason) = until(SOON, || replica.follows()) {
                give_up(&format!("a replica does not follow: {reason}"));
            }
        }
        self.works();
    }

    fn seen_owner(&self, by: &Server, slot: u16) -> Result<usize, String> {
        let ranges = by.try_command(&["CLUSTER", "SLOTS"])?;
        let port = ranges.items().iter().find_map(|range| match range.items() {
            [first, last, Value::Array(primary), ..] => {
                let range = first.integer()?..=last.integer()?;
                range.contains(&i64::from(slot)).then(|| primary.get(1)?.integer())?
            }
            _ => None,
        });
        let owner = self.nodes.iter().position(|node| Some(i64::from(node.port())) == port);
        owner.ok_or_else(|| format!("slot {slot} is nobody's: {}", ranges.text()))
    }

    #[track_caller]
    fn order(&self, node: usize, words: &[&str]) -> Value {
        self.node(node).command(words)
    }

    #[track_caller]
    fn node(&self, number: usize) -> &Server {
        match self.nodes.get(number) {
            Some(node) => node,
            None => give_up(&format!("there is no node {number}")),
        }
    }

    #[track_caller]
    fn name(&self, number: usize) -> &str {
        match self.names.get(number) {
            Some(name) => name,
            None => give_up(&format!("there is no node {number}")),
        }
    }

    #[track_caller]
    fn live(&self) -> &Server {
        match self.nodes.iter().find(|node| node.is_up()) {
            Some(node) => node,
            None => give_up("no node is up"),
        }
    }
}
