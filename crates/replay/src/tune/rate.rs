//! Rates and bursts as people write them.

use tollgate_core::{Quota, Span};

/// How many per period are tried, for each period up to where the next shorter one begins.
const AMOUNTS: [(Span, &[u64]); 4] = [
    (Span::DAY, &[1, 2, 3, 5, 10, 15]),
    (Span::HOUR, &[1, 2, 3, 5, 10, 15, 20, 30, 40]),
    (Span::MINUTE, &[1, 2, 3, 5, 10, 15, 20, 30, 40]),
    (Span::SECOND, &[1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1_000]),
];

/// The rates that are tried, the slowest first.
pub(super) fn rates() -> impl DoubleEndedIterator<Item = Quota> {
    AMOUNTS.into_iter().flat_map(|(period, amounts)| {
        amounts.iter().filter_map(move |amount| Quota::new(*amount, period).ok())
    })
}

/// The least burst that people write and that is as large: 1 to 10, then 12, 15, 20, 25, 30, 40, 50, 60,
/// 80, 100 and ten times those.
pub(super) fn round_up(burst: u64) -> u64 {
    const STEPS: [u64; 9] = [12, 15, 20, 25, 30, 40, 50, 60, 80];
    if burst <= 10 {
        return burst.max(1);
    }
    let mut scale = 1_u64;
    loop {
        let step = STEPS.into_iter().map(|step| step.saturating_mul(scale));
        match step.chain([scale.saturating_mul(100)]).find(|step| *step >= burst) {
            Some(step) => return step,
            None => scale = scale.saturating_mul(10),
        }
    }
}

/// A rate per a period of which this burst is at most three times the amount, if there is one up to a day,
/// in a round number that is no smaller: `60/hour` rather than `1/minute` beside a burst of 60, as bursts
/// beyond three times the rate are warned of.
pub(super) fn beside(rate: Quota, burst: u64) -> Quota {
    let longer = [(Span::MINUTE, 60), (Span::HOUR, 60), (Span::DAY, 24)];
    longer.into_iter().fold(rate, |rate, (period, times)| {
        let is_long = burst > rate.amount().saturating_mul(3) && period > rate.period();
        let amount = round_up(rate.amount().saturating_mul(times));
        if is_long { Quota::new(amount, period).unwrap_or(rate) } else { rate }
    })
}

/// A quota's rate as files have it, such as `10/minute`.
pub(super) fn in_words(quota: Quota) -> String {
    let names =
        AMOUNTS.map(|(period, _)| period).into_iter().zip(["day", "hour", "minute", "second"]);
    let name = names.into_iter().find(|(period, _)| *period == quota.period());
    match name {
        Some((_, name)) => format!("{}/{name}", quota.amount()),
        None => format!("{}/{}", quota.amount(), quota.period()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_come_in_order_and_bursts_are_rounded_upwards_alone() {
        let per_day = |quota: Quota| {
            u128::from(quota.amount())
                * u128::from(Span::DAY.as_micros() / quota.period().as_micros())
        };
        let rates: Vec<u128> = rates().map(per_day).collect();
        assert!(rates.is_sorted_by(|one, other| one < other));
        for burst in 0..200_000 {
            let round = round_up(burst);
            assert!(round >= burst && round * 3 <= burst.max(1) * 4 + 3, "{burst}: {round}");
            assert_eq!(round_up(round), round);
        }
        assert_eq!([1, 11, 13, 61, 81, 101, 121].map(round_up), [1, 12, 15, 80, 100, 120, 150]);
    }

    #[test]
    fn beside_a_large_burst_stands_a_longer_period() {
        let of = |text: &str, burst| in_words(beside(text.parse().unwrap(), burst));
        assert_eq!(of("10/minute", 30), "10/minute");
        assert_eq!(of("10/minute", 40), "600/hour");
        assert_eq!(of("3/hour", 20), "80/day");
        assert_eq!(of("1/s", 200), "4000/hour");
        assert_eq!(of("1/day", 5), "1/day");
    }
}
