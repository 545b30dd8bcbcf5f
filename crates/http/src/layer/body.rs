//! The body of an answer: the service's own, or that of a refusal.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// The body of an answer: the service's own, or that of a refusal.
    #[derive(Debug)]
    pub struct Body<C> {
        #[pin]
        held: Held<C>,
    }
}

pin_project! {
    #[project = HeldProjection]
    #[derive(Debug)]
    enum Held<C> {
        Inner { #[pin] body: C },
        Refusal { body: Bytes },
    }
}

impl<C> Body<C> {
    pub(super) fn inner(body: C) -> Body<C> {
        Body { held: Held::Inner { body } }
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
            HeldProjection::Refusal { body } if body.is_empty() => Poll::Ready(None),
            HeldProjection::Refusal { body } => {
                Poll::Ready(Some(Ok(Frame::data(std::mem::take(body)))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.held {
            Held::Inner { body } => body.is_end_stream(),
            Held::Refusal { body } => body.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.held {
            Held::Inner { body } => body.size_hint(),
            Held::Refusal { body } => {
                SizeHint::with_exact(u64::try_from(body.len()).unwrap_or(u64::MAX))
            }
        }
    }
}
