//! Whether servers can keep limits: what is missing, and the line that gives it.

mod finding;
mod info;
mod permission;

use std::sync::Arc;
use std::time::SystemTime;

use redis::{Cmd, Value};
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

pub use finding::{Finding, Severity};
use info::Info;

use crate::address::Address;
use crate::fault::{Class, Fault};
use crate::key::Prefix;
use crate::link::{Link, Options, ServerState, Slots, slot};
use crate::store::Redis;

/// How long connecting may take, and each question after it.
const CONNECTED: Duration = Duration::from_secs(5);
const ANSWERED: Duration = Duration::from_secs(2);

impl Redis {
    /// Whether the servers at an address can keep limits under a prefix: all that is wrong, the worst
    /// first, and what to do about it.
    ///
    /// It connects by itself, waits 5 s for that at most and 2 s for each answer, asks every primary
    /// of a cluster, and writes nothing but two keys under the prefix, which last a second at most. Among the
    /// findings is always the line that gives a user of its own all that it needs and nothing else;
    /// no password is ever in them.
    pub async fn check(address: &Address, prefix: &Prefix) -> Vec<Finding> {
        let mut findings = match connected(address).await {
            Ok(link) => every_server(&link, address, prefix).await,
            Err(fault) => {
                vec![Finding::error(address, format!("no connection: {fault}"))]
            }
        };
        findings.sort_by_key(|finding| core::cmp::Reverse(finding.severity()));
        findings
    }
}

/// A link that can be asked; why there is none as soon as that is plain.
async fn connected(address: &Address) -> Result<Link, Fault> {
    let happened = Arc::new(Notify::new());
    let tell = Arc::clone(&happened);
    let options = Options::default().connect_timeout(ANSWERED).events(move |_| tell.notify_one());
    let link = Link::start(address, options);
    let plain = async {
        loop {
            happened.notified().await;
            if is_hopeless(&link.state()) || is_no_cluster(&link).await {
                return;
            }
        }
    };
    tokio::select! {
        () = link.connected() => return Ok(link),
        () = plain => {}
        () = tokio::time::sleep(CONNECTED) => {}
    }
    let servers = link.state();
    // Who has no map of a cluster can still be asked why.
    if servers.iter().any(|server| server.connected) {
        return Ok(link);
    }
    let mut faults = servers.into_iter().filter_map(|server| server.fault);
    Err(faults.next_back().unwrap_or_else(|| Fault::never(Class::Down)))
}

/// Whether waiting longer is of no use: the settings are wrong, or nobody is at any address.
fn is_hopeless(servers: &[ServerState]) -> bool {
    let class = |server: &ServerState| server.fault.as_ref().map(Fault::class);
    let is_wrong = |class: Class| class.is_configuration() || class == Class::Unresolved;
    let is_away =
        |class: Class| matches!(class, Class::Refused | Class::NoPrimary | Class::Protocol);
    servers.iter().filter_map(class).any(is_wrong)
        || servers.iter().all(|server| class(server).is_some_and(is_away))
}

/// Whether a server that should be one of a cluster says that it is none.
async fn is_no_cluster(link: &Link) -> bool {
    let is_reply = |fault: Fault| fault.class() == Class::Other;
    let is_reached = link.state().iter().any(|server| server.connected);
    link.slots() == Slots::Many
        && is_reached
        && link.call(0, &command(&["CLUSTER", "SLOTS"]), soon()).await.is_err_and(is_reply)
}

async fn every_server(link: &Link, address: &Address, prefix: &Prefix) -> Vec<Finding> {
    let mut findings = Vec::new();
    let primaries = match link.slots() {
        Slots::One => vec![(0, address.to_string())],
        Slots::Many => match link.call(0, &command(&["CLUSTER", "SLOTS"]), soon()).await {
            Ok(reply) => primaries(&reply),
            Err(fault) => {
                findings.push(Finding::error(address, format!("no map of the cluster: {fault}")));
                vec![(0, address.to_string())]
            }
        },
    };
    let mut lacking = Vec::new();
    for (slot, name) in primaries {
        let server = Server { link, slot, name, prefix };
        server.check(&mut findings, &mut lacking).await;
    }
    findings.push(permission::line(address, prefix, link.slots(), lacking));
    findings
}

/// A server, by a slot that it serves.
pub(crate) struct Server<'l> {
    link: &'l Link,
    slot: u16,
    name: String,
    prefix: &'l Prefix,
}

