//! Bodies on their way through: a request's is paced and counted, an answer's is not waited for
//! for ever.

use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};

use crate::framing::Fault;

/// The body of an answer.
pub(crate) type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Bytes per second below which a client uses up its patience.
const LEAST_RATE: u64 = 256;

const LONG_BODY: Fault = Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "expected a shorter body");
const SLOW_BODY: Fault = Fault::new(StatusCode::REQUEST_TIMEOUT, "expected the body in less time");
const BROKEN_BODY: Fault = Fault::malformed("expected a body in the framing that the head gives");

/// What a request's body may cost us.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    /// Bytes; `None` for any.
    pub(crate) bytes: Option<u64>,
    /// How long it is waited for at once, and in all beyond what 256 bytes a second take.
    pub(crate) patience: Duration,
}

/// A request's body as the client sends it.
pub(crate) struct ClientBody {
    incoming: Incoming,
    limits: BodyLimits,
    received: u64,
    waited: Duration,
    wait: Option<(Instant, Pin<Box<Sleep>>)>,
    upload: Arc<Upload>,
}

/// What is known of a body while it is sent on.
#[derive(Debug, Default)]
pub(crate) struct Upload {
    fault: OnceLock<Fault>,
    moved: Notify,
}

impl Upload {
    /// Why the client's body could not be read to its end, if so.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault.get().cloned()
    }

    /// Ends when a part of the body has been sent on since the last time.
    pub(crate) async fn moved(&self) {
        self.moved.notified().await;
    }
}

impl ClientBody {
    /// # Errors
    /// When the body says of itself that it is too long.
    pub(crate) fn new(incoming: Incoming, limits: BodyLimits) -> Result<ClientBody, Fault> {
        if limits.bytes.is_some_and(|most| incoming.size_hint().lower() > most) {
            return Err(LONG_BODY);
        }
        Ok(ClientBody {
            incoming,
            limits,
            received: 0,
            waited: Duration::ZERO,
            wait: None,
            upload: Arc::default(),
        })
    }

    pub(crate) fn upload(&self) -> Arc<Upload> {
        self.upload.clone()
    }

    fn fail(&mut self, fault: Fault) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        // The first fault is the cause of any other.
        let _ = self.upload.fault.set(fault.clone());
        Poll::Ready(Some(Err(fault.detail.into())))
    }

    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let patience = self.limits.patience;
        let earned = Duration::from_secs(self.received.checked_div(LEAST_RATE).unwrap_or(0));
        let left = patience.saturating_add(earned).saturating_sub(self.waited).min(patience);
        let (_, timer) = self.wait.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
        timer.as_mut().poll(cx).is_ready()
    }
}

impl Body for ClientBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) else {
            return if self.is_late(cx) { self.fail(SLOW_BODY) } else { Poll::Pending };
        };
        if let Some((since, _)) = self.wait.take() {
            self.waited = self.waited.saturating_add(since.elapsed());
        }
        self.upload.moved.notify_one();
        match frame {
            None => Poll::Ready(None),
            Some(Err(_)) => self.fail(BROKEN_BODY),
            Some(Ok(frame)) => match frame.into_data() {
                // Trailers are between the client and us; nothing in a request needs them.
                Err(_trailers) => Poll::Ready(None),
                Ok(data) => {
                    let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
                    self.received = self.received.saturating_add(length);
                    if self.limits.bytes.is_some_and(|most| self.received > most) {
                        return self.fail(LONG_BODY);
                    }
                    Poll::Ready(Some(Ok(Frame::data(data))))
                }
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// An upstream's body, given up when nothing comes of it for so long.
pub(crate) struct UpstreamBody {
    incoming: Incoming,
    patience: Duration,
    wait: Option<Pin<Box<Sleep>>>,
}

impl UpstreamBody {
    pub(crate) fn new(incoming: Incoming, patience: Duration) -> UpstreamBody {
        UpstreamBody { incoming, patience, wait: None }
    }
}

impl Body for UpstreamBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
            self.wait = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let patience = self.patience;
        let timer = self.wait.get_or_insert_with(|| Box::pin(sleep(patience)));
        match timer.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                Poll::Ready(Some(Err("the upstream stopped in the midst of its answer".into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// A body that is there.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> AnswerBody {
    http_body_util::Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}
