//! A hundred thousand calls that wait on one key: what they cost in memory and in time.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test ends by a panic, tells what it measured, and measures real time"
)]

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tollgate_outbound::{Error, Full, Permit, Throttle};

type Acquiring = Pin<Box<dyn Future<Output = Result<Permit, Error>>>>;

fn throttle(full: Full) -> Throttle {
    let builder = Throttle::builder().max_in_flight(1).max_waiting(1_000_000);
    builder.when_full(full).build()
}

/// So many calls that wait, polled once.
fn waiting(throttle: &Throttle, calls: usize) -> Vec<Acquiring> {
    let mut all = Vec::with_capacity(calls);
    for _ in 0..calls {
        let mut call: Acquiring = Box::pin(throttle.call(1u64).acquire());
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        all.push(call);
    }
    all
}

/// How long it takes to let so many calls come, drop every third from the middle, and let the others go.
fn time_of(calls: usize, full: Full) -> Duration {
    let throttle = throttle(full);
    let mut context = Context::from_waker(Waker::noop());
    let begun = Instant::now();
    let held = waiting_for_nobody(&throttle);
    let mut all = waiting(&throttle, calls);
    let mut number = 0;
    all.retain(|_| {
        number += 1;
        number % 3 != 0
    });
    drop(held);
    for mut call in all {
        assert!(call.as_mut().poll(&mut context).is_ready());
    }
    assert_eq!(throttle.stats().in_flight, 0);
    begun.elapsed()
}

#[test]
fn a_call_that_waits_takes_a_bounded_memory_all_of_which_comes_back() {
    const CALLS: usize = 100_000;
    let throttle = throttle(Full::Refuse);
    let held = waiting_for_nobody(&throttle);
    let mut all = Vec::new();
    let used = allocation_counter::measure(|| all = black_box(waiting(&throttle, CALLS)));
    let bytes = used.bytes_current / i64::try_from(CALLS).unwrap();
    let future = size_of_val(&*all[0]);
    println!("{bytes} bytes for each call that waits, {future} of them its future");
    assert!(bytes <= 1_024, "{bytes}");
    let back = allocation_counter::measure(|| drop(all));
    assert!(used.bytes_current + back.bytes_current < 4_096, "{used:?} {back:?}");
    drop(held);
}

fn waiting_for_nobody(throttle: &Throttle) -> Permit {
    let mut call: Acquiring = Box::pin(throttle.call(1u64).acquire());
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(permit) => permit.unwrap(),
        Poll::Pending => panic!("nobody is before it"),
    }
}

#[test]
fn ten_times_the_calls_take_no_hundred_times_the_time() {
    for full in [Full::Refuse, Full::DropOldest, Full::DropLowest, Full::Hold] {
        // The best of some: others want the processors.
        let best = |calls| (0..2).map(|_| time_of(calls, full)).min().unwrap();
        let (few, many) = (best(10_000), best(100_000));
        println!("{full:?}: {few:?} for 10,000 calls, {many:?} for 100,000");
        assert!(many < few * 35, "{full:?}: {few:?}, {many:?}");
    }
}
