//! The server behind the gateway, asked over HTTP/1.1.

use std::error::Error;
use std::future::Future;
use std::io;
use std::time::Duration;

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::uri::{Authority, Parts as UriParts, Scheme};
use http::{HeaderMap, Request, Response, StatusCode, Uri, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;

use crate::body::{AnswerBody, ClientBody, Upload, UpstreamBody};
use crate::framing::Fault;
use crate::hop;
use crate::problem::{BAD_GATEWAY, GATEWAY_TIMEOUT};

/// How long the upstream is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpstreamPatience {
    /// For a connection.
    pub(crate) connect: Duration,
    /// For the head of an answer once the request has been sent, and for each further part of either.
    pub(crate) answer: Duration,
    /// How long a connection without a request is kept.
    pub(crate) idle: Duration,
}

/// One upstream and the connections to it.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    client: Client<HttpConnector, ClientBody>,
    authority: Authority,
    patience: UpstreamPatience,
}

impl Upstream {
    pub(crate) fn new(authority: Authority, patience: UpstreamPatience) -> Upstream {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(patience.connect));
        connector.set_nodelay(true);
        // Else an upstream that takes nothing more would hold what is to be written, and with it
        // the client's connection, for as long as it likes.
        connector.set_tcp_user_timeout(Some(patience.answer));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(patience.idle)
            .set_host(true)
            .build(connector);
        Upstream { client, authority, patience }
    }

    /// Asks the upstream. The target is in origin form.
    ///
    /// # Errors
    /// When the client's body is at fault, the upstream cannot be reached or is no HTTP server
    /// (502), or it takes too long (504).
    pub(crate) async fn ask(
        &self,
        mut request: Request<ClientBody>,
    ) -> Result<Response<AnswerBody>, Fault> {
        *request.uri_mut() = self.uri(request.uri())?;
        *request.version_mut() = Version::HTTP_11;
        let upload = request.body().upload();
        let answer = self.client.request(request);
        let answer = while_it_moves(answer, &upload, self.patience.answer).await?;
        let response = answer.map_err(|error| upload.fault().unwrap_or_else(|| blame(&error)))?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            // It was not asked to.
            return Err(BAD_GATEWAY);
        }
        self.answer(response)
    }

    fn uri(&self, target: &Uri) -> Result<Uri, Fault> {
        let mut parts = UriParts::default();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = target.path_and_query().cloned();
        Uri::from_parts(parts).map_err(|_| Fault::malformed("expected a path as the target"))
    }

    fn answer(&self, response: Response<Incoming>) -> Result<Response<AnswerBody>, Fault> {
        let (mut parts, body) = response.into_parts();
        settle_framing(&mut parts.headers)?;
        hop::strip_response(&mut parts.headers);
        parts.version = Version::default();
        let body = UpstreamBody::new(body, self.patience.answer).boxed_unsync();
        Ok(Response::from_parts(parts, body))
    }
}

/// Where an answer is chunked, what it says of its length counts for nothing (RFC 9112, 6.3), and to
/// pass that on would cut the body off. A coding other than `chunked` was not asked for, and the
/// client would not know of it.
fn settle_framing(headers: &mut HeaderMap) -> Result<(), Fault> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(coding), None) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => {
            headers.remove(CONTENT_LENGTH);
            Ok(())
        }
        _ => Err(BAD_GATEWAY),
    }
}

/// Waits for `answer` as long as the upload moves or `patience` has not passed since it last did.
async fn while_it_moves<F: Future>(
    answer: F,
    upload: &Upload,
    patience: Duration,
) -> Result<F::Output, Fault> {
    let mut answer = std::pin::pin!(answer);
    loop {
        tokio::select! {
            answer = &mut answer => return Ok(answer),
            moved = timeout(patience, upload.moved()) => {
                moved.map_err(|_| upload.fault().unwrap_or(GATEWAY_TIMEOUT))?;
            }
        }
    }
}

fn blame(error: &(dyn Error + 'static)) -> Fault {
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    let late = causes.any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::TimedOut)
    });
    if late { GATEWAY_TIMEOUT } else { BAD_GATEWAY }
}
