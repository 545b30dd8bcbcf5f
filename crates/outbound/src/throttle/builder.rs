//! A throttle in the making.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate_core::algorithm::Patience;
use tollgate_core::{Hold, Limiter, Permits, Span, Store};

use super::Throttle;
use super::event::{Event, Listener};
use super::full::Full;
use super::part::Distance;
use super::queue::Bound;
use super::rules::{Rules, Sharing};
use super::shared::Shared;
use crate::dice;

/// A throttle in the making: without limits, and with room for 10,000 calls of each of 100,000 keys,
/// unless said.
#[must_use]
pub struct ThrottleBuilder {
    limiter: Option<Limiter<dyn Store>>,
    max_in_flight: Option<u32>,
    max_waiting: usize,
    max_keys: usize,
    full: Full,
    head_start: Span,
    sharing: Option<Sharing>,
    listener: Option<Listener>,
}

impl ThrottleBuilder {
    pub(super) fn new() -> ThrottleBuilder {
        ThrottleBuilder {
            limiter: None,
            max_in_flight: None,
            max_waiting: 10_000,
            max_keys: 100_000,
            full: Full::Refuse,
            head_start: Span::SECOND,
            sharing: None,
            listener: None,
        }
    }

    /// The limits that every call is charged by, over any store.
    ///
    /// Calls that must lie so far apart are a limit as well: `1/200ms` has a burst of 1.
    pub fn limits(mut self, limiter: impl Into<Limiter<dyn Store>>) -> Self {
        self.limiter = Some(limiter.into());
        self
    }

    /// How many calls of a key may be underway at once; any number unless said. With 0 none goes until
    /// that is changed.
    pub fn max_in_flight(mut self, calls: u32) -> Self {
        self.max_in_flight = Some(calls);
        self
    }

    /// How many calls of a key may wait; 10,000 unless said. With 0 none waits: a call that cannot go
    /// at once is refused as by `try_acquire`.
    ///
    /// Where the store is elsewhere, a call waits as well while that is asked.
    pub fn max_waiting(mut self, calls: usize) -> Self {
        self.max_waiting = calls;
        self
    }

    /// How many keys may have calls that wait or are underway; 100,000 unless said. Calls of further
    /// keys are refused as those that find the line full. A key without calls takes no memory.
    pub fn max_keys(mut self, keys: usize) -> Self {
        self.max_keys = keys;
        self
    }

    /// Who gives way when as many wait as may; the new call unless said.
    pub fn when_full(mut self, full: Full) -> Self {
        self.full = full;
        self
    }

    /// What one level of priority is worth: a second unless said.
    pub fn head_start(mut self, head_start: impl Into<Span>) -> Self {
        self.head_start = head_start.into();
        self
    }

    /// How many calls of a key may be underway at once in all processes that share these permits under
    /// this name, each for a lease of 30 s unless said: a process that is killed frees its permits within
    /// that time.
    ///
    /// A call that needs one more permit than this process has waits for one answer of the place where
    /// they are counted. While others have all of them, that is asked again after 50 to 150 ms, drawn at
    /// random, since nobody here is told when they come back; each process with calls that wait gets an
    /// equal part. A permit that comes back stays for 20 ms for the next call here, unless others want it.
    /// Where the place cannot be asked, those that are underway go on, and what was granted may be used
    /// until the lease ends.
    pub fn share_in_flight(mut self, permits: Arc<dyn Permits>, name: &str, calls: u32) -> Self {
        let lease = self.sharing.map_or(Duration::from_secs(30), |sharing| sharing.lease);
        let (name, holder) = (name.into(), dice::bits());
        self.sharing = Some(Sharing { permits, name, most: calls, lease, holder });
        self
    }

    /// How long the lease of shared permits is, 1 ms to an hour; it is renewed after a third of it. Say
    /// it after [`ThrottleBuilder::share_in_flight`].
    pub fn lease(mut self, lease: impl Into<Span>) -> Self {
        if let Some(sharing) = &mut self.sharing {
            sharing.lease = lease.into().clamp(Span::from_millis(1), Hold::LONGEST_LEASE).into();
        }
        self
    }

    /// Who is told of what becomes of each call, right after it has happened. Events of calls that happen
    /// at once may be told in any order; whoever is told holds up the call, and changes nothing for it
    /// by a panic.
    pub fn on_event(mut self, told: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(told));
        self
    }

    /// The throttle.
    #[must_use]
    pub fn build(self) -> Throttle {
        /// In the order of which throttles are entered by calls that go through several.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let limiter = self.limiter.map(Arc::new);
        let rules = Rules {
            distance: Distance::of(&limiter),
            limiter,
            max_in_flight: self.max_in_flight,
            sharing: self.sharing,
            listener: self.listener,
            patience: if self.max_waiting == 0 { Patience::Now } else { Patience::Wait },
            // Also a call that does not wait has a place while it is asked for.
            bound: Bound { most: self.max_waiting.max(1), full: self.full },
            max_keys: self.max_keys,
            head_start: i64::try_from(self.head_start.as_micros()).unwrap_or(i64::MAX),
        };
        // Relaxed: only that no two are the same.
        let id = MADE.fetch_add(1, Ordering::Relaxed);
        Throttle { shared: Arc::new(Shared::new(id, rules)) }
    }
}

impl fmt::Debug for ThrottleBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThrottleBuilder")
            .field("limiter", &self.limiter.as_ref().map(Limiter::limits))
            .field("max_in_flight", &self.max_in_flight)
            .field("max_waiting", &self.max_waiting)
            .field("max_keys", &self.max_keys)
            .field("when_full", &self.full)
            .field("head_start", &self.head_start)
            .finish_non_exhaustive()
    }
}
