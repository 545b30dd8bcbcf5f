//! A decision on a known key costs no allocation, whatever the key is and whatever is decided.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::IpAddr;
use std::sync::Arc;

use allocation_counter::measure;
use tollgate_core::{Key, Limit, Limiter};
use tollgate_memory::Memory;

fn limiter(quotas: &[&str]) -> Limiter<Memory> {
    let limits = quotas.iter().map(|quota| Limit::new(quota, quota.parse().unwrap()).unwrap());
    Limiter::over(Arc::new(Memory::new()), limits)
}

fn assert_free(limiter: &Limiter<Memory>, key: Key<'_>) {
    drop(limiter.check(key));
    let mut verdicts = [0u32; 2];
    let used = measure(|| {
        for _ in 0..1_000 {
            let [allowed, refused] = &mut verdicts;
            *(if limiter.check(key).is_allowed() { allowed } else { refused }) += 1;
            drop(limiter.peek(key, 3));
            drop(limiter.take_up_to(key, 2));
        }
    });
    assert_eq!(used.count_total, 0, "{key:?}");
    assert!(verdicts.iter().all(|count| *count > 0), "both were reached: {verdicts:?}");
}

#[test]
fn text_bytes_addresses_and_numbers_are_keys_without_allocation() {
    let limiter = limiter(&["500/day"]);
    let long = [b'x'; 4_096];
    let (four, six): (IpAddr, IpAddr) =
        ("203.0.113.9".parse().unwrap(), "2001:db8::1".parse().unwrap());
    for key in
        [Key::from("user-42"), Key::Bytes(&long), Key::from(four), Key::from(six), Key::from(42u64)]
    {
        assert_free(&limiter, key);
    }
}

#[test]
fn up_to_four_limits_are_one_decision_without_allocation() {
    for limits in [2, 3, 4] {
        let quotas = ["500/day", "700/hour", "800/day", "900/hour"];
        assert_free(&limiter(&quotas[..limits]), Key::from("user-42"));
    }
}
