//! A named quota with an algorithm, its numbers proved to fit.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::algorithm::{
    Algorithm, Anchor, Bucket, FixedWindow, Moment, Patience, Queue, Resolution, Rule, Ruling,
    SlidingLog, SlidingWindow, Start, State, WordRule,
};
use crate::clock::{Span, Tick};
use crate::decision::Verdict;
use crate::key::{Key, Net};
use crate::quota::Quota;

/// The largest integer that whatever Lua computes may reach.
const LUA_EXACT: u64 = 1 << 53;

/// A named quota with an algorithm: what a charge is made against.
///
/// A counter's identity is the limit's name, algorithm, period and tick: a limit rebuilt with another
/// amount or burst goes on with what is used, one with another period or algorithm starts fresh.
///
/// ```
/// use tollgate_core::{Algorithm, Limit};
/// let limit = Limit::new("login", "5 per 15 minutes".parse()?)?;
/// assert_eq!(limit.capacity(), 5);
/// let exact = Limit::builder("login", limit.quota()).algorithm(Algorithm::SlidingLog).build()?;
/// assert_ne!(limit.id(), exact.id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limit {
    name: Box<str>,
    quota: Quota,
    algorithm: Algorithm,
    resolution: Resolution,
    rule: Rule,
    capacity: u64,
    window: u64,
    id: u64,
    print: u64,
}

/// A limit in the making; [`LimitBuilder::build`] proves it.
///
/// ```
/// use tollgate_core::{Algorithm, Limit, Queue, Quota, Resolution};
/// let limit = Limit::builder("jobs", Quota::per_second(10).with_burst(2)?)
///     .algorithm(Algorithm::LeakyBucket(Queue::Length(3)))
///     .resolution(Resolution::Millis)
///     .build()?;
/// assert_eq!(limit.capacity(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct LimitBuilder<'n> {
    name: &'n str,
    quota: Quota,
    algorithm: Algorithm,
    resolution: Option<Resolution>,
}

impl LimitBuilder<'_> {
    /// How to count; a token bucket unless said.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// The tick to count in, instead of the one that follows from the period.
    pub fn resolution(mut self, resolution: Resolution) -> Self {
        self.resolution = Some(resolution);
        self
    }

    /// Proves that every number fits.
    ///
    /// # Errors
    /// When the period is not whole ticks, a rate or burst is too large for the tick (the error
    /// names one that would fit), a burst is smaller than what one tick refills, a window was given
    /// a burst, or an exact log more than 10,000.
    pub fn build(self) -> Result<Limit, LimitError> {
        let resolution = self.resolution.unwrap_or(Resolution::of(self.quota.period()));
        let error = |kind| LimitError { quota: self.quota, algorithm: self.algorithm, kind };
        let (rule, capacity) = self.rule(resolution).map_err(|kind| {
            let finer_or_coarser = Resolution::ALL.into_iter().find(|r| self.rule(*r).is_ok());
            error(match kind {
                Kind::TooLarge(_) => Kind::TooLarge(finer_or_coarser),
                Kind::NotWhole(tick, _) => Kind::NotWhole(tick, finer_or_coarser),
                Kind::BurstBelowTick(least, _) => Kind::BurstBelowTick(least, finer_or_coarser),
                other => other,
            })
        })?;
        Ok(Limit {
            name: self.name.into(),
            quota: self.quota,
            algorithm: self.algorithm,
            resolution,
            rule,
            capacity,
            window: resolution.floor(self.quota.period().as_micros()),
            id: identity(self.name, self.algorithm, self.quota.period(), resolution),
            print: print(&rule, resolution),
        })
    }

    /// The rule in ticks of `resolution`, and its capacity.
    fn rule(&self, resolution: Resolution) -> Result<(Rule, u64), Kind> {
        let micros = self.quota.period().as_micros();
        let period = resolution.floor(micros);
        if period.saturating_mul(resolution.micros()) != micros {
            return Err(Kind::NotWhole(resolution, None));
        }
        let amount = self.quota.amount();
        if amount == 0 {
            return Ok((Rule::Words(WordRule::Never), 0));
        }
        let minute = resolution.floor(Span::MINUTE.as_micros());
        let too_large = Kind::TooLarge(None);
        match self.algorithm {
            Algorithm::TokenBucket => {
                let burst = self.quota.burst().unwrap_or(amount);
                bucket(amount, period, burst, Some(0), minute)
            }
            Algorithm::LeakyBucket(queue) => {
                let burst = self.quota.burst().unwrap_or(1);
                let queue = match queue {
                    Queue::Length(length) => length.checked_mul(period),
                    Queue::MaxWait(span) => resolution.floor(span.as_micros()).checked_mul(amount),
                };
                bucket(amount, period, burst, queue, minute)
            }
            _ if self.quota.burst().is_some() => Err(Kind::WindowBurst),
            Algorithm::FixedWindow(anchor) => {
                let start = match anchor {
                    Anchor::Spread | Anchor::Clock => Start::Aligned,
                    Anchor::FirstHit => Start::FirstHit,
                };
                let rule = FixedWindow::new(amount, period, start, minute).ok_or(too_large)?;
                Ok((Rule::Words(WordRule::Fixed(rule)), amount))
            }
            Algorithm::SlidingWindow => {
                let rule = SlidingWindow::new(amount, period, minute).ok_or(too_large)?;
                Ok((Rule::Words(WordRule::Sliding(rule)), amount))
            }
            Algorithm::SlidingLog if amount > SlidingLog::MOST => Err(Kind::LongLog),
            Algorithm::SlidingLog => {
                let rule = SlidingLog::new(amount, period, minute).ok_or(too_large)?;
                Ok((Rule::Log(rule), amount))
            }
        }
    }
}

