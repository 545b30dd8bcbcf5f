//! One server and the task that keeps a connection to it.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::{Mutex, watch};
use tokio::time::{Duration, Instant, sleep, timeout, timeout_at};

use redis::{Cmd, Value};
use tollgate_core::breaker::Status;

use super::backoff::Backoff;
use super::dial::Dial;
use super::event::{Event, Events};
use super::expiry;
use super::gate::Gate;
use super::identity::{self, Identity};
use super::live::{Live, Sent};
use super::sentinel::Sentinels;
use super::task::Task;
use crate::address::Endpoint;
use crate::fault::{Class, Fault};

/// How often the other side has to show that it is there. Two that stay unanswered end the
/// connection, so that a silent one lasts less than 2 s.
const PING: Duration = Duration::from_millis(600);
/// A connection that lived so long has shown that the server is well.
const WELL: Duration = Duration::from_secs(1);

/// One server, connected in the background and for ever; dropping it ends that.
pub(crate) struct Server {
    shared: Arc<Shared>,
    live: watch::Receiver<Option<Arc<Live>>>,
    _keeper: Task,
    _watch: Task,
}

struct Shared {
    name: String,
    dial: Dial,
    place: Place,
    events: Events,
    live: watch::Sender<Option<Arc<Live>>>,
    last: std::sync::Mutex<Option<Fault>>,
    gate: Gate,
    /// Who the server was when last asked.
    identity: Mutex<Option<Identity>>,
    lost: AtomicU64,
    // Relaxed: set before `live` is told of, which orders it.
    tried: AtomicBool,
    /// When the certificate ends that it last showed.
    ends: std::sync::Mutex<Option<SystemTime>>,
}

/// Where the server is.
#[derive(Clone)]
pub(crate) enum Place {
    At(Endpoint),
    /// Wherever the sentinels say.
    Named(Box<Sentinels>),
}

/// What is known about a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerState {
    /// Its address, or for sentinels the group's name.
    pub name: String,
    /// Whether there is a connection.
    pub connected: bool,
    /// Whether calls flow to it.
    pub status: Status,
    /// How many calls wait for it.
    pub in_flight: usize,
    /// What was last wrong with the connection; none while all is well.
    pub fault: Option<Fault>,
    /// How often the server came back without its data.
    pub lost: u64,
    /// When the certificate ends that it last showed; none without TLS.
    pub certificate_ends: Option<SystemTime>,
}

impl Server {
    /// Starts to connect; returns at once.
    pub(crate) fn start(name: String, place: Place, dial: Dial, events: Events) -> Server {
        let (sender, live) = watch::channel(None);
        let shared = Arc::new(Shared {
            name,
            gate: Gate::new(dial.breaker),
            dial,
            place,
            events,
            live: sender,
            last: std::sync::Mutex::new(None),
            identity: Mutex::new(None),
            lost: AtomicU64::new(0),
            tried: AtomicBool::new(false),
            ends: std::sync::Mutex::new(None),
        });
        let keeper = Task::start(keep(Arc::clone(&shared)));
        let watch = Task::start(watch(Arc::clone(&shared), live.clone()));
        Server { shared, live, _keeper: keeper, _watch: watch }
    }

    /// Sends on the open connection. Without one it fails at once, unless the very first attempt to
    /// connect is still under way; it never connects.
    pub(crate) async fn call(&self, sent: Sent<'_>, deadline: Instant) -> Result<Value, Fault> {
        let live = self.live.borrow().clone();
        if live.is_none() && self.is_untried() {
            let mut live = self.live.clone();
            let tried = live.wait_for(|live| live.is_some() || !self.is_untried());
            let _ = timeout_at(deadline, tried).await;
        }
        let live = self.live.borrow().clone();
        match live {
            Some(live) => self.shared.gate.through(&live, sent, deadline).await,
            None => Err(self.absent()),
        }
    }

    /// Asks outside the count of calls.
    pub(crate) async fn ask(&self, command: &Cmd, within: Duration) -> Result<Value, Fault> {
        let live = self.live.borrow().clone();
        match live {
            Some(live) => live.ask(command, within).await,
            None => Err(self.absent()),
        }
    }

    /// Comes back once there is a connection.
    pub(crate) async fn connected(&self) {
        let mut live = self.live.clone();
        // The sender lives as long as `self`.
        let _ = live.wait_for(Option::is_some).await;
    }

    /// Whether no attempt to connect has ended yet.
    pub(crate) fn is_untried(&self) -> bool {
        !self.shared.tried.load(Ordering::Relaxed)
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.live.borrow().is_some()
    }

    /// The host, unless it follows from the sentinels or is this machine.
    pub(crate) fn host(&self) -> Option<&str> {
        match &self.shared.place {
            Place::At(Endpoint::Tcp { host, .. }) => Some(host),
            _ => None,
        }
    }

