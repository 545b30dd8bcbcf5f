//! The store passes what every store must.

use tollgate_core::ManualClock;
use tollgate_memory::Memory;

fn make(clock: ManualClock) -> Memory {
    Memory::builder().clock(clock).build().expect("the defaults are in range")
}

#[test]
fn decisions_equal_the_reference_step_by_step() {
    tollgate_conformance::suite(make);
}

#[test]
fn faults_that_other_limiters_had_are_not_ours() {
    tollgate_conformance::cases(make);
}

#[test]
fn every_trace_is_answered_as_written() {
    tollgate_conformance::traces(make);
}
