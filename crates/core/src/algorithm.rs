//! What a rule is, and the list of rules.
//!
//! A rule is a pure function over a few integers: `(state, now, cost) -> (verdict, next state)`. It
//! reads no clock and holds no lock; a store applies it atomically. State holds *debt*: a key never
//! seen and a key fully recovered are the same state, zero, so forgetting can only mean "back to
//! zero", and [`Answer::reset_after`](crate::Answer::reset_after) says from when that is safe.
//!
//! Inside a rule time is counted in the *ticks* of its limit (1 µs, 1 ms or 1 s, see
//! [`Resolution`]), and everything stays below 2^53, which is proved once, when a limit is built.

mod fixed_window;
mod leaky_bucket;
mod sliding_log;
mod sliding_window;
mod token_bucket;

use core::fmt;

use crate::clock::Span;

pub use fixed_window::FixedWindow;
pub(crate) use fixed_window::Start;
pub use leaky_bucket::Patience;
pub use sliding_log::{Log, SlidingLog};
pub use sliding_window::SlidingWindow;
pub use token_bucket::Bucket;

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

/// What a rule keeps of one key: two integers, zero when it owes nothing.
///
/// Their meaning is the rule's; each rule's page says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State(pub u64, pub u64);

impl State {
    /// A key never seen, or fully recovered.
    pub const FRESH: State = State(0, 0);
}

/// The instant and the key's phase, in ticks, as a rule sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Ticks since the epoch, rounded down.
    pub now: u64,
    /// How far this key's windows are shifted, below the period.
    pub phase: u64,
}

/// What a rule says of one charge, waits in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It passes at once.
    Allow,
    /// It passes, and starts after this many ticks.
    Wait(u64),
    /// It passes at the earliest after this many ticks.
    Deny(u64),
    /// It never passes: the cost is above the capacity.
    Never,
}

impl Ruling {
    /// Whether the charge passes, at once or after a wait.
    #[inline]
    #[must_use]
    pub const fn passes(self) -> bool {
        matches!(self, Ruling::Allow | Ruling::Wait(_))
    }
}

/// A ruling and the state to write if the whole decision passes.
///
/// On a refusal `next` is the state as it was, or re-anchored: the one write a refusal may cause,
/// when the stored time lies so far ahead that the clock must have stepped back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What the rule says.
    pub ruling: Ruling,
    /// The state afterwards.
    pub next: State,
}

/// A rule ready to be applied: numbers proved to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A rule whose state is two words.
    Words(WordRule),
    /// The rule that keeps every charge.
    Log(SlidingLog),
}

/// A rule whose state is two words, kept in place by every store.
///
/// What a store does with one: ask it, and keep the next state if all passes.
///
/// ```
/// use tollgate_core::algorithm::{Patience, Rule, Ruling, State};
/// use tollgate_core::{Key, Limit, Quota, Tick};
/// let limit = Limit::new("api", Quota::per_second(2))?;
/// let Rule::Words(rule) = limit.rule() else { unreachable!("a bucket keeps two words") };
/// let at = limit.moment(Tick::EPOCH, &Key::from("ann"));
/// let two = rule.ask(State::FRESH, at, 2, Patience::Wait);
/// assert_eq!(two.ruling, Ruling::Allow);
/// let third = rule.ask(two.next, at, 1, Patience::Wait);
/// assert_eq!((third.ruling, third.next), (Ruling::Deny(500_000), two.next));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordRule {
    /// Token bucket, and the leaky bucket as a queue.
    Bucket(Bucket),
    /// Fixed window.
    Fixed(FixedWindow),
    /// Sliding window counter.
    Sliding(SlidingWindow),
    /// `0/…`: nothing passes and nothing is written.
    Never,
}

impl WordRule {
    /// The state after a charge of `cost` that passes at once; `None` if it does not, or costs 0.
    // Always: it is what nearly every decision is, and a call costs that a tenth of its instructions.
    #[inline(always)]
    #[must_use]
    pub fn admit(&self, state: State, at: Moment, cost: u64) -> Option<State> {
        match self {
            _ if cost == 0 => None,
            WordRule::Bucket(rule) => rule.admit(state, at, cost),
            _ => self.admit_in_window(state, at, cost),
        }
    }

