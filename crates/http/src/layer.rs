//! The tower layer: limits in front of any service.

mod answering;
mod asker;
mod body;
mod charged;
mod complaint;
mod head;
mod line;
mod meter;
mod nested;
mod outcome;
mod peek;
mod plans;
mod rules;
mod service;
mod settling;
mod told;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use tollgate_core::Store;
use tollgate_policy::Policy;
use tower_layer::Layer;

use crate::answer::{Refusal, Responder};
use rules::{Nesting, Rules};

pub use answering::Answering;
pub use asker::User;
pub use body::Body;
pub use head::Head;
pub use outcome::Outcome;
pub use peek::Preview;
pub use service::RateLimit;
pub use told::{Spent, Untold};

/// Limits in front of any service: axum, tonic, hyper, tower.
///
/// The limits are those of a [`Policy`], made by code or read from a file; the counts are in the
/// store, which several layers may share (limits of one name and period are then one). A request is
/// charged on all its limits or on none; one that is refused never reaches the service behind, and
/// one that passes reaches it exactly as it came.
///
/// *Waiting.* A limit with a queue ([`Algorithm::LeakyBucket`](tollgate_core::Algorithm)) holds a
/// request that passes until its turn has come, in their order and never early; with several queues
/// for the longest wait. The service is made ready only then. A client that leaves meanwhile gives its
/// charges back, as far as that breaks no limit: the last in a queue frees its place, the place of any
/// other passes unused. Only in a tokio runtime (with timers) can requests wait; elsewhere, what would
/// have to is refused.
///
/// *Costs known only afterwards.* A limit with a [`Settlement`](tollgate_policy::Settlement) charges its
/// estimate first, and is settled once by what the answer tells: a header, a number in its JSON (of
/// server-sent events the last one that has it), or how much there is of it. The body passes as it
/// comes; at most its first 16 MiB are looked at and nothing is kept. A body that is dropped midway
/// costs what was sent. Where the answer tells nothing readable the estimate stays, and so it does
/// after an error of the service, a panic, and a client that left before the answer: whatever it was
/// has been done. [`Spent`], said by the service, goes before all of these. Whoever is asked for JSON
/// is asked for it whole and uncompressed: `Accept-Encoding` becomes `identity`, and `Range` is taken
/// off.
///
/// *What stays charged.* The charge is made before the service is called, and stays whatever becomes
/// of the call: an error of the service, a panic, a client that goes away. Only a limit that counts
/// failures or successes alone gets its charge back, by the status of the answer, when that is of
/// the other kind; an error instead of an answer keeps it. So of many wrong logins at once no more
/// than the limit reach the service. A gRPC answer that fails in its headers counts by the HTTP
/// status its code stands for (UNAUTHENTICATED as 401, and so on); one that fails only in its
/// trailers has been 200 by then. What a layer inside this one refuses stays charged here, unless
/// [`RateLimitLayer::refund_inner_refusals`] is said.
///
/// *Who asks.* The peer's address is what the server put into the request's extensions: a
/// [`Peer`](crate::client::Peer), a `SocketAddr`, or what [`RateLimitLayer::peer`] reads. Where there
/// is none all clients share one budget and an error is logged.
///
/// *If the store cannot be asked*, each limit has said what becomes of the request
/// ([`OnError`](tollgate_core::OnError)): this instance decides by its share, or it passes and no
/// numbers are told, or it is answered 503 ([`Refusal::Unasked`]), never 429.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_core::{Limit, Store};
/// use tollgate_http::RateLimitLayer;
/// use tollgate_policy::{LimitSpec, Policy};
///
/// # fn layer(store: Arc<dyn Store>) -> Result<RateLimitLayer, Box<dyn std::error::Error>> {
/// let limit = LimitSpec::new(Limit::new("per-client", "100 per minute".parse()?)?);
/// let layer = RateLimitLayer::new(store, Policy::builder().limit(limit).build()?);
/// // axum: .layer(layer.peer(|info: &ConnectInfo<SocketAddr>| info.0))
/// # Ok(layer)
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct RateLimitLayer {
    rules: Arc<Rules>,
}

