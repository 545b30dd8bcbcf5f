//! How often a store sweeps changes nothing that it decides.

use tollgate_core::{Charge, Limit, LocalStore, ManualClock, Mode, Quota, Span};
use tollgate_memory::Memory;

#[test]
fn a_store_that_hardly_sweeps_decides_the_same() {
    let clock = ManualClock::default();
    let store = |every| Memory::builder().clock(clock.clone()).sweep_every(every).build().unwrap();
    let (often, seldom) = (store(Span::from_micros(500)), store(Span::HOUR));
    let limit = Limit::new("api", Quota::per_minute(3)).unwrap();
    let mut refused = 0;
    for nth in 0..20_000_u64 {
        // A gap of a minute now and then, in which all recover.
        clock.advance(if nth % 500 == 0 { Span::MINUTE } else { Span::from_millis(7) });
        let charge = Charge::new(&limit, nth * nth % 97);
        let [one, other] =
            [&often, &seldom].map(|store| store.decide_now(Mode::Charge, &[charge]).verdict());
        assert_eq!(one, other, "decision {nth}");
        refused += u64::from(!one.passes());
    }
    assert!(refused > 1_000, "{refused}");
    // What has recovered is there until somebody looks.
    clock.advance(Span::MINUTE);
    let entries = [&often, &seldom].map(|store| {
        let _ = store.decide_now(Mode::Charge, &[Charge::new(&limit, 1_000_u64)]);
        store.stats().entries
    });
    assert!(entries[0] < entries[1], "{entries:?}");
}
