//! The laws of shares: every limit has one, and all of them together stay near the limit.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends by a panic")]

use std::num::NonZeroU32;

use tollgate_conformance::{Form, Random, Reference};
use tollgate_core::algorithm::{Rule, WordRule};
use tollgate_core::{
    Algorithm, Charge, Limit, LocalStore, ManualClock, Mode, Queue, Quota, Resolution, Span, Tick,
};

fn replicas(number: u64) -> NonZeroU32 {
    NonZeroU32::new(u32::try_from(number).unwrap()).unwrap()
}

fn is_bucket(limit: &Limit) -> bool {
    matches!(limit.algorithm(), Algorithm::TokenBucket | Algorithm::LeakyBucket(_))
}

fn burst_of(limit: &Limit) -> u64 {
    let quota = limit.quota();
    quota.burst().unwrap_or(match limit.algorithm() {
        Algorithm::LeakyBucket(_) => 1,
        _ => quota.amount(),
    })
}

/// One of the seven forms; a queue is also bounded by a wait, and by lengths of every size.
fn any_algorithm(random: &mut Random, bits: u64) -> Algorithm {
    let form = random.one_of(&Form::ALL).algorithm();
    match form {
        Algorithm::LeakyBucket(_) if random.once_in(2) => {
            Algorithm::LeakyBucket(Queue::Length(random.of_any_size(bits)))
        }
        Algorithm::LeakyBucket(_) => {
            Algorithm::LeakyBucket(Queue::MaxWait(Span::from_micros(random.of_any_size(bits))))
        }
        other => other,
    }
}

/// Any limit that can be built at all, with numbers up to the last that fits.
fn any_limit(random: &mut Random) -> Limit {
    loop {
        let tick = *random.one_of(&Resolution::ALL);
        let period = random.of_any_size(53) / tick.micros() * tick.micros();
        let algorithm = any_algorithm(random, 53);
        let Ok(quota) = Quota::new(random.of_any_size(53), Span::from_micros(period)) else {
            continue;
        };
        let bursts = matches!(algorithm, Algorithm::TokenBucket | Algorithm::LeakyBucket(_));
        let ticks = period / tick.micros();
        let burst = match random.below(3) {
            _ if !bursts => 0,
            // Next to the largest that fits.
            0 => ((1 << 53) / 3 / ticks).saturating_sub(random.of_any_size(8)),
            _ => random.of_any_size(53),
        };
        let quota = quota.with_burst(burst).unwrap_or(quota);
        let builder = Limit::builder("any", quota).algorithm(algorithm).resolution(tick);
        if let Ok(limit) = builder.build() {
            return limit;
        }
    }
}

#[test]
fn every_limit_has_a_share_that_keeps_the_bound() {
    let mut random = Random::of(1);
    let (mut changed_tick, mut lost_rate) = (0, 0);
    for _ in 0..300_000 {
        let limit = any_limit(&mut random);
        let n = random.of_any_size(32).max(1);
        let share = limit.share(replicas(n));
        let at = format!("{limit:?} by {n}: {share:?}");

        assert_eq!((share.name(), share.algorithm().name()), ("any", limit.algorithm().name()));
        assert_eq!(limit.share_rule(replicas(n)), (*share.rule(), share.resolution()), "{at}");
        if limit.quota().amount() == 0 {
            assert_eq!((share.rule(), share.id()), (&Rule::Words(WordRule::Never), limit.id()));
            continue;
        }
        changed_tick += u32::from(share.resolution() != limit.resolution());

        let wide = |number: u64| u128::from(number);
        let (whole, part) = (limit.quota(), share.quota());
        let (period, part_period) = (whole.period().as_micros(), part.period().as_micros());
        let most = if is_bucket(&limit) { burst_of(&limit) } else { whole.amount() };
        let share_most = if is_bucket(&limit) { burst_of(&share) } else { part.amount() };
        assert!(wide(n) * wide(share_most) <= wide(most.max(n)), "{at}");
        assert!(part_period >= period, "{at}");
        // N shares fill no faster than the limit; nothing that is not reached in 285 years counts.
        let eternal = wide(part_period) + 1_000_000 > wide(Span::LONGEST.as_micros());
        let sum = wide(n) * wide(part.amount()) * wide(period);
        assert!(sum <= wide(whole.amount()) * wide(part_period) || (eternal && part.amount() == 1));

        if is_bucket(&limit) {
            lost_rate += u32::from(part.amount() < whole.amount());
            let places = limit.capacity() - limit.capacity_at_once();
            let share_places = share.capacity() - share.capacity_at_once();
            assert!(wide(n) * wide(share_places) <= wide(places.max(n)), "{at}");
        }
    }
    assert!(changed_tick > 1_000 && lost_rate > 1_000, "corners: {changed_tick}, {lost_rate}");
}

