//! A service that is asked for twice what the one behind it can do, and what becomes of both: the run of
//! `examples/overload`, which has hyper on both sides and the clock of the timers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends by a panic")]

#[path = "../examples/overload/caller.rs"]
mod caller;
#[path = "../examples/overload/pipe.rs"]
mod pipe;
#[path = "../examples/overload/seconds.rs"]
mod seconds;
#[path = "../examples/overload/service.rs"]
mod service;

use caller::{Caller, run};
use service::CAPACITY;

#[test]
fn with_a_limit_and_a_breaker_a_pushed_service_does_what_it_can_at_all_times() {
    let counts = run(Caller::Limited).unwrap();
    // Before the surge and after it nothing is lost of 400 calls a second, though B fails at times.
    assert!(sum(&counts.useful[..5]) >= 5 * 400 - 20, "{:?}", counts.useful);
    assert!(sum(&counts.useful[23..]) >= 7 * 400 - 20, "{:?}", counts.useful);
    assert!(counts.asked[5..22].iter().all(|&asked| asked == 2 * CAPACITY));
    // In the surge B does at least 95 % of what it can: as soon as the line is full, and again after it
    // has stood still, when the circuit has been open for its second time, 3 s at most.
    for second in (6..10).chain(17..22) {
        let useful = counts.useful[second];
        assert!(useful >= CAPACITY * 95 / 100, "second {second}: {:?}", counts.useful);
    }
    // Nor is it called more often than it can bear; while it stands still, hardly at all.
    assert!(counts.reached.iter().all(|&reached| reached <= CAPACITY + 16), "{:?}", counts.reached);
    assert!(sum(&counts.reached[10..13]) <= CAPACITY / 2, "{:?}", counts.reached);
}

#[test]
fn with_neither_it_fails_and_does_not_come_back_when_the_surge_is_over() {
    let counts = run(Caller::Unlimited).unwrap();
    assert!(sum(&counts.useful[..5]) >= 5 * 400 - 20, "{:?}", counts.useful);
    // From the fourth second of the surge to the end next to nothing, though B is asked for no more
    // than it can do from second 22 on.
    assert!(sum(&counts.useful[8..]) <= 22 * CAPACITY / 100, "{:?}", counts.useful);
    assert!(sum(&counts.useful[23..]) <= 7 * 400 / 100, "{:?}", counts.useful);
}

fn sum(counts: &[u32]) -> u32 {
    counts.iter().sum()
}
