//! What a client is told, what a refund lands in, what a limit shares with others.

use tollgate_core::{Algorithm, Anchor, Charge, Limit, Mode, Span, Verdict};

use super::{Stage, bucket, denied_for, limit, ms};
use crate::laws::Form;
use crate::subject::Subject;

const CLOCK: Algorithm = Algorithm::FixedWindow(Anchor::Clock);

pub(super) fn b86_a_refund_lands_in_its_own_window<S: Subject>(stage: Stage<S>) {
    let limit = limit(CLOCK, "100/minute");
    let receipt = stage.at(59_900).pay(&limit, 60);
    assert!(stage.at(60_500).ask(&limit, 30).is_allowed());
    stage.at(61_000).store.give(receipt, 0);
    assert_eq!(stage.left(&limit), 70);
}

pub(super) fn b131_a_late_refund_does_not_lower_the_new_window<S: Subject>(stage: Stage<S>) {
    for algorithm in [CLOCK, Algorithm::FixedWindow(Anchor::FirstHit), Algorithm::SlidingLog] {
        let limit = limit(algorithm, "5 per 10s");
        let receipt = stage.at(9_900).pay(&limit, 1);
        stage.at(20_500).store.give(receipt, 0);
        assert_eq!(stage.left(&limit), 5, "{algorithm}");
        let late = stage.pay(&limit, 2);
        assert!(stage.at(31_000).ask(&limit, 3).is_allowed(), "{algorithm}");
        stage.store.give(late, 0);
        assert_eq!(stage.left(&limit), 2, "{algorithm}");
    }
}

pub(super) fn b136_each_refusal_tells_a_minimal_wait<S: Subject>(stage: Stage<S>) {
    for form in Form::ALL {
        let limit = limit(form.algorithm(), "7 per 3s");
        let start = 100_000;
        (0..40).for_each(|n| drop(stage.at(start + n * 117).ask(&limit, 1)));
        // Refused now, unless the last hit happened to leave room.
        let wait = loop {
            if let Some(wait) = stage.ask(&limit, 1).retry_after() {
                break wait;
            }
        };
        stage.wait(Span::from_micros(wait.as_micros() - 1));
        assert!(stage.peek(&limit, 1).is_denied(), "{}", form.name());
        stage.wait(Span::from_micros(1));
        assert!(stage.passes(&limit), "{}", form.name());
    }
}

pub(super) fn b139_the_counter_does_not_wait_for_the_window_end<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::SlidingWindow, "60 per 60s");
    (0..60).for_each(|s| assert!(stage.at(s * 1_000).passes(&limit)));
    assert_eq!(stage.at(72_000).passing(&limit, 12), 12);
    assert_eq!(denied_for(&stage.ask(&limit, 1)), Span::SECOND);
}

pub(super) fn b140_the_last_token_tells_when_the_next_comes<S: Subject>(stage: Stage<S>) {
    let (window, tokens) = (limit(CLOCK, "10 per 10s"), bucket("1/s"));
    assert!(stage.at(0).ask(&window, 9).is_allowed());
    let last = stage.at(3_000).ask(&window, 1);
    assert_eq!((last.remaining(), last.reset_after()), (0, Span::from_secs(7)));
    let last = stage.ask(&tokens, 1);
    assert_eq!((last.remaining(), last.reset_after()), (0, Span::SECOND));
}

pub(super) fn b144_the_numbers_are_of_the_limit_that_refuses<S: Subject>(stage: Stage<S>) {
    let requests = Limit::new("requests", "100/minute".parse().unwrap()).unwrap();
    let tokens = Limit::new("tokens", "1000/minute".parse().unwrap()).unwrap();
    assert!(stage.ask(&requests, 10).is_allowed() && stage.ask(&tokens, 1_000).is_allowed());
    let charges = [Charge::new(&requests, "k"), Charge::new(&tokens, "k").cost(50)];
    let decision = stage.store.decide(Mode::Charge, &charges);
    let decisive = decision.decisive().unwrap();
    assert_eq!((decisive.limit().name(), decisive.remaining()), ("tokens", 0));
    assert_eq!(decision.retry_after(), Some(Span::from_secs(3)));
    stage.wait(Span::from_secs(3));
    let decision = stage.store.decide(Mode::Charge, &charges);
    assert!(decision.is_allowed());
    assert_eq!(decision.decisive().unwrap().limit().name(), "tokens", "the most restrictive");
}

pub(super) fn b172_limits_of_one_period_count_apart<S: Subject>(stage: Stage<S>) {
    let many = Limit::new("many", "200/minute".parse().unwrap()).unwrap();
    let few = Limit::new("few", "2/minute".parse().unwrap()).unwrap();
    assert_eq!(stage.passing(&few, 3), 2);
    assert_eq!(stage.passing(&many, 201), 200);
}

pub(super) fn b182_a_key_charged_twice_in_one_decision_is_counted_twice<S: Subject>(
    stage: Stage<S>,
) {
    let limit = bucket("5/minute");
    let twice = [Charge::new(&limit, "k").cost(2), Charge::new(&limit, "k").cost(1)];
    assert!(stage.store.decide(Mode::Charge, &twice).is_allowed());
    assert_eq!(stage.left(&limit), 2);
    let refused = stage.store.decide(Mode::Charge, &twice);
    assert_eq!(refused.verdict(), Verdict::Deny(Span::from_secs(12)));
    assert_eq!(stage.left(&limit), 2);
    let never = [Charge::new(&limit, "k").cost(3), Charge::new(&limit, "k").cost(3)];
    assert_eq!(stage.store.decide(Mode::Charge, &never).verdict(), Verdict::Never);
}

pub(super) fn b190_a_changed_limit_rules_from_the_next_hit<S: Subject>(stage: Stage<S>) {
    for algorithm in
        [Algorithm::TokenBucket, CLOCK, Algorithm::SlidingWindow, Algorithm::SlidingLog]
    {
        let (old, raised) = (limit(algorithm, "10/minute"), limit(algorithm, "100/minute"));
        let (lowered, slower) = (limit(algorithm, "4/minute"), limit(algorithm, "10/hour"));
        assert_eq!(stage.passing(&old, 10), 10);
        assert_eq!(stage.left(&raised), 90, "{algorithm}: what is used stays used");
        assert_eq!(stage.left(&lowered), 0, "{algorithm}");
        assert_eq!(stage.left(&slower), 10, "{algorithm}: another period starts fresh");
        assert!(denied_for(&stage.ask(&lowered, 1)) > ms(0));
    }
}

pub(super) fn b191_a_raised_rate_raises_a_burst_only_when_it_was_not_given<S: Subject>(
    stage: Stage<S>,
) {
    assert!(stage.ask(&bucket("10/s"), 4).is_allowed());
    for (raised, capacity) in [("1000/s", 1_000), ("1000/s burst 10", 10), ("1000/s burst 20", 20)]
    {
        let raised = bucket(raised);
        assert_eq!((raised.capacity(), stage.left(&raised)), (capacity, capacity - 4));
    }
}
