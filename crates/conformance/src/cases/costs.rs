//! Costs above the capacity, limits of nothing, costs of nothing.

use std::thread;

use tollgate_core::{Limit, Quota, QuotaError, Span, SpanError, Verdict};

use super::{Stage, bucket, limit};
use crate::laws::Form;
use crate::subject::Subject;

pub(super) fn b53_a_cost_above_the_capacity_is_never<S: Subject>(stage: Stage<S>) {
    for form in Form::ALL.into_iter().filter(|form| *form != Form::LeakyBucket) {
        let limit = limit(form.algorithm(), "3 per 2s");
        let decision = stage.ask(&limit, 4);
        assert_eq!((decision.verdict(), decision.retry_after()), (Verdict::Never, None));
        assert_eq!(stage.left(&limit), 3, "nothing is charged");
    }
}

pub(super) fn b57_a_burst_of_0_or_a_fraction_is_refused<S: Subject>(_: Stage<S>) {
    for text in ["10/s burst 0", "10/s burst 0.5", "10/s burst 1.5", "10/s burst -1", "10/s burst"]
    {
        let error = text.parse::<Quota>().unwrap_err();
        assert_eq!(error, QuotaError::Burst, "{text}");
        assert!(error.to_string().contains("burst"), "{error}");
    }
    assert_eq!(Quota::per_second(10).with_burst(0), Err(QuotaError::Burst));
}

pub(super) fn b59_a_rate_of_0_is_never_unlimited<S: Subject>(stage: Stage<S>) {
    assert_eq!("0/s burst 5".parse::<Quota>(), Err(QuotaError::Burst));
    for form in Form::ALL {
        let limit = limit(form.algorithm(), "0/minute");
        for cost in [0, 1, u64::MAX] {
            for decision in [stage.ask(&limit, cost), stage.peek(&limit, cost)] {
                assert_eq!((decision.verdict(), decision.retry_after()), (Verdict::Never, None));
                assert_eq!((decision.remaining(), decision.reset_after()), (0, Span::ZERO));
            }
        }
    }
}

pub(super) fn b60_a_limit_of_0_refuses_in_parallel<S: Subject>(stage: Stage<S>) {
    let limit = bucket("0 per 60s");
    let refused: u64 = thread::scope(|scope| {
        let many = || (0..125).map(|_| u64::from(!stage.passes(&limit))).sum::<u64>();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(many)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(refused, 1_000);
    assert_eq!("10 per 0s".parse::<Quota>(), Err(QuotaError::Period(SpanError::Zero)));
    assert_eq!(Quota::new(10, Span::ZERO), Err(QuotaError::Period(SpanError::Zero)));
}

pub(super) fn b61_costs_of_0_and_of_2_to_63<S: Subject>(stage: Stage<S>) {
    for form in Form::ALL {
        let limit = limit(form.algorithm(), "5/s");
        let most = limit.capacity();
        assert!(stage.ask(&limit, 0).is_allowed());
        assert_eq!(stage.left(&limit), most);
        assert!(stage.ask(&limit, most).is_allowed());
        let free = stage.ask(&limit, 0);
        assert_eq!((free.verdict(), free.remaining()), (Verdict::Allow, 0), "also in debt");
        for huge in [1 << 63, u64::MAX] {
            assert_eq!(stage.ask(&limit, huge).verdict(), Verdict::Never);
        }
    }
}

pub(super) fn b62_a_batch_takes_no_more_than_there_is<S: Subject>(stage: Stage<S>) {
    for round in 0..1_000 {
        let quota = Quota::per_hour(5);
        let limit = Limit::new(&format!("round-{round}"), quota).unwrap();
        let passed: u64 = thread::scope(|scope| {
            let one = || stage.passing(&limit, 1);
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(passed, 5, "round {round}");
    }
}
