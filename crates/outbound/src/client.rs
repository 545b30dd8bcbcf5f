//! A client that heeds what servers say of their limits.

mod body;
mod courier;
mod doubling;
mod elsewhere;
mod errand;
mod failure;
mod holds;
mod key;
mod known;
mod line;
mod lines;
mod patience;
mod unless;

use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use tollgate_core::Span;
use tower_layer::Layer;
use tower_service::Service;

pub use body::HeldBody;
pub use courier::Courier;
pub use errand::{Copies, Delivered, Errand};
pub use failure::{BoxError, Failure};
pub use holds::SharedHolds;

use crate::breaker::Breakers;
use crate::error::CallError;
use crate::retry::{Repeat, Retry};
use crate::throttle::Throttle;

/// A tower layer for clients over `http` requests, such as hyper-util's: keeps to what servers say of
/// their limits, and makes failed calls again where that is safe.
///
#[doc = include_str!("../docs/client.md")]
pub struct ClientLayer<R = Once> {
    courier: Courier,
    key: Arc<KeyOf>,
    repeat: Arc<RepeatOf>,
    tries: PhantomData<fn() -> R>,
}

type KeyOf = dyn Fn(&Parts) -> String + Send + Sync;
type RepeatOf = dyn Fn(&Parts) -> Repeat + Send + Sync;

/// Calls are made once; their bodies may be of any kind.
#[derive(Clone, Copy, Debug)]
pub enum Once {}

/// Calls may be made again, so their bodies are copied.
#[derive(Clone, Copy, Debug)]
pub enum Again {}

impl Default for ClientLayer {
    fn default() -> ClientLayer {
        ClientLayer::new()
    }
}

impl ClientLayer {
    /// Calls keyed by scheme, host and port, waits of 30 s at most, 1,024 keys, no tries again.
    #[must_use]
    pub fn new() -> ClientLayer {
        ClientLayer {
            courier: Courier::default(),
            key: Arc::new(key::origin),
            repeat: Arc::new(|_| Repeat::ByMethod),
            tries: PhantomData,
        }
    }

    /// Makes calls again that failed. The body of a request is then cloned for each try but the last,
    /// so it is one that can be; the bodies of those that must not be copied go without this.
    #[must_use]
    pub fn retry(self, retry: Retry) -> ClientLayer<Again> {
        let ClientLayer { courier, key, repeat, tries: _ } = self;
        ClientLayer { courier: courier.retry(retry), key, repeat, tries: PhantomData }
    }
}

impl<R> ClientLayer<R> {
    /// Whose limits a call is under, such as the host and the token it is made with. A server whose
    /// routes have limits of their own is best told apart by route.
    #[must_use]
    pub fn key(self, key: impl Fn(&Parts) -> String + Send + Sync + 'static) -> ClientLayer<R> {
        ClientLayer { key: Arc::new(key), ..self }
    }

    /// Which calls may be made twice, where the request has no [`Repeat`] among its extensions.
    #[must_use]
    pub fn repeat(
        self,
        repeat: impl Fn(&Parts) -> Repeat + Send + Sync + 'static,
    ) -> ClientLayer<R> {
        ClientLayer { repeat: Arc::new(repeat), ..self }
    }

    /// The longest that a call waits before a try because of what its server told; one that would wait
    /// longer fails at once, or as soon as that is known.
    #[must_use]
    pub fn longest_wait(self, longest: impl Into<Span>) -> ClientLayer<R> {
        self.map(|courier| courier.longest_wait(longest))
    }

    /// For how long what a server tells is believed. After that one call asks again.
    #[must_use]
    pub fn longest_hold(self, longest: impl Into<Span>) -> ClientLayer<R> {
        self.map(|courier| courier.longest_hold(longest))
    }

    /// How long a call may take in all, with its waits and tries, up to the head of its answer. A try
    /// that it ends is dropped: the error is then `Failed`, and its error an [`Error`](crate::Error) that is late.
    #[must_use]
    pub fn within(self, span: impl Into<Span>) -> ClientLayer<R> {
        self.map(|courier| courier.within(span))
    }

    /// How many keys are known at once; 0 is 1.
    #[must_use]
    pub fn keys(self, most: usize) -> ClientLayer<R> {
        self.map(|courier| courier.keys(most))
    }

    /// Shares what holds all calls with other processes.
    #[must_use]
    pub fn share_holds(self, holds: SharedHolds) -> ClientLayer<R> {
        self.map(|courier| courier.share_holds(holds))
    }

    /// Takes a permit of this throttle for each try, at cost 1 under the key of the call; it is held
    /// until the answer's body has ended or is dropped. What the server told is waited out before.
    ///
    /// The throttle bounds its waits itself; only [`within`](ClientLayer::within) bounds both.
    #[must_use]
    pub fn throttle(self, throttle: Throttle) -> ClientLayer<R> {
        self.map(|courier| courier.throttle(throttle))
    }