fn bucket(
    rate: u64,
    period: u64,
    burst: u64,
    queue: Option<u64>,
    minute: u64,
) -> Result<(Rule, u64), Kind> {
    let too_large = Kind::TooLarge(None);
    let units = burst.checked_mul(period).ok_or(too_large)?;
    if units < rate {
        return Err(Kind::BurstBelowTick(rate.div_ceil(period), None));
    }
    let queue = queue.ok_or(too_large)?;
    let rule = Bucket::new(rate, period, burst, queue, minute).ok_or(too_large)?;
    Ok((Rule::Words(WordRule::Bucket(rule)), rule.capacity()))
}

impl Limit {
    /// A token bucket of this quota.
    ///
    /// # Errors
    /// As [`LimitBuilder::build`].
    pub fn new(name: &str, quota: Quota) -> Result<Limit, LimitError> {
        Limit::builder(name, quota).build()
    }

    /// A limit of another algorithm or tick.
    pub fn builder(name: &str, quota: Quota) -> LimitBuilder<'_> {
        LimitBuilder { name, quota, algorithm: Algorithm::default(), resolution: None }
    }

    /// The name in answers, metrics and keys.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The quota it was built from.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// How it counts.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The tick it counts in.
    #[must_use]
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// The largest cost that can ever pass, and the largest `remaining`: burst (and queue) of a
    /// bucket, the amount of a window, 0 for `0/…`.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The same for callers that cannot wait in a queue: the burst alone.
    #[must_use]
    pub fn capacity_at_once(&self) -> u64 {
        match &self.rule {
            Rule::Words(WordRule::Bucket(bucket)) => bucket.capacity_at_once(),
            _ => self.capacity,
        }
    }

    /// The rule with its numbers, for stores.
    #[inline]
    #[must_use]
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// A stable 64-bit hash of name, algorithm, period and tick: the counter's identity.
    #[inline]
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// A 64-bit hash, never 0, of the rule's numbers and the tick: limits of one print decide alike,
    /// so that a store need compare nothing else. Not stable between versions.
    #[inline]
    #[must_use]
    pub fn print(&self) -> u64 {
        self.print
    }

    /// The moment of `now` for `key`, in this limit's ticks.
    #[inline]
    #[must_use]
    pub fn moment(&self, now: Tick, key: &Key<'_>) -> Moment {
        self.moment_of(now, self.phase(key))
    }

    /// The same for a key whose phase is known.
    #[inline]
    #[must_use]
    pub fn moment_of(&self, now: Tick, phase: u64) -> Moment {
        Moment { now: self.resolution.floor(now.as_micros()), phase }
    }

    /// How far a key's windows are shifted, in ticks: FNV-1a of identity and key, modulo the window.
    /// Fixed and documented, since every store must agree on it; 0 for all but spread fixed windows.
    #[inline]
    #[must_use]
    pub fn phase(&self, key: &Key<'_>) -> u64 {
        if self.algorithm != Algorithm::FixedWindow(Anchor::Spread) {
            return 0;
        }
        // By value throughout, so that no key has to lie in memory for it.
        match *key {
            Key::Bytes(bytes) => self.phase_of(0, bytes),
            Key::Int(number) => self.phase_of_int(number),
            Key::Net(net) => {
                let [high, low, prefix] = net.to_words();
                self.phase_of_net(high, low, prefix)
            }
        }
    }

    /// What a ruling means to a caller at `now`: ticks from the floor of `now` become microseconds
    /// from `now` itself, so that no wait is a tick too short.
    #[inline]
    #[must_use]
    pub fn verdict(&self, ruling: Ruling, now: Tick) -> Verdict {
        match ruling {
            Ruling::Allow => Verdict::Allow,
            Ruling::Wait(ticks) => Verdict::Wait(self.span(ticks, now)),
            Ruling::Deny(ticks) => Verdict::Deny(self.span(ticks, now)),
            Ruling::Never => Verdict::Never,
        }
    }

    /// The span from `now` until `ticks` after the tick it lies in.
    #[inline]
    #[must_use]
    pub fn span(&self, ticks: u64, now: Tick) -> Span {
        let present = self.resolution.floor(now.as_micros());
        let then = present.saturating_add(ticks).saturating_mul(self.resolution.micros());
        Span::from_micros(then.saturating_sub(now.as_micros()))
    }

    /// What is left for a state.
    pub(crate) fn remaining(&self, left: State, at: Moment, patience: Patience) -> u64 {
        match &self.rule {
            Rule::Words(rule) => rule.room(left, at, patience),
            Rule::Log(rule) => rule.room_of(left),
        }
    }

    /// Ticks until a state is as good as fresh.
    pub(crate) fn reset_after(&self, left: State, at: Moment) -> u64 {
        match &self.rule {
            Rule::Words(rule) => rule.reset_after(left, at),
            Rule::Log(rule) => rule.reset_of(left, at),
        }
    }

    #[inline(never)]
    fn phase_of_int(&self, number: u64) -> u64 {
        self.phase_of(1, &number.to_le_bytes())
    }

    #[inline(never)]
    fn phase_of_net(&self, high: u64, low: u64, prefix: u64) -> u64 {
        self.phase_of(2, &Net::of_words([high, low, prefix]).to_bytes())
    }

    #[inline(never)]
    fn phase_of(&self, kind: u8, bytes: &[u8]) -> u64 {
        let hash = Fnv::new().bytes(&self.id.to_le_bytes()).bytes(&[kind]).bytes(bytes);
        hash.mixed().checked_rem(self.window).unwrap_or(0)
    }
}

