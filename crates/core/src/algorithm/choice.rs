//! How a limit counts, in the words of whoever chooses it.

use core::fmt;

use crate::calendar::Calendar;
use crate::clock::Span;

/// How a limit counts, as a person chooses it.
///
/// Only buckets have a burst; a window given one is refused when it is built.
///
/// ```
/// use tollgate_core::{Algorithm, Limit};
/// let quota = "10/s burst 20".parse()?;
/// assert_eq!(Limit::builder("api", quota).build()?.capacity(), 20);
/// let window = Limit::builder("api", quota).algorithm(Algorithm::SlidingWindow).build();
/// assert!(window.unwrap_err().to_string().contains("sliding-window has none"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// Refills evenly up to its burst. GCRA and the leaky bucket as a meter are the same.
    #[default]
    TokenBucket,
    /// A queue that lets its charges go evenly spaced: it answers "allowed after a wait".
    LeakyBucket(Queue),
    /// Counts from window to window.
    FixedWindow(Anchor),
    /// Two windows, the older one weighed by how much of it is still in sight.
    SlidingWindow,
    /// Every charge with its time: exact, and the one rule whose state grows.
    SlidingLog,
}

impl Algorithm {
    /// The name in files, metrics and keys.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::TokenBucket => "token-bucket",
            Algorithm::LeakyBucket(_) => "leaky-bucket",
            Algorithm::FixedWindow(_) => "fixed-window",
            Algorithm::SlidingWindow => "sliding-window",
            Algorithm::SlidingLog => "sliding-log",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How long the queue of a leaky bucket may grow.
///
/// Those who wait come on top of the burst, which is 1 unless said.
///
/// ```
/// use tollgate_core::{Algorithm, Limit, Queue, Quota, Span};
/// let jobs = |queue| {
///     let shaped = Limit::builder("jobs", Quota::per_second(10));
///     shaped.algorithm(Algorithm::LeakyBucket(queue)).build()
/// };
/// let four = jobs(Queue::Length(4))?;
/// assert_eq!((four.capacity_at_once(), four.capacity()), (1, 5));
/// let half_a_second = jobs(Queue::MaxWait(Span::from_millis(500)))?;
/// assert_eq!(half_a_second.capacity(), 6);
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Queue {
    /// At most this many wait beyond the burst; 0 lets nothing wait.
    Length(u64),
    /// Nothing waits longer than this.
    MaxWait(Span),
}

/// Where the windows of a fixed window begin.
///
/// ```
/// use tollgate_core::{Algorithm, Anchor, Key, Limit, Quota};
/// let hourly = |anchor| {
///     let window = Algorithm::FixedWindow(anchor);
///     Limit::builder("mail", Quota::per_hour(5)).algorithm(window).build()
/// };
/// let (spread, clock) = (hourly(Anchor::Spread)?, hourly(Anchor::Clock)?);
/// assert_ne!(spread.phase(&Key::from("ann")), spread.phase(&Key::from("bob")));
/// assert_eq!(clock.phase(&Key::from("ann")), clock.phase(&Key::from("bob")));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// At multiples of the period since the epoch, shifted by a fixed hash of limit and key, so that
    /// the clients of a service do not all return in one instant.
    #[default]
    Spread,
    /// At multiples of the period since the epoch, for every key alike.
    Clock,
    /// At the first charge.
    FirstHit,
    /// Where those of a calendar do, for every key alike. The period of the quota is then only what is
    /// told; a calendar lives as long as the process, since there are few and limits are made often.
    Calendar(&'static Calendar),
}

/// The tick a limit counts in.
///
/// It follows from the period (up to a minute: 1 µs; up to a day: 1 ms; longer: 1 s) unless given.
///
/// A quota too large for its tick fits a coarser one, which the error names.
///
/// ```
/// use tollgate_core::{Limit, Quota, Resolution, Span};
/// assert_eq!(Resolution::of(Span::MINUTE), Resolution::Micros);
/// let bytes: Quota = "5000000000/minute".parse().unwrap();
/// let error = Limit::new("bytes", bytes).unwrap_err();
/// assert_eq!(error.fitting_tick(), Some(Resolution::Millis));
/// assert!(Limit::builder("bytes", bytes).resolution(Resolution::Millis).build().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resolution {
    /// 1 µs.
    Micros,
    /// 1 ms.
    Millis,
    /// 1 s.
    Seconds,
}

impl Resolution {
    /// From the finest to the coarsest.
    pub const ALL: [Resolution; 3] = [Resolution::Micros, Resolution::Millis, Resolution::Seconds];

    /// The tick that follows from a period.
    #[must_use]
    pub const fn of(period: Span) -> Resolution {
        match period.as_micros() {
            0..=60_000_000 => Resolution::Micros,
            60_000_001..=86_400_000_000 => Resolution::Millis,
            _ => Resolution::Seconds,
        }
    }

    /// Microseconds per tick.
    #[inline]
    #[must_use]
    pub const fn micros(self) -> u64 {
        match self {
            Resolution::Micros => 1,
            Resolution::Millis => 1_000,
            Resolution::Seconds => 1_000_000,
        }
    }

    /// Whole ticks in `micros`, rounded down.
    #[inline]
    pub(crate) const fn floor(self, micros: u64) -> u64 {
        // One arm per tick, so that each division is by a constant.
        match self {
            Resolution::Micros => micros,
            Resolution::Millis => micros / 1_000,
            Resolution::Seconds => micros / 1_000_000,
        }
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Resolution::Micros => "1us",
            Resolution::Millis => "1ms",
            Resolution::Seconds => "1s",
        })
    }
}
