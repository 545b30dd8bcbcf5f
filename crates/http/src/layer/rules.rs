//! Everything a layer was told, and what it makes of a request before and after the store is asked.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{Extensions, HeaderMap, HeaderName, Request, Response};
use tokio::runtime::Handle;
use tollgate_core::algorithm::Patience;
use tollgate_core::{
    Algorithm, Clock, Decision, Limit, LocalStore, Queue, Store, StoreError, Verdict,
};
use tollgate_policy::{Count, LimitSpec, Matches, Measure, Policy, Scratch, Selection};
use tracing::{error, warn};

use super::complaint::Complaint;
use super::head::{Fault, Head, Token};
use super::line::{Line, Place};
use super::nested;
use super::plans::Plans;
use super::{Outcome, User};
use crate::answer::{Costs, Own, Refusal, Responder, Told};
use crate::client::{Client, Peer, Trail};
use crate::clients::Clients;
use crate::dialect::Terminology;

type ReadPeer = dyn Fn(&Extensions) -> Option<Peer> + Send + Sync;
type ReadRoute = dyn for<'r> Fn(&'r Extensions) -> Option<&'r str> + Send + Sync;
type ReadUser = dyn Fn(&Head<'_>) -> Option<String> + Send + Sync;
type Skip = dyn Fn(&Head<'_>) -> bool + Send + Sync;
type RefuseWith = dyn Fn(&Head<'_>, &Refusal<'_>, Response<Bytes>) -> Response<Bytes> + Send + Sync;
type Observe = dyn Fn(&Outcome<'_>) + Send + Sync;

/// The address of all clients whose own is not known: no host has it, and no budget of theirs may be
/// anybody else's.
const UNKNOWN: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Everything a layer was told.
#[derive(Clone)]
pub(super) struct Rules {
    pub(super) store: Arc<dyn Store>,
    pub(super) policy: Policy,
    pub(super) responder: Responder,
    pub(super) peers: Vec<Arc<ReadPeer>>,
    pub(super) route: Option<Arc<ReadRoute>>,
    pub(super) user: Option<Arc<ReadUser>>,
    pub(super) token: Option<Token>,
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) skip: Option<Arc<Skip>>,
    pub(super) refuse_with: Option<Arc<RefuseWith>>,
    pub(super) observers: Vec<Arc<Observe>>,
    afterwards: Afterwards,
    queues: Queues,
    line: Arc<Line>,
    pub(super) nesting: Nesting,
    clients: Clients,
    paths: Paths,
    pub(super) attach: Attach,
    /// Written when the first answer is; by then the rules change no more.
    terminology: OnceLock<Terminology>,
    complaints: Arc<Complaints>,
    pub(super) plans: Option<Arc<Plans>>,
    /// The headers that clients do not get.
    hidden: Vec<HeaderName>,
}

/// Whether limits look at paths. If not, a path that can be read in two ways is the service's
/// affair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paths {
    Matter,
    Ignored,
}

/// Whether the service behind finds the client among the extensions of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attach {
    Client,
    Nothing,
}

/// Whether any charge may be given back or settled once the service has answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Afterwards {
    Some,
    None,
}

/// Whether any limit has requests wait for their turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queues {
    Some,
    None,
}

/// What becomes of a charge when a layer inside refuses the request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nesting {
    Kept,
    Refunded,
}

#[derive(Default)]
struct Complaints {
    no_peer: Complaint,
    ignored: Complaint,
    stopped: Complaint,
    short: Complaint,
}

/// What is to be done with a request.
pub(super) enum Judged<'p, 's> {
    /// No limit applies to what this client asks.
    Free(Option<Client>),
    /// It is refused, with this answer.
    Refused(Response<Bytes>),
    /// The store has to be asked of what this client asks.
    Limits(Matches<'p, 's>, Option<Client>),
}

impl Rules {
    pub(super) fn new(store: Arc<dyn Store>, policy: Policy) -> Rules {
        Rules {
            store,
            afterwards: if policy.limits().any(may_change) {
                Afterwards::Some
            } else {
                Afterwards::None
            },
            queues: if policy.limits().any(has_queue) { Queues::Some } else { Queues::None },
            line: Arc::default(),
            nesting: Nesting::Kept,
            paths: if policy.limits().any(LimitSpec::looks_at_paths) {
                Paths::Matter
            } else {
                Paths::Ignored
            },
            policy,
            responder: Responder::default(),
            peers: Vec::new(),
            route: None,
            user: None,
            token: None,
            clock: None,
            skip: None,
            refuse_with: None,
            observers: Vec::new(),
            clients: Clients::default(),
            attach: Attach::Nothing,
            terminology: OnceLock::new(),
            complaints: Arc::default(),
            plans: None,
            hidden: Vec::new(),
        }
    }

    pub(super) fn set_responder(&mut self, responder: Responder) {
        let measures = self.policy.limits().filter_map(|spec| spec.settlement());
        self.hidden = match responder.costs() {
            Costs::Shown => Vec::new(),
            Costs::Hidden => measures.filter_map(|s| cost_header(s.measure())).collect(),
        };
        self.responder = responder;
    }

