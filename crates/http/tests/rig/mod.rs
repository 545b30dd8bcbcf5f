//! A layer over the reference store and a clock that is moved by hand.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of the rig")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tollgate_conformance::Reference;
use tollgate_core::{
    Algorithm, Anchor, Charge, Decision, Limit, LocalStore, ManualClock, Mode, OnError, Receipt,
    Reply, Span, Store, StoreError, Tick,
};
use tollgate_http::{Body, RateLimit, RateLimitLayer};
use tollgate_policy::{LimitSpec, Policy};
use tower::{Layer, Service, ServiceExt};

/// 2026-11-29 20:00:00 UTC, a whole minute.
pub const START: u64 = 1_796_068_800_000_000;

pub type Answer = Response<Full<Bytes>>;

/// A clock, a store on it, and how often the store was asked.
#[derive(Clone)]
pub struct Rig {
    pub clock: ManualClock,
    pub store: Arc<Counting>,
}

impl Rig {
    pub fn new() -> Rig {
        let clock = ManualClock::at(Tick::from_micros(START));
        let store = Counting { inner: Reference::new(clock.clone()), asked: AtomicUsize::new(0) };
        Rig { clock, store: Arc::new(store) }
    }

    pub fn layer(&self, limits: impl IntoIterator<Item = LimitSpec>) -> RateLimitLayer {
        let policy = limits.into_iter().fold(Policy::builder(), |policy, l| policy.limit(l));
        self.over(policy.build().unwrap())
    }

    pub fn over(&self, policy: Policy) -> RateLimitLayer {
        RateLimitLayer::new(self.store.clone(), policy)
    }

    pub fn advance_ms(&self, millis: u64) {
        self.clock.advance(Span::from_millis(millis));
    }

    pub fn asked(&self) -> usize {
        self.store.asked.load(Ordering::SeqCst)
    }
}

/// How the store of a rig is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    AtOnce,
    Awaited,
}

/// The reference store, counting decisions.
pub struct Counting {
    inner: Reference,
    asked: AtomicUsize,
}

impl Store for Counting {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        Reply::later(async move { Ok(self.decide_now(mode, charges)) })
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        Reply::later(async move {
            self.give_now(receipt, actual);
            Ok(())
        })
    }

    fn local(&self) -> Option<&dyn LocalStore> {
        (crate::STORE == Answers::AtOnce).then_some(self)
    }
}

impl LocalStore for Counting {
    fn decide_now<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.inner.decide_now(mode, charges)
    }

    fn decide_one<'l>(&self, mode: Mode, charge: &Charge<'l, '_>) -> Decision<'l> {
        self.decide_now(mode, std::slice::from_ref(charge))
    }

    fn give_now(&self, receipt: Receipt<'_>, actual: u64) {
        self.inner.give_now(receipt, actual);
    }
}

/// A store that is down.
pub struct Down;

impl Store for Down {
    fn decide<'a, 'l: 'a>(&'a self, _: Mode, _: &'a [Charge<'l, 'a>]) -> Reply<'a, Decision<'l>> {
        Reply::ready(Err(StoreError::unavailable("no route to it")))
    }

    fn give<'a>(&'a self, _: Receipt<'a>, _: u64) -> Reply<'a, ()> {
        Reply::ready(Err(StoreError::unavailable("no route to it")))
    }
}

/// A store whose server is down, so that each limit's own `on_error` decides: by a share among two
/// instances, not at all, or by an error.
pub struct Alone(pub Counting);

impl Store for Alone {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        let two = NonZeroU32::MIN.saturating_add(1);
        let mut answers = Vec::new();
        for charge in charges {
            let share = charge.limit.share(two);
            let now = Tick::from_micros(START);
            answers.push(match charge.limit.on_error() {
                OnError::Deny => return Down.decide(mode, charges),
                OnError::Allow => tollgate_core::Answer::unasked(charge.limit, charge.effect, now),
                OnError::Local => {
                    let decision = self.0.decide_one(mode, &Charge { limit: &share, ..*charge });
                    let answer = decision.into_answers().next().unwrap();
                    answer.for_whole(charge.limit, two)
                }
            });
        }
        Reply::ready(Ok(Decision::new(answers.into_iter().collect(), 1)))
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        Down.give(receipt, actual)
    }
}

pub fn limit(name: &str, quota: &str, algorithm: Algorithm) -> LimitSpec {
    let builder = Limit::builder(name, quota.parse().unwrap()).algorithm(algorithm);
    LimitSpec::new(builder.build().unwrap())
}

pub fn bucket(name: &str, quota: &str) -> LimitSpec {
    limit(name, quota, Algorithm::TokenBucket)
}

/// A fixed window that begins at whole periods.
pub fn window(name: &str, quota: &str) -> LimitSpec {
    limit(name, quota, Algorithm::FixedWindow(Anchor::Clock))
}

/// A request of 198.51.100.7, an uninteresting client.
pub fn request(method: &str, uri: &str) -> Request<()> {
    let mut request = Request::builder().method(method).uri(uri).body(()).unwrap();
    request.extensions_mut().insert(SocketAddr::from(([198, 51, 100, 7], 4711)));
    request
}

pub fn get() -> Request<()> {
    request("GET", "/")
}

pub fn with(mut request: Request<()>, name: &'static str, value: &str) -> Request<()> {
    request.headers_mut().append(name, value.parse().unwrap());
    request
}

/// A service that answers every request with a status, and counts them.
#[derive(Clone, Default)]
pub struct Behind(Arc<AtomicUsize>);

impl Behind {
    pub fn calls(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub fn limited(
        &self,
        layer: &RateLimitLayer,
        status: u16,
    ) -> RateLimit<
        impl Service<Request<()>, Response = Answer, Error = Infallible, Future: Send> + Clone + use<>,
    > {
        let calls = self.0.clone();
        layer.layer(tower::service_fn(move |_: Request<()>| {
            calls.fetch_add(1, Ordering::SeqCst);
            async move {
                let mut response = Response::new(Full::new(Bytes::from_static(b"behind")));
                *response.status_mut() = StatusCode::from_u16(status).unwrap();
                Ok(response)
            }
        }))
    }
}

/// The whole answer to a request to a service of this status behind the layer.
pub async fn ask(layer: &RateLimitLayer, status: u16, request: Request<()>) -> Told {
    let response = Behind::default().limited(layer, status).oneshot(request).await.unwrap();
    Told::of(response).await
}

/// An answer that has been read.
#[derive(Debug, PartialEq)]
pub struct Told {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

impl Told {
    pub async fn of(response: Response<Body<Full<Bytes>>>) -> Told {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Told {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    pub fn number(&self, header: &str) -> u64 {
        self.headers[header].to_str().unwrap().parse().unwrap()
    }

    pub fn text(&self, header: &str) -> &str {
        self.headers[header].to_str().unwrap()
    }
}