#[test]
fn a_share_of_one_is_the_limit_itself() {
    let mut random = Random::of(2);
    for _ in 0..20_000 {
        let limit = any_limit(&mut random);
        let share = limit.share(NonZeroU32::MIN);
        assert_eq!(format!("{share:?}"), format!("{limit:?}"));
    }
}

#[test]
fn where_the_numbers_fit_a_share_is_the_formula() {
    let mut random = Random::of(3);
    for _ in 0..20_000 {
        let amount = random.of_any_size(12).max(1);
        let algorithm = any_algorithm(&mut random, 9);
        let period = random.one_of(&["s", "7s", "minute", "hour", "30d"]);
        let quota: Quota = format!("{amount}/{period}").parse().unwrap();
        let limit = Limit::builder("any", quota).algorithm(algorithm).build().unwrap();
        let (n, tick) = (random.of_any_size(9).max(1), limit.resolution().micros());
        let share = limit.share(replicas(n));
        let period = quota.period().as_micros();
        let part = |whole: u64| (whole / n).max(1);

        assert_eq!(share.resolution(), limit.resolution());
        let (part_amount, part_period) = if is_bucket(&limit) {
            (amount, n * period)
        } else {
            let stretched = (period * n * part(amount)).div_ceil(amount);
            (part(amount), stretched.max(period).div_ceil(tick) * tick)
        };
        let quota = share.quota();
        assert_eq!((quota.amount(), quota.period().as_micros()), (part_amount, part_period));
        if is_bucket(&limit) {
            assert_eq!(burst_of(&share), part(burst_of(&limit)));
        }
        if let Algorithm::LeakyBucket(Queue::Length(length)) = algorithm {
            let length = if length == 0 { 0 } else { part(length) };
            assert_eq!(share.algorithm(), Algorithm::LeakyBucket(Queue::Length(length)));
        } else {
            assert_eq!(share.algorithm(), algorithm);
        }
    }
}

/// N instances that decide alone, asked for as much as they give. All that was admitted, by time.
fn admitted(random: &mut Random, limit: &Limit, n: u64) -> Vec<(u64, u64)> {
    let share = limit.share(replicas(n));
    let clock = ManualClock::at(Tick::from_micros(random.between(1 << 30, 1 << 40)));
    let instances: Vec<Reference> = (0..n).map(|_| Reference::new(clock.clone())).collect();
    let step = share.quota().period().as_micros() / random.between(2, 20);
    let mut list = Vec::new();
    for _ in 0..60 {
        clock.advance(Span::from_micros(random.below(step.max(2))));
        for instance in &instances {
            if random.once_in(3) {
                continue;
            }
            let most = if random.once_in(2) { u64::from(u32::MAX) } else { 1 };
            let charge = Charge::new(&share, "k").cost(most);
            let granted = instance.decide_one(Mode::UpTo, &charge).granted();
            list.push((tollgate_core::Clock::now(&clock).as_micros(), granted));
        }
    }
    list
}

/// The most that was admitted in any half-open span of `window`.
fn most_in(list: &[(u64, u64)], window: u64) -> u64 {
    let from =
        |begin: usize| list[begin..].iter().take_while(move |(t, _)| t - list[begin].0 < window);
    (0..list.len()).map(|begin| from(begin).map(|(_, cost)| cost).sum()).max().unwrap_or(0)
}