    /// Takes off an answer of the service what clients do not get.
    pub(super) fn hide<C>(&self, answer: &mut Response<C>) {
        for name in &self.hidden {
            answer.headers_mut().remove(name);
        }
    }

    pub(super) fn set_clients(&mut self, clients: Clients) {
        if let Some(bits) = clients.ipv6_prefix {
            self.policy = self.policy.clone().with_ipv6_prefix(bits);
        }
        self.clients = clients;
    }

    /// The store, if it answers at once and nothing has to be done once the service has answered.
    pub(super) fn local(&self) -> Option<&dyn LocalStore> {
        self.store.local().filter(|_| self.keeps_all())
    }

    /// Whether all charges of requests that reach the service stay as they are.
    pub(super) fn keeps_all(&self) -> bool {
        self.afterwards == Afterwards::None && self.nesting == Nesting::Kept
    }

    /// Whether requests can wait here: there have to be timers to end the wait.
    pub(super) fn patience(&self) -> Patience {
        match self.queues {
            Queues::Some if Handle::try_current().is_ok() => Patience::Wait,
            Queues::Some | Queues::None => Patience::Now,
        }
    }

    /// Puts a request that passes into the line, if it has to wait for its turn.
    pub(super) fn place(&self, decision: &Decision<'_>) -> Option<Place> {
        if self.queues == Queues::None {
            return None;
        }
        let wait = decision.wait();
        let waits = decision.answers().filter(|answer| answer.verdict() == Verdict::Wait(wait));
        let longest = waits.into_iter().next()?;
        Some(self.line.enter(longest.now().after(wait), wait))
    }

    /// What limits see of a request.
    pub(super) fn head<'r, B>(&'r self, request: &'r Request<B>) -> Head<'r> {
        let mut head = Head::of(request);
        if self.paths == Paths::Matter {
            head.match_path(self.policy.case());
        }
        head.route = self.route.as_ref().and_then(|read| read(request.extensions()));
        head.token = self.token.as_ref();
        head.clock = self.clock.as_deref();
        self.find_client(&mut head);
        self.find_user(&mut head);
        head
    }

    /// Which limits apply, or why none is asked.
    pub(super) fn judge<'p, 's, B>(
        &'p self,
        request: &Request<B>,
        scratch: &'s mut Scratch,
    ) -> Judged<'p, 's> {
        let head = self.head(request);
        self.complain_of(&head);
        if self.skip.as_ref().is_some_and(|skip| skip(&head)) {
            return Judged::Free(head.found);
        }
        let refusal = match (&head.fault, self.policy.select(&head, scratch)) {
            (_, Selection::Forbidden(_)) => Refusal::Denied,
            (_, Selection::Free(_)) => return Judged::Free(head.found),
            (Some(fault), _) => Refusal::Unreadable(fault.as_error()),
            (None, Selection::Refused(refused)) => Refusal::Keyless(refused),
            (None, Selection::Limits(matches)) if matches.is_empty() => {
                return Judged::Free(head.found);
            }
            (None, Selection::Limits(matches)) => {
                return Judged::Limits(matches, head.found);
            }
        };
        Judged::Refused(self.refuse(request, &refusal, None))
    }

    /// The answer to a request that a limit refuses.
    pub(super) fn limited<B>(
        &self,
        request: &Request<B>,
        matches: Matches<'_, '_>,
        decision: &Decision<'_>,
    ) -> Response<Bytes> {
        self.refuse(request, &Refusal::Limited(decision), Some(matches))
    }

    /// The answer to a request whose limits the store could not be asked about. The store says in its
    /// own log why, once and not for every request.
    pub(super) fn unasked<B>(&self, request: &Request<B>, error: &StoreError) -> Response<Bytes> {
        self.refuse(request, &Refusal::Unasked(error), None)
    }

    fn refuse<B>(
        &self,
        request: &Request<B>,
        refusal: &Refusal<'_>,
        matches: Option<Matches<'_, '_>>,
    ) -> Response<Bytes> {
        let decisive = refusal.decisive().map(|answer| answer.limit());
        let refusing = matches.and_then(|matches| {
            let mut all = matches.iter();
            all.find(|matched| decisive.is_some_and(|limit| std::ptr::eq(limit, matched.limit)))
        });
        let own = Own::of(refusing.map(|matched| matched.spec));
        self.observe(&Outcome::Refused(refusal));
        let headers = request.headers();
        let response = self.responder.answer(self.terminology(), headers, *refusal, own);
        let mut response = match &self.refuse_with {
            Some(refuse) => refuse(&self.head(request), refusal, response),
            None => response,
        };
        nested::mark(request, &mut response);
        response
    }

    fn terminology(&self) -> &Terminology {
        self.terminology
            .get_or_init(|| Terminology::of(self.policy.limits().flat_map(LimitSpec::every_limit)))
    }

    /// Forgets what was written of limits that may now stand elsewhere, and what was made of the rules.
    pub(super) fn changed(&mut self) {
        self.terminology = OnceLock::new();
        self.plans = self.plans.as_ref().map(|plans| Arc::new(plans.anew()));
    }

