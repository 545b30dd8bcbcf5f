//! The servers of one cell, and what is done to them.

use std::collections::HashSet;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use tollgate_redis::Address;
use tollgate_servers::{Builder, ChaosProxy, Client, Cluster, Sentinel, Server, until};

/// Whose servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brand {
    Redis,
    Valkey,
}

/// How many there are, and who knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One, behind the proxy.
    Single,
    /// A primary and its replica, and three sentinels.
    Sentinel,
    /// Three primaries with so many replicas each.
    Cluster(usize),
}

/// The servers of one cell.
pub(crate) struct Place {
    servers: Servers,
    proxy: Option<ChaosProxy>,
    /// Connections and processes that a fault needs while it lasts.
    clients: Mutex<Vec<Client>>,
    children: Mutex<Vec<Child>>,
    /// Which server a fault has chosen.
    pub(crate) chosen: Mutex<usize>,
}

enum Servers {
    Single(Box<Server>),
    Sentinel(Box<Sentinel>),
    Cluster(Cluster),
}

impl Place {
    pub(crate) fn start(brand: Brand, kind: Kind, build: fn(Builder) -> Builder) -> Place {
        let builder = build(match brand {
            Brand::Redis => Server::redis(),
            Brand::Valkey => Server::valkey(),
        });
        let servers = match kind {
            Kind::Single => Servers::Single(Box::new(builder.start())),
            Kind::Sentinel => Servers::Sentinel(Box::new(builder.sentinel(3))),
            Kind::Cluster(replicas) => Servers::Cluster(builder.cluster(replicas)),
        };
        let proxy = match &servers {
            Servers::Single(server) => {
                let tls = server.url().starts_with("rediss");
                let port = if tls { server.tls_port() } else { server.port() };
                Some(ChaosProxy::new(port, 7))
            }
            _ => None,
        };
        let (clients, children) = (Mutex::default(), Mutex::default());
        Place { servers, proxy, clients, children, chosen: Mutex::new(0) }
    }

    /// Where the store finds it.
    pub(crate) fn address(&self) -> Address {
        let hosts = |urls: Vec<String>| {
            urls.iter().map(|url| url.trim_start_matches("redis://")).collect::<Vec<_>>().join(",")
        };
        let url = match &self.servers {
            Servers::Single(server) if server.url().starts_with("rediss") => {
                let url = format!("rediss://127.0.0.1:{}", self.proxy().port());
                let address: Address = url.parse().unwrap();
                return address.ca_file(server.certificates().authority()).unwrap();
            }
            Servers::Single(_) => self.proxy().url(),
            Servers::Sentinel(sentinel) => {
                format!("redis-sentinel://{}/{}", hosts(sentinel.urls()), sentinel.name())
            }
            Servers::Cluster(cluster) => format!("redis-cluster://{}", hosts(cluster.urls())),
        };
        url.parse().unwrap()
    }

    /// The same as a user of its own.
    pub(crate) fn address_as(&self, user: &str, password: &str) -> Address {
        format!("redis://{user}:{password}@127.0.0.1:{}", self.proxy().port()).parse().unwrap()
    }

    pub(crate) fn server(&self) -> &Server {
        match &self.servers {
            Servers::Single(server) => server,
            Servers::Sentinel(sentinel) => sentinel.primary(),
            Servers::Cluster(cluster) => &cluster.nodes()[*self.chosen.lock().unwrap()],
        }
    }

    pub(crate) fn sentinel(&self) -> &Sentinel {
        match &self.servers {
            Servers::Sentinel(sentinel) => sentinel,
            _ => panic!("this row is for sentinels"),
        }
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        match &self.servers {
            Servers::Cluster(cluster) => cluster,
            _ => panic!("this row is for clusters"),
        }
    }

    pub(crate) fn proxy(&self) -> &ChaosProxy {
        self.proxy.as_ref().expect("one server has a proxy before it")
    }

    pub(crate) fn has_proxy(&self) -> bool {
        self.proxy.is_some()
    }

    /// An order to the server, at once.
    pub(crate) fn order(&self, words: &str) {
        self.server().command(&words.split(' ').collect::<Vec<_>>());
    }

    /// An order over a connection that stays, without waiting for what is answered.
    pub(crate) fn leave(&self, words: &[&str]) {
        let mut client = self.server().client();
        client.send(words).unwrap();
        self.clients.lock().unwrap().push(client);
    }

    /// Keeps a connection, to give orders where no other is let in.
    pub(crate) fn hold(&self) {
        self.clients.lock().unwrap().push(self.server().client());
    }

    /// An order over the connection that was kept.
    pub(crate) fn order_held(&self, words: &str) {
        let mut clients = self.clients.lock().unwrap();
        let words: Vec<_> = words.split(' ').collect();
        clients[0].command(&words).unwrap();
    }

    /// Starts a shell command that runs beside.
    pub(crate) fn run(&self, command: &str) {
        let child = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).spawn().unwrap();
        self.children.lock().unwrap().push(child);
    }

    /// Closes the connections that were kept.
    pub(crate) fn release(&self) {
        self.clients.lock().unwrap().clear();
    }

    /// Waits for the shell commands that end by themselves.
    pub(crate) fn ran(&self) {
        for mut child in self.children.lock().unwrap().drain(..) {
            child.wait().unwrap();
        }
    }

    /// Waits until the server takes writes again.
    pub(crate) fn writable(&self) {
        let set = ["SET", "faults:probe", "1", "PX", "1000"];
        until(Duration::from_secs(30), || self.server().try_command(&set)).unwrap();
    }

    /// The numbers of the cold keys that are charged, and how many keys never run out.
    pub(crate) fn ledger(&self) -> (HashSet<u32>, i64) {
        let forever = "local n = 0 for _, k in ipairs(redis.call('KEYS', 'tollgate:*')) do \
                       if redis.call('PTTL', k) == -1 then n = n + 1 end end return n";
        let servers: Vec<&Server> = match &self.servers {
            Servers::Cluster(cluster) => {
                let leads = |node: &&Server| {
                    node.is_up() && node.command(&["ROLE"]).text().starts_with("master")
                };
                cluster.nodes().iter().filter(leads).collect()
            }
            _ => vec![self.server()],
        };
        let (mut cold, mut forever_of_all) = (HashSet::new(), 0);
        for server in servers {
            let keys = server.command(&["KEYS", "tollgate:{c*"]);
            let number = |key: &tollgate_servers::Value| {
                let text = key.text();
                let inside = text.strip_prefix("tollgate:{c")?.split('}').next()?;
                inside.parse::<u32>().ok()
            };
            cold.extend(keys.items().iter().filter_map(number));
            forever_of_all += server.command(&["EVAL", forever, "0"]).integer().unwrap();
        }
        (cold, forever_of_all)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for child in self.children.lock().unwrap().iter_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs a shell command to its end.
pub(crate) fn shell(command: &str) {
    let run = Command::new("sh").args(["-c", command]).output().unwrap();
    assert!(run.status.success(), "{command}: {}", String::from_utf8_lossy(&run.stderr));
}
