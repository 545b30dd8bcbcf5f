//! A call that need not wait takes no allocation but that for its key.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends by a panic")]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use tollgate_core::{Limit, Limiter, Quota};
use tollgate_memory::Memory;
use tollgate_outbound::{Priority, Throttle};

/// So many limits, none of which is reached.
fn throttle(limits: usize) -> Throttle {
    let quota = Quota::per_minute(1).with_burst(1_000_000).unwrap();
    let limits = (0..limits).map(|number| Limit::new(&format!("limit {number}"), quota).unwrap());
    Throttle::over(Limiter::<Memory>::new(limits))
}

fn at_once<T>(call: impl Future<Output = T>) -> T {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(out) => out,
        Poll::Pending => panic!("nobody is before it"),
    }
}

#[test]
fn a_job_at_a_time_under_one_or_two_limits_takes_no_allocation() {
    for limits in 0..=2 {
        let throttle = throttle(limits);
        let run = || at_once(throttle.run(Priority::NORMAL, 1, || async {})).unwrap();
        // The first fills tables that stay.
        run();
        let used = measure(|| (0..100).for_each(|_| run()));
        assert_eq!(used.count_total, 0, "{limits} limits");
    }
}

#[test]
fn a_call_under_a_key_takes_the_two_allocations_that_hold_it() {
    let throttle = throttle(1);
    let call = || drop(at_once(throttle.acquire("somebody", 1)).unwrap());
    call();
    assert_eq!(measure(call).count_total, 2);
    let given_back = || at_once(throttle.acquire("somebody", 1)).unwrap().give_back();
    assert_eq!(measure(given_back).count_total, 2);
}
