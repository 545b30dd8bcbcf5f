//! Bodies on their way through: a request's is paced and counted, an answer's is not waited for
//! for ever.

use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};

use crate::framing::Fault;
use crate::hop;
use crate::upstream::Asked;

/// A body that is there.
pub(crate) type Whole = Full<Bytes>;
/// The body of an answer: one that is there, or an upstream's.
pub(crate) type AnswerBody = Either<Whole, UpstreamBody>;
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Bytes per second below which a client uses up its patience.
const LEAST_RATE: u64 = 256;

/// How long what has come already is waited for once the time is up: where this machine was held up, and
/// not the client, the timer is looked at before the connection.
const LAST_CALL: Duration = Duration::from_millis(20);

const LONG_BODY: Fault = Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "expected a shorter body");
const SLOW_BODY: Fault = Fault::new(StatusCode::REQUEST_TIMEOUT, "expected the body in less time");
const BROKEN_BODY: Fault = Fault::malformed("expected a body in the framing that the head gives");

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// As its framing says. Of HTTP/1 what ends otherwise is an error.
    Framed,
    /// With its stream. hyper takes a stream of HTTP/2 that was reset without an error for one that has
    /// ended, so that what was given up in the midst would pass for the whole.
    Streamed,
}

impl Ends {
    /// Of a message in this version.
    pub(crate) fn of(version: Version) -> Ends {
        if version == Version::HTTP_2 { Ends::Streamed } else { Ends::Framed }
    }

    /// Whether `incoming`, of which nothing more comes, has ended in the midst.
    fn is_cut_off(self, incoming: &Incoming) -> bool {
        self == Ends::Streamed && !incoming.is_end_stream()
    }
}

/// Why an answer ends before its end.
const MIDWAY: &str = "the upstream stopped in the midst of its answer";

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
    /// `None` for a request of our own, which has none.
    incoming: Option<Incoming>,
    ends: Ends,
    limits: BodyLimits,
    /// The headers that say who is asking, which no trailer may; `None` to drop all trailers.
    identity: Option<Arc<[HeaderName]>>,
    received: u64,
    waited: Duration,
    wait: Option<Wait>,
    /// `None` where there is nothing to send on.
    upload: Option<Arc<Upload>>,
}

/// A wait for the client.
struct Wait {
    since: Instant,
    timer: Pin<Box<Sleep>>,
    call: Call,
}

/// How often the time was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    First,
    Last,
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
    pub(crate) fn new(
        incoming: Incoming,
        ends: Ends,
        limits: BodyLimits,
    ) -> Result<ClientBody, Fault> {
        if limits.bytes.is_some_and(|most| incoming.size_hint().lower() > most) {
            return Err(LONG_BODY);
        }
        Ok(ClientBody::of(Some(incoming), ends, limits))
    }

    /// No body.
    pub(crate) fn none() -> ClientBody {
        ClientBody::of(None, Ends::Framed, BodyLimits { bytes: None, patience: Duration::MAX })
    }

    fn of(incoming: Option<Incoming>, ends: Ends, limits: BodyLimits) -> ClientBody {
        let sends = incoming.as_ref().is_some_and(|incoming| !incoming.is_end_stream());
        ClientBody {
            incoming,
            ends,
            limits,
            identity: None,
            received: 0,
            waited: Duration::ZERO,
            wait: None,
            upload: sends.then(Arc::default),
        }
    }

    /// Sends on the trailers too, but for those that may not be trailers and those that say who is
    /// asking (`identity` and the like), which a server may take for headers.
    pub(crate) fn pass_trailers(&mut self, identity: Arc<[HeaderName]>) {
        self.identity = Some(identity);
    }

    /// What is known of it, if there is anything to send on.
    pub(crate) fn upload(&self) -> Option<Arc<Upload>> {
        self.upload.clone()
    }

    fn fail(&mut self, fault: Fault) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(upload) = &self.upload {
            // The first fault is the cause of any other.
            let _ = upload.fault.set(fault.clone());
        }
        Poll::Ready(Some(Err(fault.detail.into())))
    }

    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let patience = self.limits.patience;
        let earned = Duration::from_secs(self.received.checked_div(LEAST_RATE).unwrap_or(0));
        let left = patience.saturating_add(earned).saturating_sub(self.waited).min(patience);
        let wait = self.wait.get_or_insert_with(|| Wait {
            since: Instant::now(),
            timer: Box::pin(sleep(left)),
            call: Call::First,
        });
        if wait.timer.as_mut().poll(cx).is_pending() {
            return false;
        }
        if wait.call == Call::First {
            wait.call = Call::Last;
            wait.timer.as_mut().reset(Instant::now() + LAST_CALL);
            return wait.timer.as_mut().poll(cx).is_ready();
        }
        true
    }
}

impl Body for ClientBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let ends = self.ends;
        let Some(incoming) = &mut self.incoming else { return Poll::Ready(None) };
        let frame = Pin::new(&mut *incoming).poll_frame(cx);
        let cut_off = matches!(frame, Poll::Ready(None)) && ends.is_cut_off(incoming);
        let Poll::Ready(frame) = frame else {
            return if self.is_late(cx) { self.fail(SLOW_BODY) } else { Poll::Pending };
        };
        if let Some(wait) = self.wait.take() {
            self.waited = self.waited.saturating_add(wait.since.elapsed());
        }
        if let Some(upload) = &self.upload {
            upload.moved.notify_one();
        }
        match frame {
            None if cut_off => self.fail(BROKEN_BODY),
            None => Poll::Ready(None),
            Some(Err(_)) => self.fail(BROKEN_BODY),
            Some(Ok(frame)) => match frame.into_data() {
                Err(frame) => match (frame.into_trailers(), &self.identity) {
                    (Ok(mut trailers), Some(identity)) => {
                        hop::strip_request_trailers(&mut trailers, identity);
                        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
                    }
                    _ => Poll::Ready(None),
                },
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
        self.incoming.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or(SizeHint::with_exact(0), Incoming::size_hint)
    }
}

/// An upstream's body, given up when nothing comes of it for so long.
pub(crate) struct UpstreamBody {
    incoming: Incoming,
    ends: Ends,
    /// `None` for any time.
    patience: Option<Duration>,
    wait: Option<Pin<Box<Sleep>>>,
    asked: Asked,
}

impl UpstreamBody {
    pub(crate) fn new(
        incoming: Incoming,
        ends: Ends,
        patience: Option<Duration>,
        asked: Asked,
    ) -> UpstreamBody {
        UpstreamBody { incoming, ends, patience, wait: None, asked }
    }

    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(patience) = self.patience else { return false };
        let timer = self.wait.get_or_insert_with(|| Box::pin(sleep(patience)));
        timer.as_mut().poll(cx).is_ready()
    }
}

impl Body for UpstreamBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) else {
            if !self.is_late(cx) {
                return Poll::Pending;
            }
            self.asked.failed();
            return Poll::Ready(Some(Err(MIDWAY.into())));
        };
        self.wait = None;
        Poll::Ready(match frame {
            None if self.ends.is_cut_off(&self.incoming) => {
                self.asked.failed();
                Some(Err(MIDWAY.into()))
            }
            None => None,
            Some(Err(error)) => {
                self.asked.failed();
                Some(Err(error.into()))
            }
            Some(Ok(frame)) => Some(Ok(match frame.into_trailers() {
                Ok(mut trailers) => {
                    hop::strip_response_trailers(&mut trailers);
                    Frame::trailers(trailers)
                }
                Err(frame) => frame,
            })),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// A body that is there.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Whole {
    Full::new(bytes.into())
}
