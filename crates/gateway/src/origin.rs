//! Where admitted requests go: the innermost service, behind the limits.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::HeaderName;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::Either;
use tollgate_http::client::{Client, Peer};
use tollgate_http::grpc;
use tollgate_policy::RequestPath;
use tower_service::Service;

use crate::body::{AnswerBody, ClientBody, Whole, whole};
use crate::echo::echo;
use crate::forwarding::{self, Trust};
use crate::framing::Fault;
use crate::metrics::Metrics;
use crate::noise::{Event, Noise};
use crate::problem::{grpc_problem, problem};
use crate::route::{Route, Routes, Way};
use crate::tunnel::Switch;

/// Sends requests on in their one normal form, with what the upstream is told of the client.
#[derive(Clone)]
pub(crate) struct Origin(Arc<Ways>);

/// What an origin knows.
pub(crate) struct Ways {
    pub(crate) routes: Routes,
    /// Headers by which only a trusted proxy may say who is asking.
    pub(crate) identity: Arc<[HeaderName]>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) noise: Arc<Noise>,
}

impl From<Ways> for Origin {
    fn from(ways: Ways) -> Origin {
        Origin(Arc::new(ways))
    }
}

impl Ways {
    async fn answer(&self, mut request: Request<ClientBody>) -> Response<AnswerBody> {
        let call = grpc::content_type(request.headers()).cloned();
        let answer = match self.prepare(&mut request) {
            Ok(Target::Server) => Ok(nothing().map(Either::Left)),
            Ok(Target::Path) => match self.routes.send(&mut request) {
                Ok(Way::Echo) => Box::pin(echo(request)).await.map(|told| told.map(Either::Left)),
                Ok(Way::Upstream(route)) => {
                    let answer = self.ask(route, request).await;
                    match &answer {
                        Ok(response) => self.metrics.asked(Some(response.status())),
                        // It was not asked.
                        Err(fault) if fault.later.is_some() => {}
                        Err(_) => self.metrics.asked(None),
                    }
                    answer
                }
                Err(fault) => Err(fault),
            },
            Err(fault) => Err(fault),
        };
        answer.unwrap_or_else(|fault| {
            if fault.status.is_server_error() {
                let cause = fault.cause.as_deref().unwrap_or(&fault.detail);
                let event = match fault.later {
                    None => Event::UpstreamFailed,
                    Some(_) => Event::UpstreamSpared,
                };
                self.noise.tell(event, &cause);
            }
            let told = match call {
                Some(content_type) => grpc_problem(&fault, content_type),
                None => problem(fault),
            };
            told.map(Either::Left)
        })
    }

    async fn ask(
        &self,
        route: &Route,
        mut request: Request<ClientBody>,
    ) -> Result<Response<AnswerBody>, Fault> {
        request.body_mut().pass_trailers(self.identity.clone());
        let switch: Option<Switch> = request.extensions_mut().remove();
        let switch =
            switch.filter(|switch| route.pool.can_switch() && switch.is_for(&route.upgrades));
        // Boxed: where there is no gate, a request is no larger for it.
        let mut leave = match route.pool.gate() {
            None => None,
            Some(gate) => Some(Box::pin(gate.enter()).await?),
        };
        let answer = route.pool.ask(request, route.silence, switch, leave.as_deref_mut()).await;
        if let Some(leave) = leave {
            leave.ended(&answer);
        }
        let mut response = answer?;
        route.answered(&mut response);
        Ok(response)
    }

    fn prepare(&self, request: &mut Request<ClientBody>) -> Result<Target, Fault> {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        let normal = match RequestPath::parse(target.as_bytes()) {
            Ok(path) if path.is_verbatim() => None,
            Ok(path) => Some(Uri::try_from(&*path.target())),
            Err(error) if error.is_asterisk() => return Ok(Target::Server),
            Err(_) => return Err(Fault::malformed("expected a path")),
        };
        if let Some(normal) = normal {
            *request.uri_mut() = normal.map_err(|_| Fault::malformed("expected a path"))?;
        }
        let client: Option<&Client> = request.extensions().get();
        let trust = match client.is_some_and(Client::peer_is_trusted) {
            true => Trust::Proxy,
            false => Trust::Nobody,
        };
        let transport = request.extensions().get().copied().unwrap_or_default();
        if let Some(peer) = request.extensions().get::<Peer>().copied() {
            forwarding::tell(request.headers_mut(), peer, transport, trust, &self.identity);
        }
        Ok(Target::Path)
    }
}

enum Target {
    Path,
    /// `OPTIONS *` asks about the server, and we are it.
    Server,
}

fn nothing() -> Response<Whole> {
    let mut response = Response::new(whole(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

impl Service<Request<ClientBody>> for Origin {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        let ways = self.0.clone();
        Box::pin(async move { Ok(ways.answer(request).await) })
    }
}
