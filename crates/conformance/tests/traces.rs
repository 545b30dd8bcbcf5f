//! Every trace over the reference store.

use std::fs;
use std::path::Path;

use tollgate_conformance::{Reference, trace};

#[test]
fn every_trace_is_answered_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 6, "the traces are there: {paths:?}");
    for path in paths {
        eprintln!("{}", path.display());
        trace(&fs::read_to_string(&path).unwrap(), Reference::new);
    }
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
