//! Token bucket, in the deficit form. GCRA and the leaky bucket as a meter are this rule.
//!
//! State: `(debt, last)`. The debt is used capacity in units of 1/P token, so that a refill of R per
//! P ticks adds whole units and no division ever touches the state: there is no drift. An admitted
//! charge adds `cost × P`; every tick takes R away.
//!
//! - **Bound**: any half-open span of W ticks admits at most `B + floor(R × W / P)`.
//! - **Worst case**: the whole burst at once, then the even rate: almost `2 × R` in one period when
//!   B = R.
//! - **Memory**: 16 bytes per key.
//!
//! Equal, verdict by verdict, to ITU-T I.371 GCRA with increment P/R and limit (B − 1) × P/R, in
//! both its forms (virtual scheduling and continuous-state leaky bucket).

#![allow(clippy::arithmetic_side_effects, reason = "`Bucket::new` proves 3 × full + rate ≤ 2^53")]

use super::leaky_bucket::Patience;
use super::{Charged, Moment, Ruling, State, Step};

/// A token bucket: R tokens per P ticks, capacity in units of 1/P token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bucket {
    /// Units that leak per tick; also tokens per period.
    pub(super) rate: u64,
    /// Units per token; also ticks per period.
    pub(super) period: u64,
    /// Debt up to which a charge passes at once, `burst × period`.
    pub(super) burst: u64,
    /// Debt up to which a charge passes at all; the burst and the queue. `2 × full` fits 2^53.
    pub(super) full: u64,
    /// Debt may never be re-anchored unless it lies further ahead than this, in ticks.
    pub(super) far: u64,
    /// Most tokens one charge may cost, `full / period`: saves a division per decision.
    most: u64,
    /// The same for callers that do not wait, `burst / period`.
    most_at_once: u64,
}

/// The debt left at a moment, and how far the stored time lies ahead of it.
struct Leaked {
    debt: u64,
    last: u64,
    back: u64,
}

impl Bucket {
    /// A bucket whose queue holds `queue` units beyond the burst, or `None` when 3 × full + rate
    /// passes 2^53. `minute` is 60 s in ticks.
    pub(crate) fn new(
        rate: u64,
        period: u64,
        burst: u64,
        queue: u64,
        minute: u64,
    ) -> Option<Bucket> {
        let units = burst.checked_mul(period)?;
        let full = units.checked_add(queue)?;
        let budget = full.checked_mul(3)?.checked_add(rate)?;
        (budget <= 1 << 53).then(|| Bucket {
            rate,
            period,
            burst: units,
            full,
            far: minute.max(full.div_ceil(rate)),
            most: full / period,
            most_at_once: burst,
        })
    }

    /// The most tokens it can ever owe without a settlement.
    pub(crate) fn capacity(&self) -> u64 {
        self.most
    }

    /// The most that pass without waiting.
    pub(crate) fn capacity_at_once(&self) -> u64 {
        self.most_at_once
    }

    #[inline]
    pub(super) fn admit(&self, state: State, at: Moment, cost: u64) -> Option<State> {
        let step = self.ask(state, at, cost, Patience::Now);
        if step.ruling == Ruling::Allow { Some(step.next) } else { None }
    }

    /// What becomes of a charge of at least 1.
    #[inline(always)]
    pub(super) fn ask(&self, state: State, at: Moment, cost: u64, patience: Patience) -> Step {
        let (limit, most) = match patience {
            Patience::Wait => (self.full, self.most),
            Patience::Now => (self.burst, self.most_at_once),
        };
        if cost > most {
            return Step { ruling: Ruling::Never, next: state };
        }
        let leaked = self.leak(state, at.now);
        let debt = leaked.debt + cost * self.period;
        if debt <= limit {
            let ruling = if debt <= self.burst { Ruling::Allow } else { self.release(debt) };
            return Step { ruling, next: State(debt, leaked.last) };
        }
        let wait = (debt - limit).div_ceil(self.rate);
        if leaked.back > self.far {
            return Step { ruling: Ruling::Deny(wait), next: State(state.0, at.now) };
        }
        Step { ruling: Ruling::Deny(wait + leaked.back), next: state }
    }

    #[inline]
    pub(super) fn room(&self, state: State, at: Moment, patience: Patience) -> u64 {
        let limit = match patience {
            Patience::Wait => self.full,
            Patience::Now => self.burst,
        };
        limit.saturating_sub(self.leak(state, at.now).debt) / self.period
    }

    #[inline]
    pub(super) fn reset_after(&self, state: State, at: Moment) -> u64 {
        let leaked = self.leak(state, at.now);
        if leaked.debt == 0 { 0 } else { leaked.debt.div_ceil(self.rate) + leaked.back }
    }

    /// Gives back only what has not leaked away since: more would break the bound. A queue gives back
    /// the whole place of its tail, which then is as if it had never come, and no other.
    pub(super) fn give(
        &self,
        state: State,
        at: Moment,
        then: &Bucket,
        charged: &Charged,
        actual: u64,
    ) -> State {
        let leaked = self.leak(state, at.now);
        let State(debt_then, charged_at) = charged.left;
        if actual > charged.cost {
            let room = 2 * self.full - leaked.debt;
            let extra = (actual - charged.cost).min(room / self.period + 1) * self.period;
            return State(leaked.debt + extra.min(room), leaked.last);
        }
        let lowered = self.rate < then.rate || self.full < then.full;
        let re_anchored = leaked.last < charged_at;
        if lowered || re_anchored {
            return state;
        }
        let since = self.rate.saturating_mul(leaked.last - charged_at);
        let given = (charged.cost - actual) * self.period;
        let back = if self.has_queue() {
            if !self.is_tail(debt_then, leaked.debt, since) {
                return state;
            }
            given
        } else {
            given.saturating_sub(since)
        };
        State(leaked.debt.saturating_sub(back), leaked.last)
    }

    #[inline]
    fn leak(&self, state: State, now: u64) -> Leaked {
        let State(debt, last) = state;
        // A capacity lowered since the charge: debt counts at most twice the new one.
        let debt = debt.min(2 * self.full);
        match now.checked_sub(last) {
            Some(elapsed) => {
                let leaked = self.rate.saturating_mul(elapsed);
                Leaked { debt: debt.saturating_sub(leaked), last: now, back: 0 }
            }
            // Owing nothing is as good as fresh, wherever the clock stands.
            None if debt == 0 => Leaked { debt, last: now, back: 0 },
            None => Leaked { debt, last, back: last - now },
        }
    }
}
