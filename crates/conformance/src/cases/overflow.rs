//! Products of time and quota, intervals below the resolution, very long idleness.

use tollgate_core::{Algorithm, Anchor, Limit, Quota, Span};

use super::{Stage, bucket, limit};
use crate::subject::Subject;

pub(super) fn b01_long_idleness_never_turns_negative<S: Subject>(stage: Stage<S>) {
    let limit = bucket("1000000/hour");
    assert!(stage.ask(&limit, 1).is_allowed());
    // From the epoch's 55th year on, the last of these stands at the end of time, 2255.
    for idle in [Span::from_secs(12 * 3_600), Span::from_secs(400 * 86_400), Span::LONGEST] {
        stage.wait(idle);
        assert_eq!(stage.left(&limit), 1_000_000, "full after {idle}");
        assert!(stage.ask(&limit, 1_000_000).is_allowed(), "after {idle}");
    }
}

pub(super) fn b03_large_windows_count_down_by_one<S: Subject>(stage: Stage<S>) {
    let clock = Algorithm::FixedWindow(Anchor::Clock);
    let (window, tokens) = (limit(clock, "65535/s"), bucket("65535/s"));
    for call in 0..11 {
        stage.at(call * 100);
        let left = if call < 10 { 65_534 - call } else { 65_534 };
        assert_eq!(stage.ask(&window, 1).remaining(), left, "call {call}");
        assert_eq!(stage.ask(&tokens, 1).remaining(), 65_534, "call {call}");
    }
    for (nth, amount) in (1..).zip([31_622, 31_623, 1 << 31, 1 << 32, 1 << 53]) {
        let quota = Quota::new(amount, Span::SECOND).unwrap();
        let built = Limit::builder("large", quota).algorithm(clock).build();
        let Ok(large) = built else {
            assert!(amount > 1 << 51, "{amount} fits");
            continue;
        };
        stage.at(nth * 10_000);
        assert_eq!(stage.ask(&large, 1).remaining(), amount - 1);
        assert_eq!(stage.ask(&large, amount - 1).remaining(), 0);
        assert!(stage.ask(&large, 1).is_denied());
        stage.at(nth * 10_000 + 1_000);
        assert_eq!(stage.ask(&large, 1).remaining(), amount - 1);
    }
}

pub(super) fn b04_elapsed_times_rate_passes_32_bits<S: Subject>(stage: Stage<S>) {
    let limit = bucket("100000/s");
    assert_eq!(stage.at(0).ask(&limit, 1).remaining(), 99_999);
    assert_eq!(stage.at(60_000).ask(&limit, 1).remaining(), 99_999);
}

pub(super) fn b05_rates_above_a_tick_are_exact_or_refused<S: Subject>(stage: Stage<S>) {
    for rate in [3, 7, 300, 7_000_000, 700_000_001, 1_000_000_001, u64::from(u32::MAX)] {
        let quota = Quota::new(rate, Span::SECOND).unwrap().with_burst(1).unwrap();
        match Limit::new(&format!("rate-{rate}"), quota) {
            // With burst 1 what a tick refills beyond one token is lost: at most R in P.
            Ok(limit) => assert_eq!(saturated(&stage, &limit), rate, "in one second"),
            Err(error) => {
                assert!(rate > 1_000_000, "{rate} fits a tick of 1 us");
                let text = error.to_string();
                assert!(text.contains("burst") && text.contains("at least"), "{text}");
            }
        }
    }
}

pub(super) fn b07_high_rates_with_burst_1_keep_their_rate<S: Subject>(stage: Stage<S>) {
    for rate in [2_000, 8_000, 1_000_000] {
        let quota = Quota::new(rate, Span::SECOND).unwrap().with_burst(1).unwrap();
        let limit = Limit::new(&format!("rate-{rate}"), quota).unwrap();
        assert_eq!(saturated(&stage, &limit), rate, "in one second");
    }
    let limit = bucket("1000/minute");
    assert_eq!([stage.ask(&limit, 1).remaining(), stage.ask(&limit, 1).remaining()], [999, 998]);
}

pub(super) fn b09_an_interval_of_80_years_works<S: Subject>(stage: Stage<S>) {
    let limit = bucket("1 per 2500000001s");
    assert!(stage.passes(&limit));
    let wait = super::denied_for(&stage.ask(&limit, 1));
    assert_eq!(wait, Span::from_secs(2_500_000_001));
    stage.wait(wait);
    assert!(stage.passes(&limit));
}

/// How many pass in one second when each is tried again at exactly the announced instant.
fn saturated<S: Subject>(stage: &Stage<S>, limit: &Limit) -> u64 {
    use tollgate_core::Clock;
    let end = stage.clock.now().after(Span::SECOND);
    let mut passed = 0;
    while stage.clock.now() < end {
        let decision = stage.ask(limit, 1);
        match decision.retry_after() {
            None => passed += 1,
            Some(wait) => stage.wait(wait),
        }
    }
    passed
}