impl Server<'_> {
    pub(crate) async fn ask(&self, words: &[&str]) -> Result<Value, Fault> {
        self.link.call(self.slot, &command(words), soon()).await
    }

    /// A key under the prefix that nobody else uses and that this server holds.
    pub(crate) fn own_key(&self) -> String {
        let key = |n: u32| format!("{}{{check{n}}}", self.prefix.as_str());
        let serves =
            |key: &String| self.link.slots() == Slots::One || slot(key.as_bytes()) == self.slot;
        (0..1 << 20).map(key).find(serves).unwrap_or_else(|| key(0))
    }

    async fn check(&self, findings: &mut Vec<Finding>, lacking: &mut Vec<&'static str>) {
        let name = &self.name;
        let mut found = Vec::new();
        match self.ask(&["INFO"]).await {
            Ok(Value::BulkString(text)) => {
                let text = String::from_utf8_lossy(&text);
                let info = Info::read(&text);
                found.extend(info.findings(name, self.link.slots()));
            }
            Ok(_) => found.push(Finding::error(name, "INFO answers with what is no text")),
            Err(fault) if fault.class() == Class::NoPerm => found.push(Finding::warning(
                name,
                "the user may not run INFO: version, eviction and replicas are not checked, and a \
                 restart that lost all budgets goes unnoticed",
            )),
            Err(fault) => found.push(Finding::error(name, format!("INFO fails: {fault}"))),
        }
        found.extend(self.clock().await);
        found.extend(self.coverage().await);
        found.extend(permission::check(self, name, lacking).await);
        findings.extend(found);
    }

    /// Budgets follow the server's clock; what users are told follows ours.
    async fn clock(&self) -> Option<Finding> {
        let asked = Instant::now();
        let Ok(Value::Array(words)) = self.ask(&["TIME"]).await else { return None };
        let took = asked.elapsed();
        let number = |word: &Value| match word {
            Value::BulkString(digits) => std::str::from_utf8(digits).ok()?.parse::<u64>().ok(),
            _ => None,
        };
        let [seconds, micros] = words.as_slice() else { return None };
        let theirs = Duration::from_secs(number(seconds)?)
            .checked_add(Duration::from_micros(number(micros)?))?;
        #[expect(clippy::disallowed_methods, reason = "compared with the server's, and no more")]
        let ours = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let apart = ours.abs_diff(theirs).saturating_sub(took);
        (apart > Duration::from_secs(1)).then(|| {
            let which = if theirs > ours { "ahead of" } else { "behind" };
            Finding::warning(
                &self.name,
                format!(
                    "the server's clock is {:.1} s {which} this machine's: limits hold by the \
                     server's, but windows seem to begin at other times; synchronise both (NTP)",
                    apart.as_secs_f64(),
                ),
            )
        })
    }

    /// Of a cluster: whether one lost primary takes all limits along.
    async fn coverage(&self) -> Option<Finding> {
        if self.link.slots() == Slots::One {
            return None;
        }
        let words = ["CONFIG", "GET", "cluster-require-full-coverage"];
        // Who may not read settings is not told of this one; no limit depends on it.
        let Ok(reply) = self.ask(&words).await else { return None };
        let (_, value): (String, String) = redis::from_redis_value(reply).ok()?;
        (value == "yes").then(|| {
            Finding::note(
                &self.name,
                "when one primary is lost no server of the cluster answers, and every limit is \
                 decided by each instance alone; to lose only that server's: CONFIG SET \
                 cluster-require-full-coverage no",
            )
        })
    }
}

/// A slot of each primary, and where it is, as `CLUSTER SLOTS` tells.
fn primaries(reply: &Value) -> Vec<(u16, String)> {
    let mut found: Vec<(u16, String)> = Vec::new();
    let Value::Array(ranges) = reply else { return found };
    for range in ranges {
        let Value::Array(range) = range else { continue };
        let [Value::Int(first), _, Value::Array(primary), ..] = range.as_slice() else { continue };
        let [host, Value::Int(port), ..] = primary.as_slice() else { continue };
        let host = match host {
            Value::BulkString(host) => String::from_utf8_lossy(host).into_owned(),
            _ => String::new(),
        };
        let name = format!("{host}:{port}");
        if let Ok(first) = u16::try_from(*first)
            && found.iter().all(|(_, known)| *known != name)
        {
            found.push((first, name));
        }
    }
    found
}

fn command(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(*word);
    }
    command
}

fn soon() -> Instant {
    Instant::now() + ANSWERED
}
