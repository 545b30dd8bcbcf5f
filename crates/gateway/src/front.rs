//! What every request meets first and every answer last.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response, Version};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::Instant;
use tollgate_http::client::Peer;
use tower_service::Service;

use crate::admission::Admission;
use crate::body::{AnswerBody, BodyLimits, BoxError, ClientBody};
use crate::framing::Fault;
use crate::metrics::Metrics;
use crate::problem::problem;

/// What stands behind a front: any service that has an answer to every request.
pub(crate) trait Behind:
    Service<Request<ClientBody>, Response = Response<Self::Body>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
    type Body: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B> Behind for S
where
    S: Service<Request<ClientBody>, Response = Response<B>, Error = Infallible, Future: Send>,
    S: Clone + Send + Sync + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Body = B;
}

/// Admits requests, hands them to the limits and what is behind them, and takes note of the answers.
pub(crate) struct Front<S> {
    pub(crate) behind: S,
    pub(crate) admission: Admission,
    pub(crate) body: BodyLimits,
    /// `None` for answers that are no traffic.
    pub(crate) metrics: Option<Arc<Metrics>>,
}

impl<S: Behind> Front<S> {
    /// Answers one request of `peer`.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Response<AnswerBody> {
        let (since, version) = (Instant::now(), request.version());
        let response = match self.admit(request, peer) {
            Err(fault) => refuse(fault, version),
            Ok(request) => {
                let mut behind = self.behind.clone();
                let Ok(()) = std::future::poll_fn(|cx| behind.poll_ready(cx)).await;
                let Ok(response) = behind.call(request).await;
                response.map(|body| body.map_err(Into::into).boxed_unsync())
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
        peer: SocketAddr,
    ) -> Result<Request<ClientBody>, Fault> {
        let (mut parts, body) = request.into_parts();
        self.admission.admit(&mut parts)?;
        parts.extensions.insert(Peer::from(peer));
        Ok(Request::from_parts(parts, ClientBody::new(body, self.body)?))
    }
}

/// Answers a request that is not admitted, and ends the connection behind it: who sends one such
/// request may read the next one in another way than we do.
pub(crate) fn refuse(fault: Fault, version: Version) -> Response<AnswerBody> {
    let mut response = problem(fault);
    if version != Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
