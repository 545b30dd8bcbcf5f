//! Edges of windows, bursts across them, credit after idleness.

use tollgate_core::{Algorithm, Anchor, Charge, Mode, Queue, Span, Verdict};

use super::{Stage, bucket, denied_for, limit, ms};
use crate::laws::Form;
use crate::subject::Subject;

const CLOCK: Algorithm = Algorithm::FixedWindow(Anchor::Clock);

pub(super) fn b26_an_idle_queue_goes_on_letting_one_go_a_second<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::LeakyBucket(Queue::Length(23)), "1/s");
    assert_eq!(stage.at(0).ask(&limit, 1).wait(), Span::ZERO);
    stage.at(30_000);
    for second in 0..24 {
        assert_eq!(stage.ask(&limit, 1).wait(), Span::from_secs(second));
    }
    assert_eq!(denied_for(&stage.ask(&limit, 1)), Span::SECOND);
}

pub(super) fn b28_idleness_hoards_no_credit_at_any_entry<S: Subject>(stage: Stage<S>) {
    let limit = bucket("1/s burst 10");
    stage.at(0).ask(&limit, 3);
    stage.wait(Span::HOUR);
    assert_eq!(stage.peek(&limit, 11).verdict(), Verdict::Never);
    assert_eq!(stage.ask(&limit, 11).verdict(), Verdict::Never);
    assert!(stage.ask(&limit, 10).is_allowed());
    assert_eq!(denied_for(&stage.ask(&limit, 1)), Span::SECOND);

    stage.wait(Span::HOUR);
    assert_eq!(stage.ask(&limit, 11).verdict(), Verdict::Never);
    assert_eq!(stage.peek(&limit, 11).verdict(), Verdict::Never);
    let up_to =
        |most| stage.store.decide(Mode::UpTo, &[Charge::new(&limit, "k").cost(most)]).granted();
    assert_eq!(up_to(11), 10);
    assert_eq!(up_to(1), 0);
    assert!(!stage.passes(&limit));
}

pub(super) fn b29_a_new_window_counts_anew<S: Subject>(stage: Stage<S>) {
    let limit = limit(CLOCK, "10 per 10s");
    assert_eq!(stage.at(0).passing(&limit, 5), 5);
    assert_eq!(stage.at(20_000).passing(&limit, 10), 10);
    assert_eq!(denied_for(&stage.ask(&limit, 1)), Span::from_secs(10));
    assert!(stage.at(30_000).passes(&limit));
}

pub(super) fn b33_the_first_period_has_its_permits<S: Subject>(stage: Stage<S>) {
    for form in Form::ALL.into_iter().filter(|form| *form != Form::LeakyBucket) {
        let limit = limit(form.algorithm(), "10/s");
        assert_eq!(stage.at(0).passing(&limit, 11), 10, "{}", form.name());
    }
}

pub(super) fn b35_late_hits_outlive_the_first_ones<S: Subject>(stage: Stage<S>) {
    let minute = 60_000;
    // 9 × 59/60 = 8.85 of the earlier window are in sight a minute into the next.
    for (algorithm, passes) in [(Algorithm::SlidingLog, 2), (Algorithm::SlidingWindow, 1)] {
        let limit = limit(algorithm, "10/hour");
        assert_eq!(stage.at(0).passing(&limit, 1), 1);
        assert_eq!(stage.at(59 * minute).passing(&limit, 8), 8);
        assert_eq!(stage.at(61 * minute).passing(&limit, 10), passes, "{algorithm}");
    }
}

pub(super) fn b36_stale_entries_are_dropped_before_counting<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::SlidingLog, "5 per 10s");
    assert_eq!(stage.at(0).passing(&limit, 5), 5);
    assert_eq!(stage.at(10_001).ask(&limit, 1).remaining(), 4);
}

pub(super) fn b37_an_entry_of_age_w_no_longer_counts<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::SlidingLog, "1 per 10s");
    assert!(stage.at(0).passes(&limit));
    assert_eq!(denied_for(&stage.at(9_999).ask(&limit, 1)), ms(1));
    assert!(stage.at(10_000).passes(&limit));
}

pub(super) fn b38_a_window_ends_within_a_second<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::FixedWindow(Anchor::FirstHit), "1 per 2s");
    let tenth = Span::from_micros(100);
    stage.at(499);
    (0..9).for_each(|_| stage.wait(tenth));
    assert!(stage.passes(&limit));
    stage.at(2_499);
    (0..8).for_each(|_| stage.wait(tenth));
    assert_eq!(denied_for(&stage.ask(&limit, 1)), tenth);
    stage.wait(tenth);
    assert!(stage.passes(&limit));
}

pub(super) fn b39_a_stale_previous_window_weighs_nothing<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::SlidingWindow, "10/s");
    assert_eq!(stage.at(0).passing(&limit, 5), 5);
    assert_eq!(stage.at(100_000).left(&limit), 10);
    assert_eq!(stage.passing(&limit, 11), 10);
}

pub(super) fn b42_a_refusal_extends_nothing<S: Subject>(stage: Stage<S>) {
    let answers = [(Algorithm::SlidingLog, 500), (CLOCK, 500), (Algorithm::SlidingWindow, 1_500)];
    for (algorithm, wait) in answers {
        let limit = limit(algorithm, "10 per 10s");
        (0..10).for_each(|s| assert!(stage.at(s * 1_000).passes(&limit)));
        assert_eq!(denied_for(&stage.at(9_500).ask(&limit, 1)), ms(wait), "{algorithm}");
        assert!(!stage.at(9_499 + wait).passes(&limit), "{algorithm}");
        assert!(stage.at(9_500 + wait).passes(&limit), "{algorithm}");
    }
}
