//! The servers behind the gateway: which of them is asked, and what becomes of their answers.
//!
//! A request that a server has seen a byte of is never sent a second time, whatever its method: who
//! did what it asks for cannot be told from who did not. One that could not be sent at all goes to the
//! next server.

mod address;
mod answer;
mod check;
mod dial;
mod gate;
mod health;
mod lines;
mod load;
mod meters;
mod secure;
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::header::{CONNECTION, HOST, HeaderValue, TE, TRANSFER_ENCODING};
use http::uri::{Authority, Parts as UriParts, Scheme};
use http::{Request, Response, Uri, Version};
use http_body::Body;
use prometheus_client::metrics::counter::Counter;
use smallvec::{SmallVec, smallvec};

use crate::body::{AnswerBody, ClientBody};
use crate::framing::Fault;
use crate::problem::UNAVAILABLE;
use crate::tunnel::{Switch, TunnelLimits, Tunnels};

pub(crate) use address::Address;
pub(crate) use check::Checks;
pub(crate) use dial::Dial;
pub(crate) use gate::{BreakerSpec, Gate, GateSpec, Leave, PlacesSpec};
pub(crate) use health::Ejection;
pub(crate) use meters::{Meters, ServerLabels};
pub(crate) use secure::{Secure, authorities_in, authorities_of_the_system};
pub(crate) use server::Asked;

use health::Health;
use server::{Miss, Server};

/// How requests are written to servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    #[default]
    Http1,
    /// With prior knowledge in clear, agreed on over TLS.
    Http2,
}

/// Which of the servers that are up is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Balance {
    /// One after the other.
    #[default]
    RoundRobin,
    /// The one with the fewest requests in flight; among equals, one after the other.
    LeastLoaded,
}

/// How long a server may be silent once it was sent a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UpstreamPatience {
    /// Until the head of an answer, and between its parts, while the request does not move either.
    pub(crate) answer: Duration,
    /// Between the parts of an answer that is a stream of events.
    pub(crate) stream: Duration,
}

/// What a route says in place of [`UpstreamPatience`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Silence {
    /// As the upstream says.
    #[default]
    Usual,
    AtMost(Duration),
    Endless,
}

/// The servers of one upstream, each of which could answer.
pub(crate) struct Pool {
    name: Box<str>,
    servers: Box<[Arc<Server>]>,
    balance: Balance,
    turn: AtomicUsize,
    protocol: Protocol,
    /// Stands for the host in requests that name none.
    authority: Authority,
    patience: UpstreamPatience,
    retries: Counter,
    tunnels: Tunnels,
    /// `None` where every request passes.
    gate: Option<Arc<Gate>>,
}

/// What a pool is made from.
pub(crate) struct Plan<'p> {
    pub(crate) name: &'p str,
    /// At least one.
    pub(crate) dials: Vec<Dial>,
    pub(crate) protocol: Protocol,
    pub(crate) balance: Balance,
    pub(crate) checks: Option<Checks>,
    pub(crate) ejection: Ejection,
    pub(crate) patience: UpstreamPatience,
    pub(crate) idle: Duration,
    pub(crate) tunnels: TunnelLimits,
    pub(crate) gate: Option<Arc<Gate>>,
}

/// Servers that are tried for one request: with each, a client waits for one connection more.
const TRIES: usize = 3;

