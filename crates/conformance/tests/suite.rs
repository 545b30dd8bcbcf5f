//! The suite runs over the store that it compares with.

use tollgate_conformance::{Reference, suite};

#[test]
fn the_reference_passes_its_own_suite() {
    suite(Reference::new);
}
