//! The requests of one connection that are being answered, and whether the client takes the
//! answers.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, sleep};

/// Counts the requests of one connection that are being answered.
#[derive(Clone)]
pub(crate) struct InFlight(Arc<Counts>);

/// Nobody is woken when these change: who looks at them does so when time has passed.
struct Counts {
    born: Instant,
    count: AtomicUsize,
    // Relaxed, all of them: they are looked at seconds later.
    /// When the last request ended, in milliseconds since `born`, rounded up.
    ended: AtomicU64,
    taken: AtomicU64,
    offered: AtomicUsize,
}

impl Default for InFlight {
    fn default() -> InFlight {
        InFlight(Arc::new(Counts {
            born: Instant::now(),
            count: AtomicUsize::new(0),
            ended: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            offered: AtomicUsize::new(0),
        }))
    }
}

impl InFlight {
    /// One more, until what this gives is dropped.
    pub(crate) fn begin(&self) -> Begun {
        self.0.count.fetch_add(1, Ordering::Relaxed);
        Begun(self.clone())
    }

    /// Ends once no request has been in flight for so long from now on.
    pub(crate) async fn is_idle(&self, patience: Duration) {
        let asked = Instant::now();
        loop {
            // Acquire: whoever sees that none is left sees when the last one ended.
            let left = match self.0.count.load(Ordering::Acquire) {
                0 => patience.saturating_sub(asked.max(self.0.last_end()).elapsed()),
                _ => patience,
            };
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }

    /// Ends once answers have waited for the client for so long, and for at most twice as long,
    /// while it took nothing of any.
    pub(crate) async fn is_stalled(&self, patience: Duration) {
        let mut before = None;
        loop {
            sleep(patience).await;
            let waits = self.0.offered.load(Ordering::Relaxed) > 0;
            let now = waits.then(|| self.0.taken.load(Ordering::Relaxed));
            if now.is_some() && now == before {
                return;
            }
            before = now;
        }
    }
}

impl Counts {
    fn last_end(&self) -> Instant {
        self.born + Duration::from_millis(self.ended.load(Ordering::Relaxed))
    }
}

/// A request that is being answered.
pub(crate) struct Begun(InFlight);

impl Begun {
    /// The body of its answer, which is in flight until it is dropped.
    pub(crate) fn answer<B>(self, body: B) -> Taken<B> {
        self.counts().offered.fetch_add(1, Ordering::Relaxed);
        Taken { body, offer: Offer::Open, begun: self }
    }

    fn counts(&self) -> &Counts {
        &self.0.0
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let counts = self.counts();
        let ended = counts.born.elapsed().as_millis().saturating_add(1);
        counts.ended.store(ended.try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
        counts.count.fetch_sub(1, Ordering::Release);
    }
}

/// The body of an answer while the client takes it.
pub(crate) struct Taken<B> {
    body: B,
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

impl<B> Taken<B> {
    fn close_offer(&mut self) {
        if self.offer == Offer::Open {
            self.offer = Offer::None;
            self.begun.counts().offered.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Taken<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.begun.counts().taken.fetch_add(1, Ordering::Relaxed);
        self.close_offer();
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(_)) = frame {
            self.offer = Offer::Open;
            self.begun.counts().offered.fetch_add(1, Ordering::Relaxed);
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

impl<B> Drop for Taken<B> {
    fn drop(&mut self) {
        self.close_offer();
    }
}
