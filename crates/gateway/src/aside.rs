//! A future that is waited for beside a busy one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// A future that is polled only when it was woken itself, not whenever its task is: timers and
/// notifications take locks to say that they are not ready.
pub(crate) struct Aside<F> {
    future: Pin<Box<F>>,
    call: Arc<Call>,
    waker: Waker,
}

struct Call {
    came: AtomicBool,
    task: AtomicWaker,
}

impl<F> Aside<F> {
    pub(crate) fn new(future: F) -> Aside<F> {
        let call = Arc::new(Call { came: AtomicBool::new(true), task: AtomicWaker::new() });
        Aside { future: Box::pin(future), waker: call.clone().into(), call }
    }
}

impl<F: Future> Future for Aside<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        this.call.task.register(cx.waker());
        // Acquire: what was done before the call is seen. Registered first, so that no call is lost.
        if !this.call.came.swap(false, Ordering::Acquire) {
            return Poll::Pending;
        }
        this.future.as_mut().poll(&mut Context::from_waker(&this.waker))
    }
}

impl Wake for Call {
    fn wake(self: Arc<Call>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Call>) {
        self.came.store(true, Ordering::Release);
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn it_is_polled_at_first_and_when_it_is_woken_and_never_else() {
        let (mut polls, (send, mut receive)) = (0, oneshot::channel::<u8>());
        let mut aside = Aside::new(poll_fn(move |cx| {
            polls += 1;
            receive.poll_unpin(cx).map(|got| (got, polls))
        }));
        for _ in 0..5 {
            assert_eq!((&mut aside).now_or_never(), None);
        }
        send.send(7).unwrap();
        assert_eq!(aside.now_or_never(), Some((Ok(7), 2)));
    }
}
