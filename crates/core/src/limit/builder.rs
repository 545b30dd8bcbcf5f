//! A limit in the making, and the proof that its numbers fit.

use crate::algorithm::{
    Algorithm, Anchor, Bucket, FixedWindow, Queue, Resolution, Rule, SlidingLog, SlidingWindow,
    Start, WordRule,
};
use crate::clock::Span;
use crate::quota::Quota;
use crate::store::OnError;

use super::Limit;
use super::error::{Kind, LimitError};
use super::identity::{identity, print};

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
    pub(super) name: &'n str,
    pub(super) quota: Quota,
    pub(super) algorithm: Algorithm,
    pub(super) resolution: Option<Resolution>,
    pub(super) on_error: OnError,
    pub(super) lease: u8,
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

    /// What becomes of charges while the store cannot be asked; [`OnError::Local`] unless said.
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Lets a shared store hand an instance up to so many per cent of the capacity ahead, at most 50,
    /// for keys that are asked about all the time: those are then decided in the process, as long as it
    /// lasts. The limit is exact without it (0). With it any span admits at most N times the lease
    /// more, N being the instances. Queues are never leased, and stores in the process never lease.
    pub fn lease(mut self, percent: u8) -> Self {
        self.lease = percent.min(50);
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
            on_error: self.on_error,
            lease: self.lease,
            resolution,
            rule,
            capacity,
            window: resolution.floor(self.quota.period().as_micros()),
            id: identity(self.name, self.algorithm, self.quota.period(), resolution),
            print: print(&rule, self.algorithm, resolution),
        })
    }

    /// The rule in ticks of `resolution`, and its capacity.
    pub(super) fn rule(&self, resolution: Resolution) -> Result<(Rule, u64), Kind> {
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
                let (window, start) = match anchor {
                    Anchor::Spread | Anchor::Clock => (period, Start::Aligned),
                    Anchor::FirstHit => (period, Start::FirstHit),
                    // Shifted by the calendar's phase, equal windows begin where its own do.
                    Anchor::Calendar(calendar) => {
                        (resolution.floor(calendar.longest().as_micros()), Start::Aligned)
                    }
                };
                let rule = FixedWindow::new(amount, window, start, minute).ok_or(too_large)?;
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
