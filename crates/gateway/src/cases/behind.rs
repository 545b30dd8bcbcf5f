//! What stands behind the limits in a test: the routes of the file, and a service that says what a
//! step tells it to.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use tollgate_http::Head;
use tollgate_policy::Case;
use tower_service::Service;

use super::step::Answer;
use crate::settings::{Destinations, Way};

/// The routes of a file, and behind them one answer.
#[derive(Clone)]
pub(super) struct Behind {
    pub(super) destinations: Arc<Destinations>,
    pub(super) case: Case,
    pub(super) answer: Answer,
}

/// The upstream that would have answered.
#[derive(Clone)]
pub(super) struct AnsweredBy(pub(super) String);

impl Service<Request<()>> for Behind {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        let mut response = Response::new(Full::new(self.answer.body.clone()));
        *response.status_mut() = self.answer.status;
        response.headers_mut().clone_from(&self.answer.headers);
        let head = Head::seen(&request, self.case);
        match self.destinations.way(&head, self.case) {
            Way::Upstream { name, .. } => {
                response.extensions_mut().insert(AnsweredBy(name.to_owned()));
            }
            Way::Echo => {}
            Way::Nowhere => {
                response = Response::new(Full::default());
                *response.status_mut() = StatusCode::NOT_FOUND;
            }
        }
        ready(Ok(response))
    }
}
