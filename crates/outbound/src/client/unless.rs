//! One future, unless another one ends before it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// What `future` gives, unless `stop` ends first; it is dropped then.
pub(super) async fn unless<F: Future>(
    stop: impl Future<Output = ()>,
    future: F,
) -> Option<F::Output> {
    let (mut stop, mut future) = (pin!(stop), pin!(future));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(out) => Poll::Ready(Some(out)),
        Poll::Pending => stop.as_mut().poll(context).map(|()| None),
    })
    .await
}
