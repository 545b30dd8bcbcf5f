//! The body of an answer: the service's own, or that of a refusal.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;

use super::meter::{Ending, Meter};

pin_project! {
    /// The body of an answer: the service's own, or that of a refusal.
    pub struct Body<C> {
        #[pin]
        held: Held<C>,
    }
}

pin_project! {
    #[project = HeldProjection]
    enum Held<C> {
        Inner { #[pin] body: C },
        // Boxed, so that bodies that nobody measures stay small.
        Metered { #[pin] body: C, meter: Box<Meter> },
        Refusal { body: Bytes },
    }
}

impl<C> Body<C> {
    pub(super) fn inner(body: C) -> Body<C> {
        Body { held: Held::Inner { body } }
    }

    /// A body that tells what its request has cost.
    pub(super) fn metered(body: C, meter: Option<Box<Meter>>) -> Body<C> {
        match meter {
            None => Body::inner(body),
            Some(meter) => Body { held: Held::Metered { body, meter } },
        }
    }

    pub(super) fn refusal(body: Bytes) -> Body<C> {
        Body { held: Held::Refusal { body } }
    }
}

impl<C: http_body::Body<Data = Bytes>> http_body::Body for Body<C> {
    type Data = Bytes;
    type Error = C::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, C::Error>>> {
        match self.project().held.project() {
            HeldProjection::Inner { body } => body.poll_frame(context),
            HeldProjection::Metered { mut body, meter } => {
                let polled = body.as_mut().poll_frame(context);
                match &polled {
                    Poll::Ready(Some(Ok(frame))) => {
                        if let Some(piece) = frame.data_ref() {
                            meter.see(piece);
                        }
                        // Whoever is told so need not ask for the end.
                        if body.is_end_stream() {
                            meter.end(Ending::Whole);
                        }
                    }
                    Poll::Ready(None) => meter.end(Ending::Whole),
                    Poll::Ready(Some(Err(_))) => meter.end(Ending::Cut),
                    Poll::Pending => {}
                }
                polled
            }
            HeldProjection::Refusal { body } if body.is_empty() => Poll::Ready(None),
            HeldProjection::Refusal { body } => {
                Poll::Ready(Some(Ok(Frame::data(std::mem::take(body)))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.held {
            Held::Inner { body } | Held::Metered { body, .. } => body.is_end_stream(),
            Held::Refusal { body } => body.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.held {
            Held::Inner { body } | Held::Metered { body, .. } => body.size_hint(),
            Held::Refusal { body } => {
                SizeHint::with_exact(u64::try_from(body.len()).unwrap_or(u64::MAX))
            }
        }
    }
}

impl<C: fmt::Debug> fmt::Debug for Body<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut held = f.debug_struct("Body");
        match &self.held {
            Held::Inner { body } | Held::Metered { body, .. } => held.field("inner", body),
            Held::Refusal { body } => held.field("refusal", body),
        };
        held.finish()
    }
}
