//! A client that keeps trying recovers on time; a refusal costs nobody anything.

use tollgate_core::{Algorithm, Anchor, Charge, Limit, Mode, Span};

use super::{Stage, bucket, limit};
use crate::subject::Subject;

pub(super) fn b44_a_steady_client_is_never_locked_out<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::SlidingLog, "10 per 600s");
    let passed: u64 = (0..120).map(|n| stage.at(n * 30_000).passing(&limit, 1)).sum();
    assert_eq!(passed, 60);
}

pub(super) fn b45_hits_do_not_move_the_window_end<S: Subject>(stage: Stage<S>) {
    let limit = limit(Algorithm::FixedWindow(Anchor::Clock), "60 per 60s");
    for n in 0..3 * 60 * 24 {
        let decision = stage.at(n * 20_000).ask(&limit, 1);
        assert!(decision.is_allowed(), "hit {n}");
        assert_eq!(decision.reset_after(), Span::from_secs(60 - n % 3 * 20), "hit {n}");
    }
}

pub(super) fn b47_refusals_do_not_fill_the_bucket<S: Subject>(stage: Stage<S>) {
    let limit = bucket("1/s burst 10");
    assert_eq!(stage.at(0).passing(&limit, 1_000), 10);
    assert_eq!(stage.at(1_000).passing(&limit, 2), 1);
}

pub(super) fn b49_a_refusing_limit_charges_none<S: Subject>(stage: Stage<S>) {
    let wide = Limit::new("wide", "5/minute".parse().unwrap()).unwrap();
    let narrow = Limit::new("narrow", "1/minute".parse().unwrap()).unwrap();
    let charges = [Charge::new(&wide, "k"), Charge::new(&narrow, "k")];
    let decide = |_| stage.store.decide(Mode::Charge, &charges);
    let decisions: Vec<_> = (0..5).map(decide).collect();
    let allowed: Vec<bool> = decisions.iter().map(tollgate_core::Decision::is_allowed).collect();
    assert_eq!(allowed, [true, false, false, false, false]);
    let refusing = decisions[4].decisive().map(|answer| answer.limit().name().to_owned());
    assert_eq!(refusing.as_deref(), Some("narrow"));
    assert_eq!(stage.left(&wide), 4);
}

pub(super) fn b51_a_refund_returns_what_was_taken<S: Subject>(stage: Stage<S>) {
    let limit = bucket("10/hour");
    let receipt = stage.pay(&limit, 1);
    assert!(stage.ask(&limit, 3).is_allowed());
    stage.store.give(receipt, 0);
    assert_eq!(stage.left(&limit), 7);
    let receipt = stage.pay(&limit, 1);
    stage.wait(Span::HOUR);
    stage.store.give(receipt, 0);
    assert_eq!(stage.left(&limit), 10, "never above the capacity");
}
