//! The one place where the parts meet: the file, the limits, the store, the layer and the proxy.

use std::fmt;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tollgate_core::{Clock, ManualClock, Store, Tick};
use tollgate_http::{Clients, RateLimit, RateLimitLayer, Responder};
use tollgate_memory::{Memory, MemoryBuilder, SystemClock};
use tollgate_policy::config::{Problem, Problems, Reading, Section, Source, process_environment};
use tollgate_policy::{KeyPart, LimitSpec, Policy};
use tollgate_redis::Redis;
use tower_layer::Layer;

use crate::admission::Admission;
use crate::endpoint::Endpoint;
use crate::front::Face;
use crate::jwt::Jwt;
use crate::metrics::Metrics;
use crate::noise::Noise;
use crate::opening::{Opening, Transport};
use crate::origin::{Origin, Ways};
use crate::settings::{Pools, Settings};
use crate::shared::{Asker, Shared};

/// What a file describes.
pub(crate) struct Plan {
    /// The file, and those that it names: where it may change.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) settings: Settings,
    pub(crate) policy: Policy,
    /// `None` when the counts are this process's own.
    pub(crate) shared: Option<Shared>,
    clients: Clients,
    responder: Responder,
    jwt: Option<Jwt>,
}

/// A file that cannot be used.
#[derive(Debug)]
pub(crate) struct Unusable {
    /// What is wrong with it, in the words for its author.
    pub(crate) problems: String,
    /// Where that may be put right.
    pub(crate) files: Vec<PathBuf>,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems)
    }
}

/// What stays for as long as the process does, whatever its file says meanwhile: the counts, and
/// what is known of it.
#[derive(Clone)]
pub(crate) struct Kept {
    store: Arc<dyn Store>,
    /// The store that many gateways share, and how the file describes it.
    pub(crate) shared: Option<(Shared, Arc<Redis>)>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) noise: Arc<Noise>,
    pools: Arc<Pools>,
}

impl Kept {
    /// # Errors
    /// When this process cannot keep as many keys as it should.
    fn new(memory: MemoryBuilder, shared: Option<Shared>, asker: Asker) -> Result<Kept, String> {
        let memory = Arc::new(memory.build().map_err(|error| error.to_string())?);
        // While the servers cannot be asked, the store in this process holds its shares of the limits.
        let shared = shared.map(|shared| {
            let redis = Arc::new(shared.start(memory.clone(), asker));
            (shared, redis)
        });
        let redis = shared.as_ref().map(|(_, redis)| redis.clone());
        let store: Arc<dyn Store> = match &redis {
            Some(redis) => redis.clone(),
            None => memory.clone(),
        };
        let metrics = Arc::new(Metrics::new(memory, redis));
        Ok(Kept { store, shared, metrics, noise: Arc::default(), pools: Arc::default() })
    }
}

/// Everything that a file describes, ready to serve.
pub(crate) struct Gateway {
    pub(crate) settings: Settings,
    pub(crate) policy: Policy,
    pub(crate) limits: RateLimitLayer,
    pub(crate) admission: Admission,
    pub(crate) opening: Arc<Opening>,
    pub(crate) jwt: Option<Jwt>,
    pub(crate) kept: Kept,
}

/// What is behind the front: the limits, and behind them the upstream.
pub(crate) type Limited = RateLimit<Origin>;

impl Plan {
    /// Reads a file; gives the warnings too.
    ///
    /// # Errors
    /// What is wrong with the file, in the words for its author.
    pub(crate) fn from_file(path: &Path) -> Result<(Plan, Problems), Unusable> {
        let files = vec![path.to_owned()];
        match Source::read(path) {
            Ok(source) => Plan::read(Reading::new(source, &process_environment), files),
            Err(error) => Err(Unusable { problems: format!("{error}\n"), files }),
        }
    }

