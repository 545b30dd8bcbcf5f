//! Events that may come in thousands, told once and then summed up.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::sleep;

use crate::opening::Unopened;

/// How often what repeats is summed up.
const EVERY: Duration = Duration::from_secs(10);

/// What may repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// No connection could be taken.
    AcceptFailed,
    /// The upstream gave no answer.
    UpstreamFailed,
    /// A balancer did not begin with a PROXY header.
    NoProxyHeader,
    /// A client and we could not agree on TLS.
    HandshakeFailed,
    /// A client wanted more connections than it may have.
    Crowded,
}

impl Event {
    const ALL: [Event; 5] = [
        Event::AcceptFailed,
        Event::UpstreamFailed,
        Event::NoProxyHeader,
        Event::HandshakeFailed,
        Event::Crowded,
    ];

    fn text(self) -> &'static str {
        match self {
            Event::AcceptFailed => "could not take a connection",
            Event::UpstreamFailed => "the upstream gave no answer",
            Event::NoProxyHeader => "a peer in `proxy_protocol` sent no PROXY header",
            Event::HandshakeFailed => "a client could not be agreed with on TLS",
            Event::Crowded => "a client had `connections_per_client` open and wanted one more",
        }
    }
}

/// Counts events: the first of a kind is told at once, the rest as a sum every 10 seconds.
///
/// A count of 0 is quiet, 1 has been told, each more is yet to be summed up.
#[derive(Debug, Default)]
pub(crate) struct Noise {
    counts: [AtomicU64; Event::ALL.len()],
}

impl Noise {
    /// Tells of an event, or counts it when its kind was told of lately.
    pub(crate) fn tell(&self, event: Event, cause: &dyn Display) {
        // Relaxed, here and below: a count is the whole truth.
        let count = self.count(event).map_or(0, |count| count.fetch_add(1, Ordering::Relaxed));
        if count == 0 {
            tracing::warn!(%cause, "{}", event.text());
        }
    }

    /// Tells why a connection was closed before HTTP began, if anybody is at fault.
    pub(crate) fn tell_unopened(&self, why: &Unopened) {
        match why {
            // Slow clients are many, and no mistake of anybody's.
            Unopened::Left | Unopened::Slow => {}
            Unopened::ProxyHeader(error) => self.tell(Event::NoProxyHeader, error),
            Unopened::Handshake(error) => self.tell(Event::HandshakeFailed, error),
            Unopened::Crowded => self.tell(Event::Crowded, &"it was closed"),
        }
    }

    /// Sums up for ever.
    pub(crate) async fn sum_up(&self) {
        loop {
            sleep(EVERY).await;
            self.sum_up_once();
        }
    }

    /// Tells what was counted since the last time.
    pub(crate) fn sum_up_once(&self) {
        for event in Event::ALL {
            let Some(count) = self.count(event) else { continue };
            let before = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                Some(u64::from(count > 1))
            });
            if let Some(times @ 1..) = before.ok().and_then(|before| before.checked_sub(1)) {
                tracing::warn!(times, seconds = EVERY.as_secs(), "again: {}", event.text());
            }
        }
    }

    fn count(&self, event: Event) -> Option<&AtomicU64> {
        let place = Event::ALL.iter().position(|other| *other == event)?;
        self.counts.get(place)
    }
}