impl RateLimitLayer {
    /// Limits of `policy`, counted in `store`.
    pub fn new(store: Arc<dyn Store>, policy: Policy) -> RateLimitLayer {
        RateLimitLayer { rules: Arc::new(Rules::new(store, policy)) }
    }

    /// How answers are given.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use http::Request;
    /// # use tollgate_core::{Limit, Quota};
    /// use tollgate_http::{Dialect, Dialects, RateLimitLayer, Responder};
    /// # use tollgate_policy::{LimitSpec, Policy};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(tollgate_memory::Memory::default());
    /// let limit = LimitSpec::new(Limit::new("api", Quota::per_hour(60))?);
    /// let policy = Policy::builder().limit(limit).build()?;
    /// let dialects = Dialects::new([Dialect::XRateLimitDelta])?;
    /// let layer =
    ///     RateLimitLayer::new(store, policy).responder(Responder::default().dialects(dialects));
    /// # let request = Request::new(());
    /// let headers = layer.peek(&request, |preview| preview.response.headers().clone()).await?;
    /// assert_eq!(headers["x-ratelimit-remaining"], "59");
    /// assert!(!headers.contains_key("ratelimit"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn responder(self, responder: Responder) -> RateLimitLayer {
        self.with(|rules| rules.set_responder(responder))
    }

    /// Gives the charge back when a layer of this kind inside this one refuses the request, so that a
    /// refusal costs nothing whoever refuses; this layer then adds no headers. A 429 of anybody else
    /// keeps the charge, and so does a bucket what has leaked meanwhile. It costs a boxed future per
    /// request and a clone of the service also in front of a store in this process; limits in one
    /// policy are charged together without it.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use std::sync::Arc;
    /// # use axum::body::Body;
    /// use http::{Request, Response};
    /// use tollgate_core::{Limit, Quota};
    /// use tollgate_http::RateLimitLayer;
    /// use tollgate_policy::{LimitSpec, Policy};
    /// use tower::{Layer, ServiceExt, service_fn};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Arc::new(tollgate_memory::Memory::default());
    /// let layer = |name, quota| {
    ///     let limit = LimitSpec::new(Limit::new(name, quota).unwrap());
    ///     RateLimitLayer::new(store.clone(), Policy::builder().limit(limit).build().unwrap())
    /// };
    /// let (all, login) = (layer("all", Quota::per_hour(5)), layer("login", Quota::per_hour(1)));
    /// let all = all.refund_inner_refusals();
    /// let service = all.layer(login.layer(service_fn(async |_| {
    ///     Ok::<_, Infallible>(Response::new(Body::empty()))
    /// })));
    /// for _ in 0..5 {
    ///     service.clone().oneshot(Request::new(Body::empty())).await?;
    /// }
    /// let next = Request::new(());
    /// let left = all.peek(&next, |preview| preview.decision.map(|d| d.remaining())).await?;
    /// assert_eq!(left, Some(3)); // without the one that passed, and the next
    /// # Ok(())
    /// # }
    /// ```
    pub fn refund_inner_refusals(self) -> RateLimitLayer {
        self.with(|rules| rules.nesting = Nesting::Refunded)
    }

    /// The policy as it is asked: with the IPv6 prefix of the clients, if they have one.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.rules.policy
    }

    /// Lets the requests pass for which the function says so, neither charged nor told anything.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// # use std::sync::Arc;
    /// # use axum::body::Body;
    /// use http::{Request, Response, StatusCode};
    /// use tollgate_core::{Limit, Quota};
    /// use tollgate_http::RateLimitLayer;
    /// use tollgate_policy::{LimitSpec, Policy};
    /// use tower::{Layer, ServiceExt, service_fn};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(tollgate_memory::Memory::default());
    /// let nothing = LimitSpec::new(Limit::new("closed", Quota::per_hour(0))?);
    /// let policy = Policy::builder().limit(nothing).build()?;
    /// let service = RateLimitLayer::new(store, policy)
    ///     .skip(|head| head.uri().path() == "/healthz")
    ///     .layer(service_fn(async |_| Ok::<_, Infallible>(Response::new(Body::empty()))));
    /// let ask = async |path: &str| {
    ///     let request = Request::get(path).body(Body::empty()).unwrap();
    ///     service.clone().oneshot(request).await.unwrap().status()
    /// };
    /// assert_eq!(ask("/healthz").await, StatusCode::OK);
    /// assert_eq!(ask("/").await, StatusCode::TOO_MANY_REQUESTS);
    /// # Ok(())
    /// # }
    /// ```
    pub fn skip(self, skip: impl Fn(&Head<'_>) -> bool + Send + Sync + 'static) -> RateLimitLayer {
        self.with(|rules| rules.skip = Some(Arc::new(skip)))
    }

    /// Has the last word on the answer to a refused request. The answer it is given is complete, and
    /// with another body its headers still hold.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use http::Request;
    /// use http::header::LOCATION;
    /// use http::{HeaderValue, StatusCode};
    /// use tollgate_core::{Limit, Quota};
    /// use tollgate_http::RateLimitLayer;
    /// use tollgate_policy::{LimitSpec, Policy};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(tollgate_memory::Memory::default());
    /// let nothing = LimitSpec::new(Limit::new("closed", Quota::per_hour(0))?);
    /// let policy = Policy::builder().limit(nothing).build()?;
    /// let layer = RateLimitLayer::new(store, policy).refuse_with(|_, refusal, mut answer| {
    ///     if refusal.retry_after().is_none() {
    ///         *answer.status_mut() = StatusCode::SEE_OTHER;
    ///         answer.headers_mut().insert(LOCATION, HeaderValue::from_static("/closed"));
    ///     }
    ///     answer
    /// });
    /// # let request = Request::new(());
    /// let answer = layer.peek(&request, |preview| preview.response.clone()).await?;
    /// assert_eq!(answer.headers()[LOCATION], "/closed");
    /// # Ok(())
    /// # }
    /// ```
    pub fn refuse_with(
        self,
        refuse: impl Fn(&Head<'_>, &Refusal<'_>, Response<Bytes>) -> Response<Bytes>
        + Send
        + Sync
        + 'static,
    ) -> RateLimitLayer {
        self.with(|rules| rules.refuse_with = Some(Arc::new(refuse)))
    }

    /// Tells what becomes of each request, for metrics and logs. Called while the request waits.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// # use axum::body::Body;
    /// use http::{Request, Response};
    /// use tollgate_core::{Limit, Quota};
    /// use tollgate_http::{Outcome, RateLimitLayer};
    /// use tollgate_policy::{LimitSpec, Policy};
    /// use tower::{Layer, ServiceExt, service_fn};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(tollgate_memory::Memory::default());
    /// let limit = LimitSpec::new(Limit::new("api", Quota::per_hour(1))?);
    /// let policy = Policy::builder().limit(limit).build()?;
    /// let refused = Arc::new(AtomicU64::new(0));
    /// let counted = refused.clone();
    /// let service = RateLimitLayer::new(store, policy)
    ///     .observe(move |outcome| {
    ///         if let Outcome::Refused(_) = outcome {
    ///             counted.fetch_add(1, Ordering::Relaxed);
    ///         }
    ///     })
    ///     .layer(service_fn(async |_| Ok::<_, Infallible>(Response::new(Body::empty()))));
    /// for _ in 0..3 {
    ///     service.clone().oneshot(Request::new(Body::empty())).await?;
    /// }
    /// assert_eq!(refused.load(Ordering::Relaxed), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn observe(self, observe: impl Fn(&Outcome<'_>) + Send + Sync + 'static) -> RateLimitLayer {
        self.with(|rules| rules.observers.push(Arc::new(observe)))
    }

    fn with(mut self, change: impl FnOnce(&mut Rules)) -> RateLimitLayer {
        let rules = Arc::make_mut(&mut self.rules);
        change(rules);
        rules.changed();
        self
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        RateLimit::new(inner, self.rules.clone())
    }
}

impl fmt::Debug for RateLimitLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer").finish_non_exhaustive()
    }
}