    /// What a reading says; `files` are those that are read by then.
    ///
    /// # Errors
    /// What is wrong with it, in the words for its author.
    pub(crate) fn read(
        reading: Reading<'_>,
        mut files: Vec<PathBuf>,
    ) -> Result<(Plan, Problems), Unusable> {
        let mut root = reading.root();
        let settings = Settings::read(&mut root);
        files.extend(settings.destinations.files().map(Path::to_owned));
        let shared = root.section("store").map(Shared::read);
        let clients = root.section("client").map(Clients::read).unwrap_or_default();
        let responder = root.section("answer").map(Responder::read).unwrap_or_default();
        let jwt = root.section("jwt").and_then(Jwt::read);
        let policy = Policy::read(&mut root);
        if let Some(policy) = &policy {
            let known = Known {
                claims: jwt.is_some(),
                users: clients.vouched_user().is_some(),
                certificates: settings.tls.as_ref().is_some_and(|tls| tls.demand.is_some()),
            };
            known.warn(&root, policy);
        }
        drop(root);
        files.extend(reading.files());
        let problems = reading.finish();
        match policy {
            Some(policy) if !problems.has_errors() => {
                let shared = shared.flatten();
                Ok((Plan { files, settings, policy, shared, clients, responder, jwt }, problems))
            }
            _ => Err(Unusable { problems: problems.to_string(), files }),
        }
    }

    /// Joins what it describes, and begins to connect to the store.
    ///
    /// # Errors
    /// When this process cannot keep as many keys as it should.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn start(self, asker: Asker) -> Result<Gateway, String> {
        let memory = Memory::builder().max_entries(self.settings.keys);
        let kept = Kept::new(memory, self.shared.clone(), asker)?;
        Ok(self.over(kept))
    }

    /// The same with fresh counts at an instant, at which time stands still; no store is asked.
    ///
    /// # Errors
    /// As [`Plan::start`].
    pub(crate) fn start_at(self, now: Tick) -> Result<Gateway, String> {
        let clock = ManualClock::at(now);
        let memory = Memory::builder().max_entries(self.settings.keys).clock(clock.clone());
        Ok(self.over_by(Kept::new(memory, None, Asker::Visitor)?, clock))
    }

    /// The limits, asked of a store and by a clock of the caller's. Claims are those that stand beside
    /// a request: tokens are not looked at.
    pub(crate) fn layer(
        &self,
        store: Arc<dyn Store>,
        clock: impl Clock + 'static,
    ) -> RateLimitLayer {
        RateLimitLayer::new(store, self.policy.clone())
            .clients(self.clients.clone())
            .responder(self.responder.clone())
            .attach_client()
            .clock(clock)
    }

    /// What stands before the limits.
    pub(crate) fn admission(&self) -> Admission {
        Admission {
            head: self.settings.connection.head,
            identity: self.clients.identity_headers().cloned().collect(),
        }
    }

    /// Takes the claims that stand beside a request for those of its token.
    pub(crate) fn believe_given_claims(&mut self) {
        self.jwt = None;
    }

    /// Joins what it describes with what is kept, so that a limit of the same name, algorithm, period
    /// and tick goes on counting. What the file says of the store is left aside.
    pub(crate) fn over(self, kept: Kept) -> Gateway {
        self.over_by(kept, SystemClock::new())
    }

    fn over_by(self, kept: Kept, clock: impl Clock + 'static) -> Gateway {
        let observer = kept.metrics.follow(&self.policy);
        let admission = self.admission();
        let mut limits =
            self.layer(kept.store.clone(), clock).observe(move |outcome| observer.decided(outcome));
        let Plan { settings, clients, jwt, .. } = self;
        let opening = Arc::new(Opening {
            balancers: settings.balancers.clone(),
            tls: settings.tls.clone(),
            per_client: settings.connections_per_client,
            clients: clients.rule().clone(),
        });
        let tokens = kept.metrics.clone();
        if let Some(jwt) = jwt.clone() {
            limits = limits.claims(move |headers| {
                let claims = jwt.claims(headers)?;
                tokens.tokens.count(claims.as_ref().map(drop).map_err(|why| *why));
                claims.ok()
            });
        }
        // As the layer has it, so that what is explained is what is charged.
        let policy = limits.policy().clone();
        Gateway { settings, policy, limits, admission, opening, jwt, kept }
    }
}

/// What the file lets requests show of who asks.
struct Known {
    claims: bool,
    users: bool,
    certificates: bool,
}

