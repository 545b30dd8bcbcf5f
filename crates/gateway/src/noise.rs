//! Events that may come in thousands, told once and then summed up.

use std::fmt::{Display, Write};
use std::mem::take;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
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
    /// A request was not sent to the upstream, which has enough or is not well.
    UpstreamSpared,
    /// A balancer did not begin with a PROXY header.
    NoProxyHeader,
    /// A client and we could not agree on TLS.
    HandshakeFailed,
    /// A client wanted more connections than it may have.
    Crowded,
}

impl Event {
    const ALL: [Event; 6] = [
        Event::AcceptFailed,
        Event::UpstreamFailed,
        Event::UpstreamSpared,
        Event::NoProxyHeader,
        Event::HandshakeFailed,
        Event::Crowded,
    ];

    fn text(self) -> &'static str {
        match self {
            Event::AcceptFailed => "could not take a connection",
            Event::UpstreamFailed => "the upstream gave no answer",
            Event::UpstreamSpared => "a request was not sent to the upstream",
            Event::NoProxyHeader => "a peer in `proxy_protocol` sent no PROXY header",
            Event::HandshakeFailed => "a client could not be agreed with on TLS",
            Event::Crowded => "a client had `connections_per_client` open and wanted one more",
        }
    }
}

/// A line of the log about what an event is about, which its target says.
macro_rules! warn_of {
    ($event:expr, $($line:tt)*) => {
        match $event {
            Event::UpstreamFailed | Event::UpstreamSpared => {
                tracing::warn!(target: "tollgate::upstream", $($line)*);
            }
            _ => tracing::warn!(target: "tollgate::listener", $($line)*),
        }
    };
}

/// Counts events: the first of a kind is told at once, the rest as a sum every 10 seconds, with the
/// cause of the last.
#[derive(Debug, Default)]
pub(crate) struct Noise {
    kinds: [Kind; Event::ALL.len()],
}

#[derive(Debug, Default)]
struct Kind {
    /// 0 is quiet, 1 has been told, each more is yet to be summed up.
    count: AtomicU64,
    last: Mutex<String>,
}

impl Noise {
    /// Tells of an event, or counts it when its kind was told of lately.
    pub(crate) fn tell(&self, event: Event, cause: &dyn Display) {
        // Relaxed, here and below: a count is the whole truth.
        let Some(kind) = self.kind(event) else { return };
        if kind.count.fetch_add(1, Ordering::Relaxed) == 0 {
            warn_of!(event, %cause, "{}", event.text());
        } else if let Ok(mut last) = kind.last.try_lock() {
            // Who finds it taken is no later than who has it.
            last.clear();
            let _ = write!(last, "{cause}");
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
            let Some(kind) = self.kind(event) else { continue };
            let before = kind.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                Some(u64::from(count > 1))
            });
            if let Some(times @ 1..) = before.ok().and_then(|before| before.checked_sub(1)) {
                // Taken, so that no line is written while others wait to be counted.
                let cause = take(&mut *kind.last.lock().unwrap_or_else(PoisonError::into_inner));
                let seconds = EVERY.as_secs();
                warn_of!(event, times, seconds, %cause, "again: {}", event.text());
            }
        }
    }

    fn kind(&self, event: Event) -> Option<&Kind> {
        let place = Event::ALL.iter().position(|other| *other == event)?;
        self.kinds.get(place)
    }
}
