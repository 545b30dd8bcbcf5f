//! Instants and spans in microseconds, and where "now" comes from.

use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use crate::units;

/// The last instant and the longest span a rule handles: 2^53 µs, 285 years, so that a Lua number
/// holds every instant exactly.
const LAST: u64 = 1 << 53;

/// An instant, in microseconds since the Unix epoch.
///
/// Only stores make one: two clocks in one state would disagree.
///
/// ```
/// use tollgate_core::{Span, Tick};
/// let (start, later) = (Tick::EPOCH, Tick::EPOCH.after(Span::MINUTE));
/// assert_eq!(later.since(start), Span::MINUTE);
/// assert_eq!(start.since(later), Span::ZERO);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u64);

impl Tick {
    /// The Unix epoch.
    pub const EPOCH: Tick = Tick(0);

    /// The instant `micros` after the epoch; anything past the year 2255 (2^53 µs) is that year.
    #[inline]
    #[must_use]
    pub const fn from_micros(micros: u64) -> Tick {
        Tick(if micros < LAST { micros } else { LAST })
    }

    /// Microseconds since the Unix epoch, at most 2^53.
    #[inline]
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The instant `span` later, at most the last one representable.
    #[inline]
    #[must_use]
    pub const fn after(self, span: Span) -> Tick {
        Tick::from_micros(self.0.saturating_add(span.0))
    }

    /// How long after `earlier` this instant is; zero when it is not later.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Tick) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

/// A length of time in whole microseconds; `u64::MAX` stands for "longer than can be said".
///
/// Written and read by people: `500ms`, `2h30m`, `15 minutes`.
///
/// ```
/// use std::time::Duration;
/// use tollgate_core::Span;
/// let span: Span = "1m 30s".parse()?;
/// assert_eq!(span, Span::from_secs(90));
/// assert_eq!(Duration::from(span), Duration::from_secs(90));
/// assert_eq!(Span::from_millis(1_001).as_secs_ceil(), 2);
/// assert_eq!(Span::from_secs(9_000).to_string(), "2h30m");
/// # Ok::<(), tollgate_core::SpanError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// One second.
    pub const SECOND: Span = Span(1_000_000);
    /// One minute.
    pub const MINUTE: Span = Span(60_000_000);
    /// One hour.
    pub const HOUR: Span = Span(3_600_000_000);
    /// Twenty-four hours.
    pub const DAY: Span = Span(86_400_000_000);
    /// The longest period of a quota: 2^53 µs, 285 years.
    pub const LONGEST: Span = Span(LAST);

    /// A span of `micros` microseconds.
    #[inline]
    #[must_use]
    pub const fn from_micros(micros: u64) -> Span {
        Span(micros)
    }

    /// A span of `millis` milliseconds, saturating.
    #[inline]
    #[must_use]
    pub const fn from_millis(millis: u64) -> Span {
        Span(millis.saturating_mul(1_000))
    }

    /// A span of `secs` seconds, saturating.
    #[inline]
    #[must_use]
    pub const fn from_secs(secs: u64) -> Span {
        Span(secs.saturating_mul(1_000_000))
    }

    /// Whole microseconds.
    #[inline]
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Seconds, rounded up: a client told this many never comes too early.
    #[inline]
    #[must_use]
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// Whether this is no time at all.
    #[inline]
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Duration {
        Duration::from_micros(span.0)
    }
}

impl From<Duration> for Span {
    /// Rounds up to the next microsecond; saturates.
    fn from(duration: Duration) -> Span {
        Span(u64::try_from(duration.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX))
    }
}

/// The shortest exact form: `2h30m`, `1.5ms` is `1ms500us`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        units::write_span(self.0, f)
    }
}

impl core::str::FromStr for Span {
    type Err = SpanError;

    /// Reads `90s`, `15 minutes`, `2h30m`, `1 day`.
    ///
    /// # Errors
    /// When a number or its unit is missing, the unit is unknown or a calendar one (months and
    /// years differ in length), or the sum passes 285 years.
    fn from_str(text: &str) -> Result<Span, SpanError> {
        units::read_span(text).map(Span)
    }
}

pub use crate::units::SpanError;

/// A source of "now".
///
/// The one in `tollgate-memory` reads the machine's; [`ManualClock`] is moved by hand.
///
/// A store may be given any clock, such as one that runs twice as fast:
///
/// ```
/// use tollgate_core::{Clock, ManualClock, Span, Tick};
/// struct Twice<C>(C);
/// impl<C: Clock> Clock for Twice<C> {
///     fn now(&self) -> Tick {
///         Tick::from_micros(2 * self.0.now().as_micros())
///     }
/// }
/// let clock = ManualClock::default();
/// clock.advance(Span::SECOND);
/// assert_eq!(Twice(clock).now().since(Tick::EPOCH), Span::from_secs(2));
/// ```
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Tick;
}

/// A clock that stands still until it is moved, for tests and replays; clones share one time.
///
/// ```
/// use tollgate_core::{Clock, ManualClock, Span, Tick};
/// let clock = ManualClock::at(Tick::from_micros(5));
/// let lent = clock.clone();
/// clock.advance(Span::MINUTE);
/// assert_eq!(lent.now(), Tick::from_micros(60_000_005));
/// clock.set(Tick::EPOCH);
/// assert_eq!(lent.now(), Tick::EPOCH);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that stands at `start`.
    #[must_use]
    pub fn at(start: Tick) -> ManualClock {
        ManualClock(Arc::new(AtomicU64::new(start.0)))
    }

    /// Moves the clock forwards by `span`.
    pub fn advance(&self, span: Span) {
        self.set(self.now().after(span));
    }

    /// Moves the clock to `now`, forwards or backwards.
    pub fn set(&self, now: Tick) {
        // Relaxed: the word is the whole truth, nothing else is published by it.
        self.0.store(now.0, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Tick {
        Tick(self.0.load(Ordering::Relaxed))
    }
}