#[test]
fn all_shares_together_stay_near_the_limit() {
    let mut reached = 0;
    for seed in 0..3_000 {
        let mut random = Random::of(seed);
        let algorithm = match any_algorithm(&mut random, 4) {
            Algorithm::LeakyBucket(Queue::MaxWait(span)) => {
                Algorithm::LeakyBucket(Queue::MaxWait(Span::from_micros(100 * span.as_micros())))
            }
            other => other,
        };
        let (amount, n) = (random.between(1, 20), random.between(1, 12));
        let period = random.between(20, 5_000);
        let mut quota = Quota::new(amount, Span::from_micros(period)).unwrap();
        if matches!(algorithm, Algorithm::TokenBucket) && random.once_in(2) {
            quota = quota.with_burst(random.between(1, 20)).unwrap();
        }
        let limit = Limit::builder("any", quota).algorithm(algorithm).build().unwrap();
        let list = admitted(&mut random, &limit, n);
        let most = amount.max(n);
        let at = format!("seed {seed}: {limit:?} by {n}");
        match algorithm {
            Algorithm::SlidingLog => {
                assert!(most_in(&list, period) <= most, "{at}");
                reached += u32::from(most_in(&list, period) == most);
            }
            Algorithm::FixedWindow(_) | Algorithm::SlidingWindow => {
                assert!(most_in(&list, period) <= 2 * most, "{at}");
            }
            _ => {
                let queue = match algorithm {
                    Algorithm::LeakyBucket(Queue::Length(0)) => 0,
                    Algorithm::LeakyBucket(Queue::Length(length)) => length.max(n) * period,
                    Algorithm::LeakyBucket(Queue::MaxWait(span)) => span.as_micros() * amount,
                    _ => 0,
                };
                let at_once = burst_of(&limit).max(n) * period + queue;
                for begin in 0..list.len() {
                    let mut sum = 0;
                    for (time, cost) in &list[begin..] {
                        sum += cost;
                        let refilled = amount * (time - list[begin].0);
                        assert!(sum * period <= at_once + refilled, "{at}: {sum}");
                    }
                }
            }
        }
    }
    assert!(reached > 50, "the bound is reached only {reached} times");
}

#[test]
fn where_a_tick_would_refill_more_than_the_burst_a_finer_one_is_taken() {
    // 3,000 per ms, 3,000 at once; a burst of 1 holds no tick of 1 ms at 2,000 replicas.
    let quota = Quota::new(3_000, Span::from_millis(1)).unwrap().with_burst(3_000).unwrap();
    let coarse = Limit::builder("any", quota).resolution(Resolution::Millis).build().unwrap();
    let share = coarse.share(replicas(2_000));
    assert_eq!(share.resolution(), Resolution::Micros);
    assert_eq!(share.quota().to_string(), "3000/2s burst 1");
    // Where there is none, some of the rate is lost.
    let quota = Quota::new(3, Span::from_micros(1)).unwrap();
    let share = Limit::new("any", quota).unwrap().share(replicas(2));
    assert_eq!(share.quota().to_string(), "2/2us burst 1");
}

#[test]
fn where_burst_and_queue_fit_no_tick_nothing_waits() {
    let quota = Quota::new(1, Span::SECOND).unwrap().with_burst(3_002_399_751_580_000).unwrap();
    let queue = Algorithm::LeakyBucket(Queue::Length(1));
    let builder = Limit::builder("any", quota).algorithm(queue).resolution(Resolution::Seconds);
    let share = builder.build().unwrap().share(replicas(1 << 31));
    assert_eq!(share.algorithm(), Algorithm::LeakyBucket(Queue::Length(0)));
    assert_eq!((share.capacity(), share.capacity_at_once()), (1_398_101, 1_398_101));
}

#[test]
fn what_would_take_hundreds_of_years_takes_285() {
    let rare: Quota = "1000/5200w".parse().unwrap();
    let share = Limit::new("any", rare).unwrap().share(replicas(1_000));
    let (amount, period) = (share.quota().amount(), share.quota().period());
    assert!(period <= Span::LONGEST && period.as_micros() > Span::LONGEST.as_micros() - 1_000_000);
    assert_eq!((amount, share.quota().burst()), (2, Some(1)));
}
