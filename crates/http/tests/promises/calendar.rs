//! Days and months of a time zone: what is told is the real time to wait, also where clocks change.

use tollgate_conformance::Random;
use tollgate_core::{Algorithm, Anchor, Tick};
use tollgate_policy::{Every, LimitSpec, calendar};

use crate::rig::{Rig, ask, get, limit};

/// 2026-03-29 01:00 and 2026-10-25 01:00 UTC: clocks in Europe go on by an hour, and back.
const PARIS: [u64; 2] = [1_774_746_000, 1_792_890_000];
/// 2026-03-08 10:00 and 2026-11-01 09:00 UTC: those in California.
const PACIFIC: [u64; 2] = [1_772_964_000, 1_793_523_600];

fn daily(amount: u64, zone: &str) -> LimitSpec {
    let days = calendar(Every::Day, zone, Default::default()).unwrap();
    let windows = Algorithm::FixedWindow(Anchor::Calendar(days));
    limit("daily", &format!("{amount} per day"), windows)
}

fn seconds(seconds: u64) -> Tick {
    Tick::from_micros(seconds * 1_000_000)
}

#[tokio::test]
async fn b203_retry_after_is_the_real_seconds_around_a_change_of_clocks() {
    let random = &mut Random::of(3);
    for (zone, changes) in [("Europe/Paris", PARIS), ("America/Los_Angeles", PACIFIC)] {
        let days = calendar(Every::Day, zone, Default::default()).unwrap();
        for now in changes.into_iter().flat_map(|change| [change; 20]) {
            let now = now - 86_400 + random.below(2 * 86_400);
            let rig = Rig::new();
            let layer = rig.layer([daily(1, zone)]);
            rig.clock.set(seconds(now));
            assert_eq!(ask(&layer, 200, get()).await.number("x-ratelimit-remaining"), 0);
            let refused = ask(&layer, 200, get()).await;
            let wait = refused.number("retry-after");
            assert_eq!(seconds(now + wait), days.window(seconds(now)).1, "{zone} at {now}");
            assert!(refused.text("ratelimit").ends_with(&format!(";t={wait}")), "{zone} at {now}");
            rig.clock.set(seconds(now + wait - 1));
            assert_eq!(ask(&layer, 200, get()).await.status, 429, "{zone} at {now}");
            rig.clock.set(seconds(now + wait));
            assert_eq!(ask(&layer, 200, get()).await.status, 200, "{zone} at {now}");
        }
    }
}

#[tokio::test]
async fn b205_no_day_of_a_providers_zone_gets_more_whatever_our_own_day_is() {
    for change in PACIFIC {
        let rig = Rig::new();
        let layer = rig.layer([daily(10, "America/Los_Angeles")]);
        // Midnight there, on the day before the change.
        let days = calendar(Every::Day, "America/Los_Angeles", Default::default()).unwrap();
        let (start, _) = days.window(seconds(change - 86_400));
        let mut now = start.as_micros() / 1_000_000;
        for _ in 0..4 {
            let (_, end) = days.window(seconds(now));
            let mut passed = 0;
            while seconds(now) < end {
                rig.clock.set(seconds(now));
                // Twice as much as is due, so that a new day of our own would let more in.
                passed += u32::from(ask(&layer, 200, get()).await.status == 200);
                now += 3_600;
            }
            assert_eq!(passed, 10, "the day that ends at {end:?}");
        }
    }
}
