//! The body of an answer that holds a permit.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::throttle::Permit;

pin_project! {
    /// The body of an answer. As long as it is read the call counts as being underway; when it ends,
    /// fails or is dropped, the next one may go.
    #[derive(Debug)]
    pub struct HeldBody<B> {
        #[pin]
        inner: B,
        permit: Option<Permit>,
    }
}

impl<B> HeldBody<B> {
    /// A body that holds the permit of a [`Delivered`](crate::Delivered) answer.
    pub fn new(inner: B, permit: Option<Permit>) -> HeldBody<B> {
        HeldBody { inner, permit }
    }
}

impl<B: Body> Body for HeldBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(context));
        // Who knows the length may not poll for the end.
        if !matches!(frame, Some(Ok(_))) || this.inner.is_end_stream() {
            *this.permit = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