/// Why a quota cannot be counted exactly by an algorithm.
///
/// It says what to take instead.
///
/// ```
/// use tollgate_core::{Algorithm, Limit, Quota};
/// let exact = Limit::builder("api", Quota::per_hour(50_000)).algorithm(Algorithm::SlidingLog);
/// let error = exact.build().unwrap_err();
/// assert!(error.to_string().ends_with("at most 10000; use a sliding-window"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitError {
    quota: Quota,
    algorithm: Algorithm,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    NotWhole(Resolution, Option<Resolution>),
    TooLarge(Option<Resolution>),
    BurstBelowTick(u64, Option<Resolution>),
    WindowBurst,
    LongLog,
}

impl LimitError {
    /// The tick with which the same quota would be accepted, if there is one.
    #[must_use]
    pub fn fitting_tick(&self) -> Option<Resolution> {
        match self.kind {
            Kind::NotWhole(_, tick) | Kind::TooLarge(tick) | Kind::BurstBelowTick(_, tick) => tick,
            _ => None,
        }
    }
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LimitError { quota, algorithm, kind } = self;
        match kind {
            Kind::NotWhole(tick, _) => {
                write!(f, "the period of `{quota}` is not whole ticks of {tick}")?
            }
            Kind::TooLarge(_) => write!(
                f,
                "`{quota}` as a {algorithm} is too large to count exactly (numbers stay below {LUA_EXACT})"
            )?,
            Kind::BurstBelowTick(least, _) => write!(
                f,
                "the burst of `{quota}` is smaller than what one tick refills; expected at least {least}"
            )?,
            Kind::WindowBurst => write!(
                f,
                "`{quota}` gives a burst, but a {algorithm} has none; leave it out or use a token-bucket"
            )?,
            Kind::LongLog => write!(
                f,
                "`{quota}` as a sliding-log keeps every charge, at most {}; use a sliding-window",
                SlidingLog::MOST
            )?,
        }
        self.fitting_tick().map_or(Ok(()), |tick| write!(f, "; a tick of {tick} would fit"))
    }
}

impl core::error::Error for LimitError {}

fn identity(name: &str, algorithm: Algorithm, period: Span, resolution: Resolution) -> u64 {
    let form: &[u8] = match algorithm {
        Algorithm::FixedWindow(Anchor::Clock) => b"clock",
        Algorithm::FixedWindow(Anchor::FirstHit) => b"first-hit",
        _ => b"",
    };
    // 0xff stands in no UTF-8 text, so no two tuples run together.
    Fnv::new()
        .bytes(name.as_bytes())
        .bytes(&[0xff])
        .bytes(algorithm.name().as_bytes())
        .bytes(&[0xff])
        .bytes(form)
        .bytes(&period.as_micros().to_le_bytes())
        .bytes(&resolution.micros().to_le_bytes())
        .mixed()
}

fn print(rule: &Rule, resolution: Resolution) -> u64 {
    let mut hash = Fnv::new();
    (rule, resolution).hash(&mut hash);
    hash.finish().max(1)
}

/// FNV-1a, 64 bits, with MurmurHash3's finalizer so that every bit counts in a modulo.
#[derive(Clone, Copy)]
struct Fnv(u64);

impl Fnv {
    const fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(self, bytes: &[u8]) -> Fnv {
        Fnv(bytes.iter().fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }))
    }

    const fn mixed(self) -> u64 {
        let hash = (self.0 ^ self.0 >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ hash >> 33
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        *self = Fnv(self.0).bytes(bytes);
    }

    fn finish(&self) -> u64 {
        self.mixed()
    }
}
