//! A request for the middlewares further in.

use http::{Extensions, HeaderMap, StatusCode};
use reqwest::{Request, Response};
use reqwest_middleware::Next;
use tollgate_outbound::{BoxError, Copies, Errand};

pub(crate) struct Letter<'c> {
    request: Option<Request>,
    extensions: &'c mut Extensions,
    next: Next<'c>,
}

impl<'c> Letter<'c> {
    pub(crate) fn new(
        request: Request,
        extensions: &'c mut Extensions,
        next: Next<'c>,
    ) -> Letter<'c> {
        Letter { request: Some(request), extensions, next }
    }
}

impl Errand for Letter<'_> {
    type Answer = Response;

    async fn send(&mut self, copies: Copies) -> Result<Response, BoxError> {
        let request = self.request.take().ok_or("the request was sent and cannot be sent again")?;
        if copies == Copies::Keep {
            self.request = request.try_clone();
        }
        Ok(self.next.clone().run(request, self.extensions).await?)
    }

    fn can_be_sent(&self) -> bool {
        self.request.is_some()
    }

    fn head(answer: &Response) -> (StatusCode, &HeaderMap) {
        (answer.status(), answer.headers())
    }
}
