//! A primary, its replica, and the sentinels that watch them.

use std::time::Duration;

use crate::builder::{ADMIN, Builder};
use crate::resp::Value;
use crate::wait::until;
use crate::{Server, give_up};

/// By which name clients ask for the primary.
const NAME: &str = "tollgate";

/// How long a discovery or a failover may take on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// Two servers, one of them the primary, and the sentinels that decide which.
///
/// A primary that is silent for 300 ms counts as down. The sentinels look round far more often than
/// they do by themselves, so that a failover takes about a second.
#[derive(Debug)]
pub struct Sentinel {
    servers: [Server; 2],
    sentinels: Vec<Server>,
}

impl Builder {
    /// Starts a primary and a replica as built so far, watched by `sentinels` sentinels, and waits
    /// until each sentinel knows them all.
    ///
    /// # Panics
    ///
    /// When one does not start, or that takes more than 30 s.
    #[must_use]
    #[track_caller]
    pub fn sentinel(self, sentinels: usize) -> Sentinel {
        let data = self.clone().default("repl-diskless-sync-delay", "0");
        let primary = data.clone().start();
        let replica = data.set("replicaof", &format!("127.0.0.1 {}", primary.port())).start();
        let (port, quorum, [user, password]) = (primary.port(), sentinels / 2 + 1, ADMIN);
        let lines = format!(
            "sentinel monitor {NAME} 127.0.0.1 {port} {quorum}\n\
             sentinel auth-user {NAME} {user}\n\
             sentinel auth-pass {NAME} {password}\n\
             sentinel down-after-milliseconds {NAME} 300\n\
             sentinel failover-timeout {NAME} 2000\n"
        );
        let start = || {
            let sentinel = self.clone().start_sentinel(&lines);
            // In milliseconds; by themselves 10,000, 1,000, 1,000 and 2,000.
            let periods = ["info-period", "ping-period", "ask-period", "publish-period"];
            let order = periods.iter().flat_map(|period| [*period, "100"]);
            let order: Vec<&str> = ["SENTINEL", "DEBUG"].into_iter().chain(order).collect();
            sentinel.command(&order);
            sentinel
        };
        let sentinels: Vec<Server> = (0..sentinels).map(|_| start()).collect();
        let all = Sentinel { servers: [primary, replica], sentinels };
        if let Err(reason) = until(SOON, || all.knows_all()) {
            give_up(&format!("the sentinels do not find all: {reason}"));
        }
        all
    }
}

impl Sentinel {
    /// The name by which clients ask for the primary.
    #[must_use]
    pub fn name(&self) -> &str {
        NAME
    }

    /// The two servers, whichever is the primary.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The sentinels.
    #[must_use]
    pub fn sentinels(&self) -> &[Server] {
        &self.sentinels
    }

    /// Which of the servers the sentinels name as the primary.
    ///
    /// # Panics
    ///
    /// When no sentinel is up.
    #[must_use]
    #[track_caller]
    pub fn primary(&self) -> &Server {
        let address = self.sentinel().command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]);
        let port = address.items().last().and_then(Value::integer);
        match self.servers.iter().find(|server| Some(i64::from(server.port())) == port) {
            Some(server) => server,
            None => give_up(&format!("the sentinels name a stranger on port {port:?}")),
        }
    }

    /// The other one.
    ///
    /// # Panics
    ///
    /// As [`Sentinel::primary`].
    #[must_use]
    #[track_caller]
    pub fn replica(&self) -> &Server {
        let primary = self.primary().port();
        let [first, second] = &self.servers;
        if first.port() == primary { second } else { first }
    }

    /// Orders a failover, and waits until the replica of before is the primary and the primary of
    /// before its replica.
    ///
    /// # Panics
    ///
    /// When that takes more than 30 s.
    #[track_caller]
    pub fn failover(&self) {
        let next = self.replica();
        // Refused while the last one is not over or the replica has not been seen well.
        let order = ["SENTINEL", "FAILOVER", NAME];
        let ordered = until(SOON, || self.sentinel().try_command(&order));
        let done =
            ordered.and_then(|_| until(SOON, || self.leads(next).and_then(|()| self.follows())));
        if let Err(reason) = done {
            give_up(&format!("no failover: {reason}"));
        }
    }

    /// Waits until `server` is the primary, for itself and for every sentinel that is up: after the
    /// other one was killed or frozen.
    ///
    /// # Panics
    ///
    /// When that takes more than 30 s.
    #[track_caller]
    pub fn promoted(&self, server: &Server) {
        if let Err(reason) = until(SOON, || self.leads(server)) {
            give_up(&format!("no failover: {reason}"));
        }
    }

    fn sentinel(&self) -> &Server {
        match self.sentinels.iter().find(|sentinel| sentinel.is_up()) {
            Some(sentinel) => sentinel,
            None => give_up("no sentinel is up"),
        }
    }

    /// Whether each sentinel sees the replica and all other sentinels, and the replica its primary.
    fn knows_all(&self) -> Result<(), String> {
        for sentinel in &self.sentinels {
            let line = sentinel.try_command(&["INFO", "sentinel"])?.text();
            let count = format!("slaves=1,sentinels={}", self.sentinels.len());
            if !line.contains(&count) {
                return Err(line);
            }
        }
        self.follows()
    }

    fn leads(&self, server: &Server) -> Result<(), String> {
        let role = server.try_command(&["ROLE"])?.text();
        let role = role.lines().next().unwrap_or_default();
        if role != "master" {
            return Err(format!("the server on port {} is a {role}", server.port()));
        }
        for sentinel in self.sentinels.iter().filter(|sentinel| sentinel.is_up()) {
            let address = sentinel.try_command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME])?;
            if address.items().last().and_then(Value::integer) != Some(i64::from(server.port())) {
                return Err(format!("a sentinel still names {}", address.text()));
            }
        }
        Ok(())
    }

    fn follows(&self) -> Result<(), String> {
        let info = self.replica().try_command(&["INFO", "replication"])?.text();
        if info.contains("master_link_status:up") { Ok(()) } else { Err(info) }
    }
}