    /// The same for the rules that divide: out of the way of the one that does not.
    #[inline(never)]
    fn admit_in_window(&self, state: State, at: Moment, cost: u64) -> Option<State> {
        match self {
            WordRule::Fixed(rule) => rule.admit(state, at, cost),
            WordRule::Sliding(rule) => rule.admit(state, at, cost),
            WordRule::Bucket(_) | WordRule::Never => None,
        }
    }

    /// What becomes of a charge of `cost` at a moment. Cost 0 passes and writes nothing, except under
    /// `0/…`, which passes nothing at all.
    // Always, for the same reason: a refusal is to cost no more than what is admitted.
    #[inline(always)]
    #[must_use]
    pub fn ask(&self, state: State, at: Moment, cost: u64, patience: Patience) -> Step {
        match self {
            WordRule::Bucket(rule) if cost > 0 => rule.ask(state, at, cost, patience),
            _ => self.ask_in_window(state, at, cost),
        }
    }

    /// The same for the rules that divide, and for what costs nothing.
    #[inline(never)]
    fn ask_in_window(&self, state: State, at: Moment, cost: u64) -> Step {
        let allow = |next| Step { ruling: Ruling::Allow, next };
        match self {
            WordRule::Never => Step { ruling: Ruling::Never, next: state },
            WordRule::Fixed(rule) if cost > 0 => {
                rule.admit(state, at, cost).map_or_else(|| rule.refuse(state, at, cost), allow)
            }
            WordRule::Sliding(rule) if cost > 0 => {
                rule.admit(state, at, cost).map_or_else(|| rule.refuse(state, at, cost), allow)
            }
            _ => allow(state),
        }
    }

    /// The largest cost that would pass at a moment.
    #[inline]
    #[must_use]
    pub fn room(&self, state: State, at: Moment, patience: Patience) -> u64 {
        match self {
            WordRule::Bucket(rule) => rule.room(state, at, patience),
            WordRule::Fixed(rule) => rule.room(state, at),
            WordRule::Sliding(rule) => rule.room(state, at),
            WordRule::Never => 0,
        }
    }

    /// Ticks until the state is as good as fresh, if nothing more is charged.
    #[inline]
    #[must_use]
    pub fn reset_after(&self, state: State, at: Moment) -> u64 {
        match self {
            WordRule::Bucket(rule) => rule.reset_after(state, at),
            WordRule::Fixed(rule) => rule.reset_after(state, at),
            WordRule::Sliding(rule) => rule.reset_after(state, at),
            WordRule::Never => 0,
        }
    }

    /// The state once a charge of `charged.cost` turns out to cost `actual`; 0 gives it all back.
    ///
    /// A charge made under another algorithm or period changes nothing.
    #[must_use]
    pub fn give(&self, state: State, at: Moment, charged: &Charged, actual: u64) -> State {
        match (self, charged.under) {
            (WordRule::Bucket(rule), Rule::Words(WordRule::Bucket(then)))
                if rule.period == then.period =>
            {
                rule.give(state, at, &then, charged, actual)
            }
            (WordRule::Fixed(rule), Rule::Words(WordRule::Fixed(then)))
                if rule.window == then.window =>
            {
                rule.give(state, charged, actual)
            }
            (WordRule::Sliding(rule), Rule::Words(WordRule::Sliding(then)))
                if rule.window == then.window =>
            {
                rule.give(state, at, charged, actual)
            }
            _ => state,
        }
    }
}

/// What is remembered of a charge, to give it back or settle it.
///
/// ```
/// use tollgate_core::algorithm::{Charged, Patience, Rule, State};
/// use tollgate_core::{Key, Limit, Quota, Tick};
/// let limit = Limit::new("tokens", Quota::per_minute(100))?;
/// let Rule::Words(rule) = limit.rule() else { unreachable!("a bucket keeps two words") };
/// let at = limit.moment(Tick::EPOCH, &Key::from("ann"));
/// let estimated = rule.ask(State::FRESH, at, 80, Patience::Wait).next;
/// let charged = Charged { cost: 80, left: estimated, under: *limit.rule() };
/// let settled = rule.give(estimated, at, &charged, 30);
/// assert_eq!(rule.room(settled, at, Patience::Wait), 70);
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charged {
    /// What it cost.
    pub cost: u64,
    /// The state it left (for the log: the count, and the time of its own entry).
    pub left: State,
    /// The rule it was charged under.
    pub under: Rule,
}
