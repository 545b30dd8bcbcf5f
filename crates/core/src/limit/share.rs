//! One instance's share of a limit, for when several decide alone.

use core::iter;
use core::num::NonZeroU32;

use crate::algorithm::{Algorithm, Anchor, Queue, Resolution, Rule};
use crate::clock::Span;
use crate::quota::Quota;

use super::{Limit, LimitBuilder};

/// What of a bucket's numbers a share may give up where no tick holds them; always towards less.
#[derive(Clone, Copy)]
enum Loss {
    Nothing,
    /// A period of more than 285 years is 285 years, at as much of the rate as fits; and a tick
    /// refills no more than the burst.
    Rate,
    /// That, and nothing waits in a queue.
    Queue,
}

impl Limit {
    /// What this instance may admit while it and `replicas − 1` others decide alone, so that all of
    /// them together stay near this limit; of the same name and algorithm.
    ///
    /// - A bucket of R per P and a burst of B: R per N × P, a burst of B / N. All N together admit at
    ///   most `max(B, N) + R × W / P` in any W. A queue's length is split like the burst; a longest
    ///   wait stays, since the slower share makes the queue N times shorter by itself.
    /// - A window of L per W: L / N per W; with less than 1 each, 1 per W × N / L. All logs together
    ///   admit at most `max(L, N)` in any W, windows twice that.
    /// - `0/…` stays, and so does every limit when N is 1.
    ///
    /// A window that keeps its W keeps its identity: limit and share belong into two stores.
    ///
    /// Quotients are rounded down, but to 1 at least (a queue of none stays one); periods are rounded
    /// up to whole ticks. The tick stays where the numbers fit, else it is the finest in which they do.
    /// Where they fit in none (hundreds of years, a burst below what one tick refills) a share gives
    /// up some of its rate, then its queue, never the bound.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use tollgate_core::{Algorithm, Limit, Quota};
    /// let three = NonZeroU32::new(3).unwrap();
    /// let share = Limit::new("api", "100/s burst 20".parse()?)?.share(three);
    /// assert_eq!((share.name(), share.quota().to_string().as_str()), ("api", "100/3s burst 6"));
    /// let login = Limit::builder("login", "2/minute".parse()?).algorithm(Algorithm::SlidingLog);
    /// assert_eq!(login.build()?.share(three).quota().to_string(), "1/1m30s");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn share(&self, replicas: NonZeroU32) -> Limit {
        let (share, _, _) = self.cut(replicas);
        share.build().expect("`cut` has proved it")
    }

    /// The rule of [`Limit::share`] and its tick, without a copy of the name: enough to tell what a
    /// state leaves.
    #[must_use]
    pub fn share_rule(&self, replicas: NonZeroU32) -> (Rule, Resolution) {
        let (_, rule, tick) = self.cut(replicas);
        (rule, tick)
    }

    /// The first share that can be built, of those that lose least.
    fn cut(&self, replicas: NonZeroU32) -> (LimitBuilder<'_>, Rule, Resolution) {
        let losses = [Loss::Nothing, Loss::Rate, Loss::Queue].into_iter();
        let ticks = || iter::once(self.resolution).chain(Resolution::ALL);
        let mut shares = losses.flat_map(|loss| ticks().map(move |tick| (loss, tick)));
        let proved = shares.find_map(|(loss, tick)| {
            let share = self.share_in(tick, replicas.get().into(), loss)?;
            let (rule, _) = share.rule(tick).ok()?;
            Some((share, rule, tick))
        });
        // A bucket of B >= N fits its own tick with `Loss::Queue`: burst × period, amount and so
        // their budget are at most what they were. One of B < N has a burst of 1 and fits seconds: its
        // period is below 2^34 of them and its amount no larger. A window with L >= N only counts
        // less; with L < N it counts 1 and fits seconds, again below 2^34.
        proved.expect("the last try always fits")
    }

    fn share_in(&self, tick: Resolution, replicas: u64, loss: Loss) -> Option<LimitBuilder<'_>> {
        let (quota, algorithm) = match self.algorithm {
            _ if replicas == 1 || self.quota.amount() == 0 => (self.quota, self.algorithm),
            Algorithm::TokenBucket => {
                let burst = self.quota.burst().unwrap_or(self.quota.amount());
                (self.bucket_share(tick, replicas, burst, loss)?, self.algorithm)
            }
            Algorithm::LeakyBucket(queue) => {
                let queue = match (queue, loss) {
                    (_, Loss::Queue) | (Queue::Length(0), _) => Queue::Length(0),
                    (Queue::Length(length), _) => Queue::Length(part(length, replicas)),
                    (Queue::MaxWait(span), _) => Queue::MaxWait(span),
                };
                let burst = self.quota.burst().unwrap_or(1);
                let quota = self.bucket_share(tick, replicas, burst, loss)?;
                (quota, Algorithm::LeakyBucket(queue))
            }
            Algorithm::FixedWindow(Anchor::Calendar(_)) if self.quota.amount() >= replicas => {
                let amount = part(self.quota.amount(), replicas);
                (Quota::new(amount, self.quota.period()).ok()?, self.algorithm)
            }
            // A calendar has no windows over which less than one charge each could be spread.
            Algorithm::FixedWindow(Anchor::Calendar(_)) => {
                (self.window_share(tick, replicas)?, Algorithm::FixedWindow(Anchor::Clock))
            }
            _ => (self.window_share(tick, replicas)?, self.algorithm),
        };
        Some(LimitBuilder {
            name: &self.name,
            quota,
            algorithm,
            resolution: Some(tick),
            on_error: self.on_error,
            lease: 0,
        })
    }

    fn bucket_share(
        &self,
        tick: Resolution,
        replicas: u64,
        burst: u64,
        loss: Loss,
    ) -> Option<Quota> {
        let wanted = u128::from(self.quota.period().as_micros()) * u128::from(replicas);
        let period = whole_ticks(wanted, tick);
        let (amount, burst) = (self.quota.amount(), part(burst, replicas));
        let amount = match loss {
            Loss::Nothing if u128::from(period) < wanted => return None,
            Loss::Nothing => amount,
            Loss::Rate | Loss::Queue => {
                let scaled = u128::from(amount) * u128::from(period) / wanted;
                let refilled = u128::from(burst) * u128::from(period / tick.micros());
                let most = scaled.min(refilled).min(amount.into());
                u64::try_from(most).unwrap_or(amount).max(1)
            }
        };
        Quota::new(amount, Span::from_micros(period)).ok()?.with_burst(burst).ok()
    }

    fn window_share(&self, tick: Resolution, replicas: u64) -> Option<Quota> {
        let amount = self.quota.amount();
        let window = self.calendar().map_or(self.quota.period(), |calendar| calendar.longest());
        let window = u128::from(window.as_micros());
        let stretched = (window * u128::from(replicas)).div_ceil(u128::from(amount));
        let window = whole_ticks(stretched.max(window), tick);
        Quota::new(part(amount, replicas), Span::from_micros(window)).ok()
    }
}

/// One of `replicas` parts, 1 at least.
fn part(whole: u64, replicas: u64) -> u64 {
    whole.checked_div(replicas).unwrap_or(whole).max(1)
}

/// `micros` in whole ticks, rounded up; at most 285 years.
fn whole_ticks(micros: u128, tick: Resolution) -> u64 {
    let (unit, longest) = (tick.micros(), Span::LONGEST.as_micros());
    let ticks = u64::try_from(micros.div_ceil(unit.into())).unwrap_or(u64::MAX);
    ticks.min(longest / unit) * unit
}
