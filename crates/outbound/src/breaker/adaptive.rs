//! Client-side throttling: drop here what would be refused there.

use std::fmt;
use std::sync::Arc;

use tollgate_core::breaker::Report;
use tollgate_core::{Span, Tick};

use super::history::{Counts, History, Shedding};
use super::known::{Known, Rank, Ranked, Slot};
use super::pass::Pass;
use super::since::Since;
use crate::dice;
use crate::error::{Error, Kind};
use crate::sync::{Mutex, MutexGuard, whole};

/// Drops a share of the calls to a place that refuses many: gentler than a breaker, since some always
/// go through and none has to probe. Clones share what they know.
///
/// A call is dropped with the probability `max(0, (requests - K * accepts) / (requests + 1))` over
/// the last two minutes: once the place takes less than one in K (2 unless said otherwise), about K
/// times what it takes are still sent. Requests are the calls that ended, and those dropped here; a
/// call that is under way is neither taken nor refused yet. Ones that are cancelled do not count.
/// (Google, *Site Reliability Engineering*, chapter 21, "Client-Side Throttling".)
///
/// Keys are places; for histories per criticality put it into the key, as in `"search/sheddable"`.
/// So many keys are known at most, 1,024 unless said otherwise; of more, one that drops nothing is
/// forgotten first, the one that was not called for longest.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use tollgate_outbound::breaker::AdaptiveThrottle;
/// let throttle = AdaptiveThrottle::default();
/// for _ in 0..100 {
///     if let Ok(pass) = throttle.enter("search") {
///         pass.fault();
///     }
/// }
/// let state = throttle.state();
/// assert!(state[0].drops_percent >= 98 && state[0].dropped > 50);
/// # }
/// ```
#[derive(Clone)]
pub struct AdaptiveThrottle(Arc<Shared>);

struct Shared {
    shedding: Shedding,
    clock: Since,
    known: Mutex<Known<Kept>>,
}

struct Kept {
    history: History,
    dropped: u64,
    rank: Rank,
}

impl Ranked for Kept {
    fn rank(&self) -> Rank {
        self.rank
    }
}

/// What is known of one place.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThrottleState {
    /// Which.
    pub key: Arc<str>,
    /// Calls of the last two minutes, dropped ones too.
    pub requests: u64,
    /// Those of them that it took.
    pub accepts: u64,
    /// How probably the next call is dropped, in percent, rounded down.
    pub drops_percent: u8,
    /// Calls that were dropped, in all.
    pub dropped: u64,
}

/// Makes an [`AdaptiveThrottle`].
#[derive(Clone, Debug)]
#[must_use]
pub struct AdaptiveThrottleBuilder {
    shedding: Shedding,
    most_keys: usize,
}

impl AdaptiveThrottleBuilder {
    /// K in hundredths, at least 100; 200 unless given. With less, calls are dropped sooner, and fewer
    /// reach a place that has come back; with more, it gets more of those that it refuses.
    pub fn multiplier_percent(self, percent: u32) -> AdaptiveThrottleBuilder {
        let shedding = Shedding { percent: percent.max(100).into(), ..self.shedding };
        AdaptiveThrottleBuilder { shedding, ..self }
    }

    /// What is remembered; two minutes unless given. It moves on in twelfths.
    pub fn window(self, window: impl Into<Span>) -> AdaptiveThrottleBuilder {
        let shedding = Shedding { window: window.into(), ..self.shedding };
        AdaptiveThrottleBuilder { shedding, ..self }
    }

    /// How many keys are known at most, at least 1; 1,024 unless given. A key takes less than half a
    /// kilobyte.
    pub fn most_keys(self, most_keys: usize) -> AdaptiveThrottleBuilder {
        AdaptiveThrottleBuilder { most_keys, ..self }
    }

    /// The throttle.
    #[must_use]
    pub fn build(self) -> AdaptiveThrottle {
        let known = Mutex::new(Known::up_to(self.most_keys));
        AdaptiveThrottle(Arc::new(Shared { shedding: self.shedding, clock: Since::start(), known }))
    }
}

impl Default for AdaptiveThrottle {
    fn default() -> AdaptiveThrottle {
        AdaptiveThrottle::builder().build()
    }
}

impl AdaptiveThrottle {
    /// For other settings than the defaults.
    pub fn builder() -> AdaptiveThrottleBuilder {
        let shedding = Shedding { percent: 200, window: Span::from_secs(120) };
        AdaptiveThrottleBuilder { shedding, most_keys: 1_024 }
    }

    /// Begins a call, unless it is dropped. [`Pass::good`] says that the place took it,
    /// [`Pass::fault`] that it did not.
    ///
    /// # Errors
    /// One that [is shed](Error::is_shed).
    pub fn enter(&self, key: &str) -> Result<Pass, Error> {
        let shared = &*self.0;
        let mut known = shared.known();
        let (slot, drops, _) = known.using(key, Kept::default, |kept| kept.ask(shared));
        drop(known);
        if drops {
            return Err(Kind::Shed.into());
        }
        Ok(Pass::of_share(self.clone(), slot))
    }

    /// What is known of each place, in the order of the keys.
    #[must_use]
    pub fn state(&self) -> Vec<ThrottleState> {
        let known = self.0.known();
        let now = self.0.clock.tick();
        known.iter().map(|(key, kept)| kept.state(key, self.0.shedding, now)).collect()
    }

    pub(super) fn report(&self, slot: &Slot, report: Report) {
        let accepts = match report {
            Report::Good => 1,
            Report::Fault => 0,
            Report::Ignored => return,
        };
        let shared = &*self.0;
        let counts = Counts { requests: 1, accepts };
        // One that was forgotten since begins anew with its next call.
        let _ = shared.known().again(slot, |kept| kept.add(shared, counts));
    }
}

impl fmt::Debug for AdaptiveThrottle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdaptiveThrottle").field("keys", &self.state()).finish()
    }
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known<Kept>> {
        whole(self.known.lock())
    }
}

impl Default for Kept {
    fn default() -> Kept {
        Kept { history: History::default(), dropped: 0, rank: Rank::Calm }
    }
}

impl Kept {
    /// Whether the next call is dropped.
    fn ask(&mut self, shared: &Shared) -> bool {
        let counts = self.history.counts(shared.shedding, shared.clock.tick());
        let drops = shared.shedding.drops(counts, dice::bits());
        if drops {
            self.dropped += 1;
            self.add(shared, Counts { requests: 1, accepts: 0 });
        }
        drops
    }

    fn add(&mut self, shared: &Shared, counts: Counts) {
        let now = shared.clock.tick();
        self.history.add(shared.shedding, now, counts);
        let drops = shared.shedding.percent_dropped(self.history.counts(shared.shedding, now));
        self.rank = if drops > 0 { Rank::Troubled } else { Rank::Calm };
    }

    fn state(&self, key: &Arc<str>, shedding: Shedding, now: Tick) -> ThrottleState {
        let counts = self.history.counts(shedding, now);
        ThrottleState {
            key: key.clone(),
            requests: counts.requests,
            accepts: counts.accepts,
            drops_percent: shedding.percent_dropped(counts),
            dropped: self.dropped,
        }
    }
}
