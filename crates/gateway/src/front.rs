//! What every request meets first and every answer last.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response, Version};
use http_body::Body;
use http_body_util::Either;
use hyper::body::Incoming;
use tokio::time::Instant;
use tower_service::Service;

use crate::admission::Admission;
use crate::body::{BodyLimits, BoxError, ClientBody, Ends, Whole};
use crate::connection::ConnectionLimits;
use crate::framing::Fault;
use crate::metrics::Metrics;
use crate::noise::Noise;
use crate::opening::{Caller, Opening, Transport, Unopened};
use crate::problem::problem;

/// What stands behind a front: any service that has an answer to every request.
pub(crate) trait Behind:
    Service<Request<ClientBody>, Response = Response<Self::Body>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
    type Body: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static;
}

impl<S, B> Behind for S
where
    S: Service<Request<ClientBody>, Response = Response<B>, Error = Infallible, Future: Send>,
    S: Clone + Send + Sync + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    type Body = B;
}

/// What is in force, and may be replaced while requests are answered: each meets one face, from its
/// head to the end of its answer.
pub(crate) struct Front<S>(ArcSwap<Face<S>>);

impl<S: Behind> Front<S> {
    pub(crate) fn new(face: Face<S>) -> Front<S> {
        Front(ArcSwap::from_pointee(face))
    }

    /// Puts another face in the place of what is in force. What has begun ends under the old one.
    pub(crate) fn replace(&self, face: Face<S>) {
        self.0.store(Arc::new(face));
    }

    /// What a new connection may cost.
    pub(crate) fn connection(&self) -> ConnectionLimits {
        self.0.load().connection
    }

    /// How a new connection is opened.
    pub(crate) fn opening(&self) -> Arc<Opening> {
        self.0.load().opening.clone()
    }

    /// Takes note of a connection that was closed before HTTP began.
    pub(crate) fn unopened(&self, why: &Unopened, noise: &Noise) {
        if let Some(metrics) = &self.0.load().metrics {
            metrics.unopened(why);
        }
        noise.tell_unopened(why);
    }

    /// How long what is in flight is waited for, once the gateway is told to stop.
    pub(crate) fn grace(&self) -> Duration {
        self.0.load().grace
    }

    /// Answers one request of `caller`.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        caller: &Caller,
    ) -> Answer<S::Body> {
        self.0.load_full().answer(request, caller).await
    }
}

/// An answer of the front itself, or of what is behind it.
pub(crate) type Answer<B> = Response<Either<Whole, B>>;

/// Admits requests, hands them to the limits and what is behind them, and takes note of the answers.
pub(crate) struct Face<S> {
    pub(crate) behind: S,
    pub(crate) admission: Admission,
    pub(crate) body: BodyLimits,
    pub(crate) connection: ConnectionLimits,
    pub(crate) opening: Arc<Opening>,
    pub(crate) grace: Duration,
    /// `None` for answers that are no traffic.
    pub(crate) metrics: Option<Arc<Metrics>>,
}

impl<S: Behind> Face<S> {
    async fn answer(&self, request: Request<Incoming>, caller: &Caller) -> Answer<S::Body> {
        let (since, version) = (Instant::now(), request.version());
        let response = match self.admit(request, caller) {
            Err(fault) => refuse(fault, version),
            Ok(request) => {
                let mut behind = self.behind.clone();
                let Ok(()) = std::future::poll_fn(|cx| behind.poll_ready(cx)).await;
                let Ok(response) = behind.call(request).await;
                response.map(Either::Right)
            }
        };
        if let Some(metrics) = &self.metrics {
            metrics.answered(response.status(), since.elapsed());
        }
        response
    }

    fn admit(
        &self,
        request: Request<Incoming>,
        caller: &Caller,
    ) -> Result<Request<ClientBody>, Fault> {
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(caller.peer);
        if caller.transport != Transport::Clear {
            parts.extensions.insert(caller.transport);
        }
        if let Some(certificate) = &caller.certificate {
            parts.extensions.insert(certificate.clone());
        }
        self.admission.admit(&mut parts)?;
        let body = ClientBody::new(body, Ends::of(parts.version), self.body)?;
        Ok(Request::from_parts(parts, body))
    }
}

/// Answers a request that is not admitted, and ends the connection behind it: who sends one such
/// request may read the next one in another way than we do.
pub(crate) fn refuse<B>(fault: Fault, version: Version) -> Answer<B> {
    let mut response = problem(fault).map(Either::Left);
    if version != Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