impl Pool {
    /// The pool of a plan; its servers are checked from now on, if they are to be.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn new(plan: Plan<'_>, meters: &Meters) -> Arc<Pool> {
        let Plan {
            name,
            dials,
            protocol,
            balance,
            checks,
            ejection,
            patience,
            idle,
            tunnels,
            gate,
        } = plan;
        let first = dials.first().map(|dial| dial.address.authority());
        let several = dials.len() > 1;
        let servers = dials.into_iter().map(|dial| {
            let server = dial.address.to_string();
            let labels = ServerLabels { upstream: name.to_owned(), server: server.clone() };
            let health = Health::new(
                &server,
                several.then_some(ejection),
                meters.up(&labels),
                meters.ejections(&labels),
            );
            let server = Server::new(dial, idle, health);
            if let Some(checks) = &checks {
                tokio::spawn(check::watch(Arc::downgrade(&server), checks.clone()));
            }
            server
        });
        Arc::new(Pool {
            name: name.into(),
            servers: servers.collect(),
            balance,
            turn: AtomicUsize::new(0),
            protocol,
            authority: first.unwrap_or(Authority::from_static("localhost")),
            patience,
            retries: meters.retries(name),
            tunnels: Tunnels::new(meters.tunnels(), tunnels),
            gate,
        })
    }

    /// Has its servers no longer told of, since others take their place.
    pub(crate) fn forget(&self, meters: &Meters) {
        for server in &self.servers {
            let (upstream, server) = ((*self.name).to_owned(), server.health().name().to_owned());
            meters.forget(&ServerLabels { upstream, server });
        }
    }

    /// What stands before it.
    pub(crate) fn gate(&self) -> Option<&Arc<Gate>> {
        self.gate.as_ref()
    }

    /// Whether its servers can go on in another protocol than HTTP.
    pub(crate) fn can_switch(&self) -> bool {
        self.protocol == Protocol::Http1
    }

    /// Asks one of its servers, or the next where nothing could be sent, with leave of its gate if it
    /// has one. The target is in origin form.
    ///
    /// # Errors
    /// When the client's body is at fault, no server can be reached or what answers is no HTTP server
    /// (502; 503 if none was up before), or it takes too long (504).
    pub(crate) async fn ask(
        &self,
        mut request: Request<ClientBody>,
        silence: Silence,
        switch: Option<Switch>,
        mut leave: Option<&mut Leave>,
    ) -> Result<Response<AnswerBody>, Fault> {
        self.address(&mut request, switch.as_ref())?;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut order = self.order(turn);
        let was_up = order.first().is_some_and(|server| server.health().is_up());
        let patience = self.patience(silence, self.patience.answer);
        let mut tries = TRIES.min(order.len());
        let mut fault = UNAVAILABLE;
        while tries > 0 && !order.is_empty() {
            tries -= 1;
            let since = leave.as_mut().and_then(|leave| leave.since());
            match order.remove(0).ask(request, patience, since).await {
                Ok((response, mut asked)) => {
                    asked.place = leave.and_then(|leave| leave.take_place());
                    let stream = self.patience(silence, self.patience.stream);
                    let switch = switch.map(|switch| (switch, &self.tunnels));
                    return answer::answer(response, asked, (patience, stream), switch);
                }
                Err(Miss::Sent(fault)) => return Err(fault),
                Err(Miss::Unsent(unsent, why)) => {
                    request = *unsent;
                    fault = match was_up || self.servers.len() == 1 {
                        true => why,
                        false => Fault { cause: why.cause, ..UNAVAILABLE },
                    };
                    if tries > 0 {
                        self.retries.inc();
                    }
                }
            }
        }
        Err(fault)
    }

    fn patience(&self, silence: Silence, usual: Duration) -> Option<Duration> {
        match silence {
            Silence::Usual => Some(usual),
            Silence::AtMost(patience) => Some(patience),
            Silence::Endless => None,
        }
    }

    /// All servers in the order in which they are to be tried: those that are up first. So where none
    /// is, all are: a wrong check must not be worse than none.
    fn order(&self, turn: usize) -> SmallVec<[&Server; 1]> {
        if let [only] = &*self.servers {
            return smallvec![&**only];
        }
        let first = turn.checked_rem(self.servers.len()).unwrap_or(0);
        let (before, from) = self.servers.split_at(first);
        let mut order: SmallVec<[_; 1]> =
            from.iter().chain(before).map(|server| &**server).collect();
        // Stable: among equals the turn decides. Each is looked at once, since both may change
        // meanwhile, and no order would hold.
        order.sort_by_cached_key(|server| {
            let load = match self.balance {
                Balance::RoundRobin => 0,
                Balance::LeastLoaded => server.load(),
            };
            (!server.health().is_up(), load)
        });
        order
    }

    /// Writes the request as its protocol has it.
    fn address(
        &self,
        request: &mut Request<ClientBody>,
        switch: Option<&Switch>,
    ) -> Result<(), Fault> {
        match self.protocol {
            Protocol::Http1 => {
                *request.version_mut() = Version::HTTP_11;
                // hyper would leave the body of a GET out unless it is said to come.
                let chunked = request.body().size_hint().exact().is_none();
                let headers = request.headers_mut();
                if chunked {
                    headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
                }
                if !headers.contains_key(HOST) {
                    let host = HeaderValue::from_str(self.authority.as_str());
                    headers.insert(HOST, host.map_err(|_| NO_TARGET)?);
                }
                if let Some(switch) = switch {
                    switch.ask(headers);
                } else if headers.contains_key(TE) {
                    // What concerns one hop is named so (RFC 9110, 10.1.4).
                    headers.insert(CONNECTION, HeaderValue::from_static("te"));
                }
            }
            Protocol::Http2 => {
                *request.version_mut() = Version::HTTP_2;
                let host = request.headers_mut().remove(HOST);
                let host = host.map(|host| Authority::try_from(host.as_bytes()));
                let mut uri = UriParts::default();
                uri.path_and_query = request.uri().path_and_query().cloned();
                uri.scheme = Some(Scheme::HTTP);
                uri.authority = Some(match host {
                    Some(host) => host.map_err(|_| NO_TARGET)?,
                    None => self.authority.clone(),
                });
                *request.uri_mut() = Uri::from_parts(uri).map_err(|_| NO_TARGET)?;
            }
        }
        Ok(())
    }
}

const NO_TARGET: Fault = Fault::malformed("expected a path and a host as the target");
