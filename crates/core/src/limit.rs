//! A named quota with an algorithm, its numbers proved to fit.

mod builder;
mod error;
mod identity;
mod share;

use alloc::boxed::Box;

use crate::algorithm::{
    Algorithm, Anchor, Moment, Patience, Resolution, Rule, Ruling, State, WordRule,
};
use crate::calendar::Calendar;
use crate::clock::{Span, Tick};
use crate::decision::Verdict;
use crate::key::{Key, Net};
use crate::quota::Quota;
use crate::store::OnError;

pub use builder::LimitBuilder;
use error::Kind;
pub use error::LimitError;
use identity::Fnv;

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
    on_error: OnError,
    lease: u8,
    resolution: Resolution,
    rule: Rule,
    capacity: u64,
    window: u64,
    id: u64,
    print: u64,
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
        LimitBuilder {
            name,
            quota,
            algorithm: Algorithm::default(),
            resolution: None,
            on_error: OnError::default(),
            lease: 0,
        }
    }

    /// The same limit of another quota: of one name, algorithm, period and tick, so of one count.
    ///
    /// ```
    /// use tollgate_core::{Limit, Quota};
    /// let free = Limit::new("plan", Quota::per_day(100))?;
    /// let paid = free.with_quota(Quota::per_day(5_000))?;
    /// assert_eq!((paid.capacity(), paid.id()), (5_000, free.id()));
    /// let error = free.with_quota(Quota::per_hour(300)).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "`300/h` would be another count; expected the period of the limit, 1d"
    /// );
    /// # Ok::<(), tollgate_core::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// When the period is another one, or as [`LimitBuilder::build`].
    pub fn with_quota(&self, quota: Quota) -> Result<Limit, LimitError> {
        let Limit { algorithm, resolution, .. } = *self;
        if quota.period() != self.quota.period() {
            return Err(LimitError { quota, algorithm, kind: Kind::Period(self.quota.period()) });
        }
        let limit = Limit::builder(&self.name, quota).algorithm(algorithm).resolution(resolution);
        limit.on_error(self.on_error).lease(self.lease).build()
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

    /// What becomes of charges while the store cannot be asked.
    #[must_use]
    pub fn on_error(&self) -> OnError {
        self.on_error
    }

    /// The most that a shared store hands an instance ahead, so many per cent of the capacity, at least
    /// 1; 0 if nothing is leased.
    #[must_use]
    pub fn lease(&self) -> u64 {
        let is_queue = matches!(self.algorithm, Algorithm::LeakyBucket(_));
        if self.lease == 0 || is_queue || self.calendar().is_some() {
            return 0;
        }
        // A hundredth first: a capacity times 50 may pass 64 bits.
        let (whole, rest) = (self.capacity / 100, self.capacity % 100);
        let percent = u64::from(self.lease);
        whole.saturating_mul(percent).saturating_add(rest.saturating_mul(percent) / 100).max(1)
    }

    /// The calendar whose windows it counts in, if it does.
    #[inline]
    #[must_use]
    pub fn calendar(&self) -> Option<&'static Calendar> {
        match self.algorithm {
            Algorithm::FixedWindow(Anchor::Calendar(calendar)) => Some(calendar),
            _ => None,
        }
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
        let phase = match self.calendar() {
            None => phase,
            Some(calendar) => calendar.phase(now, self.resolution),
        };
        Moment { now: self.resolution.floor(now.as_micros()), phase }
    }

    /// How far a key's windows are shifted, in ticks: FNV-1a of identity and key, modulo the window.
    /// Fixed and documented, since every store must agree on it; 0 for all but spread fixed windows.
    #[inline]
    #[must_use]
    pub fn phase(&self, key: &Key<'_>) -> u64 {
        // The rule first: who has asked for it has asked for this as well.
        let Rule::Words(WordRule::Fixed(_)) = self.rule else { return 0 };
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
        if let Some(calendar) = self.calendar() {
            return calendar.end(ticks, now, self.resolution).since(now);
        }
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
