//! The store passes what every store must.

use tollgate_memory::Memory;

#[test]
fn decisions_equal_the_reference_step_by_step() {
    tollgate_conformance::suite(|clock| Memory::builder().clock(clock).build().unwrap());
}