    pub(crate) fn state(&self) -> ServerState {
        let live = self.live.borrow().clone();
        ServerState {
            name: self.shared.name.clone(),
            connected: live.is_some(),
            status: self.shared.gate.status(),
            in_flight: live.as_ref().map_or(0, |live| live.in_flight()),
            fault: self.shared.last(),
            lost: self.shared.lost.load(Ordering::Relaxed),
            certificate_ends: self.shared.ends(),
        }
    }

    fn absent(&self) -> Fault {
        match self.shared.last() {
            // How the connection ended is not what is wrong with a call that was never sent.
            Some(fault) if !matches!(fault.class(), Class::Dropped | Class::Timeout) => {
                fault.harmless()
            }
            _ => Fault::never(Class::Down),
        }
    }
}

impl Shared {
    fn last(&self) -> Option<Fault> {
        self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn note(&self, fault: Option<Fault>) {
        *self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = fault;
    }

    fn ends(&self) -> Option<SystemTime> {
        *self.ends.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn find(&self) -> Result<Endpoint, Fault> {
        match &self.place {
            Place::At(endpoint) => Ok(endpoint.clone()),
            Place::Named(sentinels) => sentinels.primary().await,
        }
    }
}

/// Connects, watches the connection until it ends, and connects again.
async fn keep(shared: Arc<Shared>) {
    let mut backoff = Backoff::default();
    loop {
        let fault = match connect(&shared).await {
            Ok(since) if since.elapsed() >= WELL => {
                backoff.reset();
                shared.last()
            }
            Ok(_) => shared.last(),
            Err(fault) => {
                shared.note(Some(fault.clone()));
                // Whoever waits for the first attempt looks again.
                shared.tried.store(true, Ordering::Relaxed);
                shared.live.send_replace(None);
                shared.events.tell(&Event::Unreachable { server: &shared.name, fault: &fault });
                Some(fault)
            }
        };
        let configuration = fault.is_some_and(|fault| fault.class().is_configuration());
        sleep(if configuration { backoff.configuration() } else { backoff.next() }).await;
    }
}

/// Opens a connection and watches it to its end; returns when it was opened.
async fn connect(shared: &Arc<Shared>) -> Result<Instant, Fault> {
    let endpoint = shared.find().await?;
    let (connection, driver, ends) = shared.dial.open(&endpoint).await?;
    let since = Instant::now();
    let mut driver = Task::start(driver);
    let live = Arc::new(Live::new(connection, shared.dial.in_flight));
    shared.note(None);
    *shared.ends.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = ends;
    shared.tried.store(true, Ordering::Relaxed);
    shared.live.send_replace(Some(Arc::clone(&live)));
    shared.events.tell(&Event::Connected { server: &shared.name });

    let fault = tokio::select! {
        () = driver.ended() => Fault::never(Class::Dropped),
        class = live.retired() => Fault::never(class),
        fault = live.pinged(PING) => fault,
        fault = recognise(shared, &live) => fault,
        fault = demoted(shared, &endpoint) => fault,
    };
    shared.note(Some(fault.clone()));
    shared.live.send_replace(None);
    shared.events.tell(&Event::Disconnected { server: &shared.name, fault: &fault });
    if fault.class() != Class::Timeout {
        // Calls that were sent before may still be answered.
        tokio::spawn(async move {
            drop(live);
            let _ = timeout(PING, driver.ended()).await;
        });
    }
    Ok(since)
}

/// Finds out whether this is the server it was, and with what it was; then never comes back.
async fn recognise(shared: &Shared, live: &Live) -> Fault {
    loop {
        let Ok(reply) = live.ask(&identity::question(), PING).await else { break };
        match Identity::read(&reply) {
            Some(new) if new.is_loading() => sleep(PING / 4).await,
            Some(new) => {
                let old = shared.identity.lock().await.replace(new.clone());
                if old.is_some_and(|old| new.forgot(&old)) {
                    shared.lost.fetch_add(1, Ordering::Relaxed);
                    shared.events.tell(&Event::Lost { server: &shared.name });
                }
                break;
            }
            // A server that does not tell, or not to us.
            None => break,
        }
    }
    core::future::pending().await
}

/// Watches the server's certificate, from its first connection on.
async fn watch(shared: Arc<Shared>, mut live: watch::Receiver<Option<Arc<Live>>>) {
    // The sender lives as long as `shared`.
    let _ = live.wait_for(Option::is_some).await;
    expiry::watched(&shared.name, || shared.ends()).await;
}

/// Comes back once the sentinels name another server.
async fn demoted(shared: &Shared, endpoint: &Endpoint) -> Fault {
    match &shared.place {
        Place::At(_) => core::future::pending().await,
        Place::Named(sentinels) => sentinels.demoted(endpoint).await,
    }
}
