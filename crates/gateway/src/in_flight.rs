//! The requests of one connection that are being answered, and whether the client takes the
//! answers.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::body::{AnswerBody, BoxError};

/// Counts the requests of one connection that are being answered.
#[derive(Clone, Default)]
pub(crate) struct InFlight {
    count: watch::Sender<usize>,
    // Relaxed, all of them: they are looked at seconds later.
    taken: Arc<AtomicU64>,
    offered: Arc<AtomicUsize>,
}

impl InFlight {
    /// One more, until what this gives is dropped.
    pub(crate) fn begin(&self) -> Begun {
        self.count.send_modify(|count| *count += 1);
        Begun(self.clone())
    }

    /// Ends once no request has been in flight for so long.
    pub(crate) async fn is_idle(&self, patience: Duration) {
        let mut count = self.count.subscribe();
        loop {
            if *count.borrow_and_update() > 0 {
                // The sender is held by `self`.
                let _ = count.changed().await;
            } else if timeout(patience, count.changed()).await.is_err() {
                return;
            }
        }
    }

    /// Ends once answers have waited for the client for so long, and for at most twice as long,
    /// while it took nothing of any.
    pub(crate) async fn is_stalled(&self, patience: Duration) {
        let mut before = None;
        loop {
            sleep(patience).await;
            let waits = self.offered.load(Ordering::Relaxed) > 0;
            let now = waits.then(|| self.taken.load(Ordering::Relaxed));
            if now.is_some() && now == before {
                return;
            }
            before = now;
        }
    }
}

/// A request that is being answered.
pub(crate) struct Begun(InFlight);

impl Begun {
    /// The body of its answer, which is in flight until it is dropped.
    pub(crate) fn answer(self, body: AnswerBody) -> Taken {
        self.0.offered.fetch_add(1, Ordering::Relaxed);
        Taken { body, offer: Offer::Open, begun: self }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.count.send_modify(|count| *count -= 1);
    }
}

/// The body of an answer while the client takes it.
pub(crate) struct Taken {
    body: AnswerBody,
    offer: Offer,
    begun: Begun,
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offer {
    /// The client's: hyper asks for more once it has taken what there is.
    Open,
    /// That of whoever answers.
    None,
}

impl Taken {
    fn close_offer(&mut self) {
        if self.offer == Offer::Open {
            self.offer = Offer::None;
            self.begun.0.offered.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Body for Taken {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.begun.0.taken.fetch_add(1, Ordering::Relaxed);
        self.close_offer();
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(_)) = frame {
            self.offer = Offer::Open;
            self.begun.0.offered.fetch_add(1, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.close_offer();
    }
}
