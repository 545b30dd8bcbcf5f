//! The numbers of one limit's answer, in the units of headers.

use tollgate_core::{Answer, Limit, Span, Tick, Verdict};

/// The largest integer of a structured field (RFC 9651, 3.3.1).
const MOST: u64 = 999_999_999_999_999;

/// What headers say of one limit. Every number is at most [`MOST`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    /// The capacity, so that `remaining` never exceeds it.
    pub(super) limit: u64,
    /// Seconds in which the capacity refills, at least 1.
    pub(super) window: u64,
    /// What is left.
    pub(super) remaining: u64,
    /// Seconds, rounded up, until a refused request passes, else until nothing is owed.
    pub(super) after: u64,
    /// The same instant in Unix seconds, rounded up.
    pub(super) at: u64,
    /// Whether waiting helps at all.
    pub(super) never: bool,
}

impl Figures {
    pub(super) fn of(answer: &Answer<'_>) -> Figures {
        let limit = answer.limit();
        let after = answer.retry_after().unwrap_or_else(|| answer.reset_after());
        Figures {
            limit: limit.capacity().min(MOST),
            window: window(limit).min(MOST),
            remaining: answer.remaining().min(MOST),
            after: after.as_secs_ceil().min(MOST),
            at: answer.now().after(after).since(Tick::EPOCH).as_secs_ceil().min(MOST),
            never: answer.verdict() == Verdict::Never,
        }
    }
}

/// Seconds, rounded up, in which an empty capacity fills: capacity × period / amount.
fn window(limit: &Limit) -> u64 {
    let (quota, capacity) = (limit.quota(), limit.capacity());
    let period = quota.period().as_micros();
    let micros = match (quota.amount(), capacity.checked_mul(period)) {
        (0, _) => period,
        (amount, _) if amount == capacity => period,
        (amount, Some(product)) => product.div_ceil(amount),
        (amount, None) => {
            let exact = (u128::from(capacity) * u128::from(period)).div_ceil(u128::from(amount));
            u64::try_from(exact).unwrap_or(u64::MAX)
        }
    };
    Span::from_micros(micros).as_secs_ceil()
}
