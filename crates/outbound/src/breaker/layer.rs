//! A breaker in front of a tower service.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::classify::{ByStatus, Classify};
use super::keyed::{ByHost, Keyed};
use super::pass::Pass;
use super::protection::Protection;
use crate::error::{CallError, Error};

/// Puts [`Breakers`](super::Breakers) or an [`AdaptiveThrottle`](super::AdaptiveThrottle) in front of a
/// service. A call that is kept back does not reach it and fails with [`CallError::NotMade`].
///
/// A call lasts from `call` to the answer's head; a body that ends badly is not seen. A call that is
/// dropped before its answer, or panics, says nothing of the place and gives its permit back. For
/// calls that may hang there has to be a timeout inside, so that missing the deadline is a fault.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::convert::Infallible;
/// use tollgate_outbound::breaker::{Breaker, BreakerLayer, Breakers};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let down = service_fn(async |_: http::Request<()>| {
///     Ok::<_, Infallible>(http::Response::builder().status(503).body(()).unwrap())
/// });
/// let breakers = Breakers::new(Breaker::for_services().opens_after(1));
/// let client = BreakerLayer::new(breakers).layer(down);
/// let request = || http::Request::get("http://example.com/").body(()).unwrap();
/// assert_eq!(client.clone().oneshot(request()).await?.status(), 503);
/// let refused = client.oneshot(request()).await.unwrap_err();
/// assert!(refused.to_string().starts_with("the circuit is open"));
/// # Ok(())
/// # }
/// ```
///
/// Without HTTP, two functions say where a call goes and what came of it:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use std::io;
/// use tollgate_outbound::breaker::{Breaker, BreakerLayer, Breakers, Report};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let query = service_fn(async |sql: String| Err::<u32, _>(io::Error::other(sql)));
/// let database = BreakerLayer::new(Breakers::new(Breaker::for_services()))
///     .keyed_by(|_: &String| "database".to_owned())
///     .classified_by(|result: Result<&u32, &io::Error>| match result {
///         Ok(_) => Report::Good,
///         Err(_) => Report::Fault,
///     })
///     .layer(query);
/// assert!(database.oneshot("SELECT 1".to_owned()).await.is_err());
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct BreakerLayer<K = ByHost, C = ByStatus> {
    protection: Protection,
    keyed: K,
    classify: C,
}

impl BreakerLayer {
    /// For HTTP clients: by [host](ByHost) and [status](ByStatus).
    #[must_use]
    pub fn new(protection: impl Into<Protection>) -> BreakerLayer {
        let protection = protection.into();
        BreakerLayer { classify: ByStatus::of(&protection), protection, keyed: ByHost }
    }
}

impl<K, C> BreakerLayer<K, C> {
    /// Tells the place that a request is for otherwise, by a function that returns a `String` or by
    /// any [`Keyed`].
    #[must_use]
    pub fn keyed_by<N>(self, keyed: N) -> BreakerLayer<N, C> {
        BreakerLayer { protection: self.protection, keyed, classify: self.classify }
    }

    /// Tells what a result says of the place otherwise, by a function or any [`Classify`].
    #[must_use]
    pub fn classified_by<D>(self, classify: D) -> BreakerLayer<K, D> {
        BreakerLayer { protection: self.protection, keyed: self.keyed, classify }
    }
}

impl<S, K: Clone, C: Clone> Layer<S> for BreakerLayer<K, C> {
    type Service = BreakerService<S, K, C>;

    fn layer(&self, inner: S) -> BreakerService<S, K, C> {
        BreakerService { inner, layer: self.clone() }
    }
}

/// A service behind a breaker; made by [`BreakerLayer`].
#[derive(Clone, Debug)]
pub struct BreakerService<S, K = ByHost, C = ByStatus> {
    inner: S,
    layer: BreakerLayer<K, C>,
}

impl<S, R, K, C> Service<R> for BreakerService<S, K, C>
where
    S: Service<R>,
    K: Keyed<R>,
    C: Classify<S::Response, S::Error> + Clone,
{
    type Response = S::Response;
    type Error = CallError<S::Error>;
    type Future = Calling<S::Future, C>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), CallError<S::Error>>> {
        self.inner.poll_ready(context).map_err(CallError::Failed)
    }

    fn call(&mut self, request: R) -> Calling<S::Future, C> {
        let BreakerLayer { protection, keyed, classify } = &self.layer;
        let state = match protection.enter(&keyed.key(&request)) {
            // The service that was polled ready is the one to call.
            Ok(pass) => {
                State::Made { call: self.inner.call(request), owed: Some((pass, classify.clone())) }
            }
            Err(error) => State::NotMade { error: Some(error) },
        };
        Calling { state }
    }
}

pin_project! {
    /// A call through a [`BreakerService`].
    #[derive(Debug)]
    pub struct Calling<F, C> {
        #[pin]
        state: State<F, C>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = StateProjection]
    enum State<F, C> {
        NotMade { error: Option<Error> },
        Made {
            #[pin]
            call: F,
            owed: Option<(Pass, C)>,
        },
    }
}

impl<F, C, T, E> Future for Calling<F, C>
where
    F: Future<Output = Result<T, E>>,
    C: Classify<T, E>,
{
    type Output = Result<T, CallError<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::NotMade { error } => {
                let error = error.take().expect("a future is not polled after it is done");
                Poll::Ready(Err(CallError::NotMade(error)))
            }
            StateProjection::Made { call, owed } => {
                let result = ready!(call.poll(context));
                if let Some((pass, classify)) = owed.take() {
                    pass.end(classify.classify(result.as_ref()));
                }
                Poll::Ready(result.map_err(CallError::Failed))
            }
        }
    }
}