    /// Turns calls away that wait here when the circuit of their host opens, with an error that
    /// [is open](crate::Error::is_open), and tries no call again while it is.
    ///
    /// The circuits are those of a [`BreakerLayer`](crate::breaker::BreakerLayer) around this client: it
    /// asks them when a call comes, and hears what came of it. Where calls have a key of their own
    /// ([`ClientLayer::key`]), the circuit is that of the key without its scheme.
    #[must_use]
    pub fn circuits(self, breakers: Breakers) -> ClientLayer<R> {
        self.map(|courier| courier.circuits(breakers))
    }

    fn map(self, change: impl FnOnce(Courier) -> Courier) -> ClientLayer<R> {
        ClientLayer { courier: change(self.courier), ..self }
    }
}

impl<R> Clone for ClientLayer<R> {
    fn clone(&self) -> ClientLayer<R> {
        let (key, repeat) = (self.key.clone(), self.repeat.clone());
        ClientLayer { courier: self.courier.clone(), key, repeat, tries: PhantomData }
    }
}

impl<R> fmt::Debug for ClientLayer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientLayer").field("courier", &self.courier).finish_non_exhaustive()
    }
}

impl<S, R> Layer<S> for ClientLayer<R> {
    type Service = Client<S, R>;

    fn layer(&self, inner: S) -> Client<S, R> {
        Client { inner, layer: self.clone() }
    }
}

/// A client behind a [`ClientLayer`]. It is always ready; what it calls is made ready when a call has
/// its turn, so that no place in it is kept by those who wait.
#[derive(Clone, Debug)]
pub struct Client<S, R = Once> {
    inner: S,
    layer: ClientLayer<R>,
}

/// What a [`Client`] promises: an answer with a [`Told`](crate::Told) among its extensions.
type Promise<B> =
    Pin<Box<dyn Future<Output = Result<Response<HeldBody<B>>, CallError<Failure>>> + Send>>;

impl<S, B, A> Service<Request<B>> for Client<S, Once>
where
    S: Service<Request<B>, Response = Response<A>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Send + 'static,
    A: Send + 'static,
{
    type Response = Response<HeldBody<A>>;
    type Error = CallError<Failure>;
    type Future = Promise<A>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError<Failure>>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Promise<A> {
        self.promise(request, |_| None)
    }
}

impl<S, B, A> Service<Request<B>> for Client<S, Again>
where
    S: Service<Request<B>, Response = Response<A>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Clone + Send + 'static,
    A: Send + 'static,
{
    type Response = Response<HeldBody<A>>;
    type Error = CallError<Failure>;
    type Future = Promise<A>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError<Failure>>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Promise<A> {
        self.promise(request, |request| Some(request.clone()))
    }
}

impl<S: Clone, R> Client<S, R> {
    fn promise<B, A>(&self, request: Request<B>, copy: Copy<B>) -> Promise<A>
    where
        S: Service<Request<B>, Response = Response<A>> + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Send + 'static,
        A: Send + 'static,
    {
        let (parts, body) = request.into_parts();
        let key = (self.layer.key)(&parts);
        let told = parts.extensions.get::<Repeat>().copied();
        let repeat = told.unwrap_or_else(|| (self.layer.repeat)(&parts));
        let method = parts.method.clone();
        let request = Some(Request::from_parts(parts, body));
        let errand = Letter { inner: self.inner.clone(), request, copy };
        let courier = self.layer.courier.clone();
        Box::pin(async move {
            let Delivered { mut answer, told, permit } =
                courier.deliver(&key, &method, repeat, errand).await?;
            answer.extensions_mut().insert(told);
            Ok(answer.map(|body| HeldBody::new(body, permit)))
        })
    }
}

/// How a request is copied, if it can be.
type Copy<B> = fn(&Request<B>) -> Option<Request<B>>;

/// A request for a service.
struct Letter<S, B> {
    inner: S,
    request: Option<Request<B>>,
    copy: Copy<B>,
}

impl<S, B, A> Errand for Letter<S, B>
where
    S: Service<Request<B>, Response = Response<A>> + Clone + Send,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Send,
    A: Send,
{
    type Answer = Response<A>;

    async fn send(&mut self, copies: Copies) -> Result<Response<A>, BoxError> {
        // One that failed must not be asked again.
        let mut inner = self.inner.clone();
        poll_fn(|context| inner.poll_ready(context)).await.map_err(Into::into)?;
        let request = self.request.take().ok_or("the request was sent and cannot be sent again")?;
        if copies == Copies::Keep {
            self.request = (self.copy)(&request);
        }
        inner.call(request).await.map_err(Into::into)
    }

    fn can_be_sent(&self) -> bool {
        self.request.is_some()
    }

    fn head(answer: &Response<A>) -> (StatusCode, &HeaderMap) {
        (answer.status(), answer.headers())
    }
}

#[cfg(test)]
mod tests;