impl Known {
    /// Whoever lacks what a limit goes by may be one with his whole address: the limit would work, and
    /// not as its author thinks.
    fn warn(&self, root: &Section<'_>, policy: &Policy) {
        let limits = || policy.limits().filter(|spec| spec.is_enabled()).flat_map(LimitSpec::key);
        let warn = |is_known: bool, of: fn(&KeyPart) -> bool, why: &str, expected: &str| {
            let what = match () {
                () if is_known => return,
                () if limits().any(of) => "a limit is",
                () if policy.planned_by().any(|part| of(&part)) => "plans are",
                () if policy.listed_by().any(of) => "a list of who is free or forbidden is",
                () => return,
            };
            let message = format!("{what} {why}");
            root.reading().report(Problem::warning(root.span(), message, expected));
        };
        warn(
            self.claims,
            |part| matches!(part, KeyPart::Claim(_)),
            "by a claim, and no request has claims",
            "a section `[jwt]`, which says how tokens are verified",
        );
        warn(
            self.users,
            |part| matches!(part, KeyPart::User),
            "by `user`, and no request tells its user",
            "`user_header` in `[client]`, by which a trusted proxy tells it",
        );
        warn(
            self.certificates,
            |part| matches!(part, KeyPart::Certificate),
            "by `certificate`, and no client is asked for one",
            "`client_ca` in `[server.tls]`",
        );
    }
}

impl Gateway {
    /// The limits in front of the upstream, and what stands in front of both.
    pub(crate) fn face(&self) -> Face<Limited> {
        let Kept { metrics, pools, .. } = &self.kept;
        let routes = self.settings.destinations.open(&metrics.meters, pools, self.policy.case());
        let ways = Ways {
            routes,
            identity: self.admission.identity.clone(),
            metrics: self.kept.metrics.clone(),
            noise: self.kept.noise.clone(),
        };
        Face {
            behind: self.limits.layer(Origin::from(ways)),
            admission: self.admission.clone(),
            body: self.settings.body,
            connection: self.settings.connection,
            opening: self.opening.clone(),
            grace: self.settings.shutdown,
            metrics: Some(self.kept.metrics.clone()),
        }
    }

    /// Says what is served and how to try it.
    pub(crate) fn announce(
        &self,
        out: &mut impl Write,
        listen: &[Endpoint],
        metrics: Option<&Endpoint>,
    ) -> io::Result<()> {
        for endpoint in listen {
            writeln!(out, "tollgate listens on {}", self.shown(endpoint))?;
        }
        let destinations = &self.settings.destinations;
        write!(out, "{destinations}{}", destinations.gates())?;
        if let Some(metrics) = metrics {
            writeln!(out, "  metrics at http://{metrics}/metrics")?;
        }
        match &self.kept.shared {
            None => writeln!(out, "\nLimits, counted in this process alone:")?,
            Some((shared, redis)) => {
                writeln!(out, "\nLimits, {}:", scope(shared))?;
                if !redis.stats().servers.iter().any(|server| server.connected) {
                    writeln!(
                        out,
                        "  (it is not there yet: until it is, each limit's `on_error` decides)"
                    )?;
                }
            }
        }
        write!(out, "{}", crate::check::table(&self.policy))?;
        if let Some(first) = listen.first() {
            writeln!(out, "\nTry it:\n  {}", self.try_it(first))?;
        }
        out.flush()
    }

    fn shown(&self, endpoint: &Endpoint) -> String {
        match endpoint {
            Endpoint::Tcp(address) => format!("{}://{address}", self.transport().scheme()),
            Endpoint::Unix(_) => endpoint.to_string(),
        }
    }

    /// What is spoken at the addresses.
    fn transport(&self) -> Transport {
        match self.opening.tls {
            Some(_) => Transport::Tls,
            None => Transport::Clear,
        }
    }

    fn try_it(&self, endpoint: &Endpoint) -> String {
        let mut address = match endpoint {
            Endpoint::Tcp(address) => *address,
            Endpoint::Unix(path) => {
                return format!("curl -i --unix-socket {} http://localhost/", path.display());
            }
        };
        if address.ip().is_unspecified() {
            address.set_ip(match address.is_ipv4() {
                true => Ipv4Addr::LOCALHOST.into(),
                false => Ipv6Addr::LOCALHOST.into(),
            });
        }
        match self.transport() {
            Transport::Clear => format!("curl -i http://{address}/"),
            // The certificate is hardly for an address.
            Transport::Tls => format!("curl -i --insecure https://{address}/"),
        }
    }
}

/// Where budgets are counted and who shares them; no password.
pub(crate) fn scope(shared: &Shared) -> String {
    let share = match shared.replicas.map(NonZeroU32::get) {
        Some(1) => "all of each limit".to_owned(),
        Some(replicas) => format!("1/{replicas} of each limit"),
        None => "its share of each limit, among as many as the servers last counted".to_owned(),
    };
    format!(
        "counted in Redis at {}, shared by all that use it; alone, this process decides by {share}",
        shared.address
    )
}