    pub(super) fn observe(&self, outcome: &Outcome<'_>) {
        for observe in &self.observers {
            observe(outcome);
        }
    }

    fn find_client(&self, head: &mut Head<'_>) {
        head.client = Some(UNKNOWN);
        let Some(peer) = self.peer(head.extensions()) else {
            return;
        };
        head.trail = Some(Trail::Absent);
        match self.clients.rule.client(peer, head.headers()) {
            Ok(client) => {
                head.trail = Some(client.trail());
                head.client = Some(client.address().unwrap_or(UNKNOWN));
                head.peer_is_trusted = client.peer_is_trusted();
                head.found = Some(client);
            }
            Err(error) => head.fault = Some(Fault::Client(error)),
        }
    }

    /// Puts the client beside a request that passes, if the layer was told to.
    pub(super) fn attach_client<B>(&self, request: &mut Request<B>, client: Option<Client>) {
        if self.attach == Attach::Nothing {
            return;
        }
        match client {
            Some(client) => request.extensions_mut().insert(client),
            // Whatever another layer may have thought is not what this one did.
            None => request.extensions_mut().remove::<Client>(),
        };
    }

    fn peer(&self, extensions: &Extensions) -> Option<Peer> {
        let told = self.peers.iter().find_map(|read| read(extensions));
        told.or_else(|| extensions.get::<Peer>().copied())
            .or_else(|| extensions.get::<SocketAddr>().map(|socket| (*socket).into()))
    }

    fn find_user<'r>(&self, head: &mut Head<'r>) {
        head.user = if let Some(key) = &self.user {
            key(head).map(|user| Cow::Owned(user.into_bytes()))
        } else if let Some(User(user)) = head.extensions().get() {
            Some(Cow::Borrowed(user.as_bytes()))
        } else {
            let vouched = self.clients.user_header.as_ref().filter(|_| head.peer_is_trusted);
            vouched.and_then(|name| {
                let mut lines = head.headers().get_all(name).iter();
                let line = lines.next().filter(|_| lines.next().is_none())?;
                Some(Cow::Borrowed(line.as_bytes().trim_ascii()))
            })
        };
    }

    /// Says in the log when clients cannot be told apart as they could be.
    fn complain_of(&self, head: &Head<'_>) {
        let (complaint, what) = match head.trail {
            None => (
                &self.complaints.no_peer,
                "the address of the peer is not known, so all clients share one budget; put it \
                 into the request's extensions or say where it is with `RateLimitLayer::peer`",
            ),
            Some(Trail::Ignored) => (
                &self.complaints.ignored,
                "headers that name a client came from a peer that is not trusted and were not \
                 read; if that peer is your proxy, set `trusted_proxies` in [client] to its \
                 addresses, since until then all clients behind it share one budget",
            ),
            Some(Trail::Stopped) => (
                &self.complaints.stopped,
                "a trusted proxy named a client that is no address; the last address before it \
                 counts as the client",
            ),
            Some(Trail::Short) => (
                &self.complaints.short,
                "a request came through fewer proxies than `trusted_hops` in [client] says; its \
                 peer counts as the client",
            ),
            Some(_) => return,
        };
        match complaint.occasion() {
            Some(times) if head.trail.is_none() => error!(times, "{what}"),
            Some(times) => warn!(times, "{what}"),
            None => {}
        }
    }
}

/// What is to be told with an answer that passes, and the rules by which it is told.
pub(super) struct Telling {
    rules: Arc<Rules>,
    told: Told,
}

impl Telling {
    /// `None` when there is nothing to tell. Boxed, since it is moved with every request and answer.
    pub(super) fn of(
        rules: &Arc<Rules>,
        request: &HeaderMap,
        decision: &Decision<'_>,
    ) -> Option<Box<Telling>> {
        let told = rules.responder.told(rules.terminology(), request, decision)?;
        Some(Box::new(Telling { rules: rules.clone(), told }))
    }

    pub(super) fn write<B>(&self, response: &mut Response<B>) {
        self.rules.responder.write(&self.told, self.rules.terminology(), response);
    }
}

/// Reads a route from an extension.
pub(super) fn route_reader<T: Send + Sync + 'static>(read: fn(&T) -> &str) -> Arc<ReadRoute> {
    Arc::new(move |extensions: &Extensions| extensions.get::<T>().map(read))
}

fn cost_header(measure: &Measure) -> Option<HeaderName> {
    match measure {
        Measure::Header(name) => name.parse().ok(),
        _ => None,
    }
}

/// Whether what is charged may not be what stays charged.
fn may_change(spec: &LimitSpec) -> bool {
    spec.counted() != Count::All || spec.settlement().is_some()
}

fn has_queue(spec: &LimitSpec) -> bool {
    let queue = |limit: &Limit| match limit.algorithm() {
        Algorithm::LeakyBucket(Queue::Length(length)) => length > 0,
        Algorithm::LeakyBucket(Queue::MaxWait(span)) => !span.is_zero(),
        _ => false,
    };
    spec.every_limit().any(queue)
}
