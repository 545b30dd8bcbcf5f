//! A primary, its replica, and the sentinels that watch them.

use std::time::Duration;

use crate::builder::{ADMIN, Builder};
use crate::resp::Value;
use crate::wait::until;
use crate::{Server, give_up};

/// By which name clients ask for the primary.
const NAME: &str = "tollgate";

/// How often a sentinel looks round, in milliseconds; by itself every 10,000, 1,000, 1,000 and 2,000.
/// And that it does not hold still for 30 s when its disk or processor was slow for 2 s.
///
/// Not shorter: a replica's news count for five ping periods, or three info periods, and come once a
/// second in a failover; a link that broke is not made again within a ping period; and a promoted
/// replica that its leader has not seen within four publish periods the others make a replica again.
#[rustfmt::skip]
const PERIODS: [&str; 12] = [
    "info-period", "1000", "ping-period", "300", "ask-period", "100", "publish-period", "500",
    "tilt-trigger", "30000", "tilt-period", "1000",
];

/// How long a discovery or a failover may take on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// Two servers, one of them the primary, and the sentinels that decide which.
///
/// A primary that is silent for 800 ms counts as down. The sentinels look round more often than by
/// themselves, so that a failover takes about two seconds, and as long again until the old primary is
/// a replica. After a split vote, or a failover that began less than 6 s ago, the next one waits until
/// those 6 s are over; a single sentinel has no split votes.
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
        let data = if self.has_tls() { data.default("tls-replication", "yes") } else { data };
        let primary = data.clone().start();
        let replica = data.set("replicaof", &format!("127.0.0.1 {}", primary.told_port()));
        let replica = replica.beside(&primary).start();
        if let Err(reason) = until(SOON, || replica.follows()) {
            give_up(&format!("the replica does not follow: {reason}"));
        }
        let (port, quorum, [user, password]) = (primary.told_port(), sentinels / 2 + 1, ADMIN);
        let lines = format!(
            "sentinel monitor {NAME} 127.0.0.1 {port} {quorum}\n\
             sentinel auth-user {NAME} {user}\n\
             sentinel auth-pass {NAME} {password}\n\
             sentinel down-after-milliseconds {NAME} 800\n\
             sentinel failover-timeout {NAME} 3000\n"
        );
        let start = || {
            let sentinel = self.clone().beside(&primary).start_sentinel(&lines);
            sentinel.command(&[&["SENTINEL", "DEBUG"], &PERIODS[..]].concat());
            sentinel
        };
        let sentinels: Vec<Server> = (0..sentinels).map(|_| start()).collect();
        let all = Sentinel { servers: [primary, replica], sentinels };
        if let Err(reason) = until(SOON, || all.all_see_all()) {
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

    /// Where clients find each sentinel.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        self.sentinels.iter().map(Server::url).collect()
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
        match self.servers.iter().find(|server| Some(i64::from(server.told_port())) == port) {
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
        let primary = self.primary().told_port();
        let [first, second] = &self.servers;
        if first.told_port() == primary { second } else { first }
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
        // Refused while the last one is not over.
        let order = ["SENTINEL", "FAILOVER", NAME];
        let ordered = until(SOON, || self.sentinel().try_command(&order));
        let over = || self.leads(next).and_then(|()| self.all_see_all());
        if let Err(reason) = ordered.and_then(|_| until(SOON, over)) {
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

    /// Whether each sentinel sees all others, and the replica in good order: one that it last saw as
    /// a primary it would make a replica again, right after a failover has promoted it.
    fn all_see_all(&self) -> Result<(), String> {
        for sentinel in self.sentinels.iter().filter(|sentinel| sentinel.is_up()) {
            let count = format!("slaves=1,sentinels={}", self.sentinels.len());
            let info = sentinel.try_command(&["INFO", "sentinel"])?.text();
            let replicas = sentinel.try_command(&["SENTINEL", "REPLICAS", NAME])?.text();
            let seen = ["flags\nslave\n", "role-reported\nslave\n", "master-link-status\nok\n"];
            if !info.contains(&count) || !seen.iter().all(|field| replicas.contains(field)) {
                return Err(format!("{info}\n{replicas}"));
            }
        }
        Ok(())
    }

    fn leads(&self, server: &Server) -> Result<(), String> {
        let role = server.try_command(&["ROLE"])?.text();
        let role = role.lines().next().unwrap_or_default();
        if role != "master" {
            return Err(format!("the server on port {} is a {role}", server.port()));
        }
        for sentinel in self.sentinels.iter().filter(|sentinel| sentinel.is_up()) {
            let address = sentinel.try_command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME])?;
            if address.items().last().and_then(Value::integer)
                != Some(i64::from(server.told_port()))
            {
                return Err(format!("a sentinel still names {}", address.text()));
            }
        }
        Ok(())
    }
}
