//! Random limits, costs and gaps: small ones that collide, and the extremes of the legal range.

use tollgate_core::{Algorithm, Limit, Queue, Quota, Resolution, Span};

use super::Form;
use crate::random::Random;

/// A legal limit of this form.
pub(super) fn limit(form: Form, random: &mut Random) -> Limit {
    loop {
        let resolution = *random.one_of(&Resolution::ALL);
        let small = random.once_in(2);
        let ticks = if small { random.between(1, 40) } else { random.of_any_size(53) };
        let micros = ticks.saturating_mul(resolution.micros()).clamp(1, 1 << 53);
        let resolution = random.once_in(2).then_some(resolution);
        let amount = if small { random.between(1, 12) } else { random.of_any_size(53).max(1) };
        let burst = match random.below(3) {
            0 => None,
            1 => Some(random.between(1, 12)),
            _ => Some(random.of_any_size(if small { 5 } else { 53 }).max(1)),
        };
        let algorithm = algorithm(form, micros, random);
        let build = |amount| build(algorithm, amount, micros, burst, resolution);
        if let Some(limit) = largest_below(amount, random, build) {
            return limit;
        }
    }
}

/// The same counter with another amount or burst; the same one when none other is legal.
pub(super) fn changed(form: Form, limit: &Limit, random: &mut Random) -> Limit {
    let old = limit.quota();
    let amount = match random.below(3) {
        0 => old.amount(),
        1 => random.between(1, old.amount().saturating_mul(2)),
        _ => random.of_any_size(53).max(1),
    };
    let micros = old.period().as_micros();
    let burst = match old.burst() {
        Some(burst) if random.once_in(2) => Some(random.between(1, burst.saturating_mul(2))),
        other => other,
    };
    let algorithm = match form {
        Form::LeakyBucket => limit.algorithm(),
        other => algorithm(other, micros, random),
    };
    build(algorithm, amount, micros, burst, Some(limit.resolution())).unwrap_or(limit.clone())
}

fn algorithm(form: Form, period: u64, random: &mut Random) -> Algorithm {
    match form.algorithm() {
        Algorithm::LeakyBucket(_) => Algorithm::LeakyBucket(match random.below(3) {
            0 => Queue::Length(random.below(10)),
            1 => Queue::Length(random.of_any_size(40)),
            _ => Queue::MaxWait(Span::from_micros(random.between(0, period.saturating_mul(3)))),
        }),
        other => other,
    }
}

fn build(
    algorithm: Algorithm,
    amount: u64,
    micros: u64,
    burst: Option<u64>,
    resolution: Option<Resolution>,
) -> Option<Limit> {
    let quota = Quota::new(amount, Span::from_micros(micros)).ok()?;
    let is_bucket = matches!(algorithm, Algorithm::TokenBucket | Algorithm::LeakyBucket(_));
    let quota = match burst.filter(|_| is_bucket) {
        Some(burst) => quota.with_burst(burst).ok()?,
        None => quota,
    };
    let builder = Limit::builder("law", quota).algorithm(algorithm);
    match resolution {
        Some(resolution) => builder.resolution(resolution).build().ok(),
        None => builder.build().ok(),
    }
}

/// The limit of this amount, or of a smaller one if that is not legal: now and then the very
/// largest that is.
fn largest_below(
    amount: u64,
    random: &mut Random,
    build: impl Fn(u64) -> Option<Limit>,
) -> Option<Limit> {
    if let Some(limit) = build(amount) {
        return Some(limit);
    }
    let (mut legal, mut illegal) = (0, amount);
    let exact = random.once_in(2);
    while legal + 1 < illegal && (exact || legal == 0) {
        let middle = legal.midpoint(illegal);
        match build(middle) {
            Some(_) => legal = middle,
            None => illegal = middle,
        }
    }
    build(legal.max(1))
}

/// A cost: nothing, one, a few, all there is, one more, or huge.
#[inline]
pub(super) fn cost(capacity: u64, room: u64, random: &mut Random) -> u64 {
    match random.below(16) {
        0 => 0,
        1..7 => 1,
        7..9 => random.between(1, 4),
        9 => capacity,
        10 => capacity.saturating_add(1),
        11 => room,
        12 => room.saturating_add(1),
        13 => random.between(1, capacity),
        14 => capacity >> random.below(12),
        _ => random.of_any_size(64),
    }
}

/// A gap: none, a tick, an interval, a period, years.
#[inline]
pub(super) fn gap(limit: &Limit, random: &mut Random) -> u64 {
    let (tick, quota) = (limit.resolution().micros(), limit.quota());
    let period = quota.period().as_micros();
    match random.below(16) {
        0..5 => 0,
        5 => 1,
        6..8 => tick,
        8 => random.below(tick.saturating_mul(4)),
        9..11 => (period / quota.amount().max(1)).max(tick),
        11 => random.below((period / quota.amount().max(1)).saturating_mul(3).max(2)),
        12 => random.below(period),
        13 => period,
        14 => random.below(period.saturating_mul(4)),
        _ if random.once_in(4) => random.of_any_size(53),
        _ => random.of_any_size(32),
    }
}

/// How far a clock steps back.
#[inline]
pub(super) fn back(limit: &Limit, random: &mut Random) -> u64 {
    let period = limit.quota().period().as_micros();
    match random.below(5) {
        0 => random.below(60_000_000),
        1 => random.below(period),
        2 => random.between(60_000_000, 7_200_000_000),
        3 => random.below(period.saturating_mul(6)).saturating_add(60_000_001),
        _ => random.of_any_size(53),
    }
}
