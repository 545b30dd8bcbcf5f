//! Every trace over the reference store.

use tollgate_conformance::{Reference, trace, traces};

#[test]
fn every_trace_is_answered_as_written() {
    traces(Reference::new);
}

#[test]
#[should_panic(expected = "line 2")]
fn a_wrong_answer_names_its_line() {
    trace("limit a token-bucket 1/s\n0 a k 1 charge -> never", Reference::new);
}

#[test]
#[should_panic(expected = "line 1: `bucket` is no algorithm")]
fn a_line_that_cannot_be_read_is_refused() {
    trace("limit a bucket 5/s", Reference::new);
}
