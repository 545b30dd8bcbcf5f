//! One key asked about far more often than it may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tollgate_core::{Charge, Limit, Mode, Quota, Store};

use super::callers::store_on;
use super::drive::Bench;

/// How many may pass each second.
pub const LIMIT: u32 = 10;

/// What a flood came to, per second.
pub struct Flood {
    /// How often the store was asked.
    pub asked: f64,
    /// How often it said yes.
    pub passed: f64,
    /// How often it asked the server.
    pub calls: f64,
}

/// Asks 20,000 times a second about one key, for so long.
pub async fn flood(bench: &mut Bench, span: Duration) -> Flood {
    bench.order(&["FLUSHALL"]);
    let store = store_on(bench).await;
    let limit = Arc::new(Limit::new("flood", Quota::per_second(LIMIT)).expect("it is a limit"));
    let passed = Arc::new(AtomicU64::new(0));
    let (mut asked, mut tasks) = (0, JoinSet::new());
    bench.order(&["CONFIG", "RESETSTAT"]);
    let began = Instant::now();
    let mut ticks = interval(Duration::from_millis(1));
    // What a busy machine puts off is asked all the same.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    while began.elapsed() < span {
        ticks.tick().await;
        for _ in 0..20 {
            asked += 1;
            let (store, limit, passed) = (store.clone(), limit.clone(), passed.clone());
            tasks.spawn(async move {
                let charges = [Charge::new(&limit, "hot")];
                let decision = store.decide(Mode::Charge, &charges).await;
                let decision = decision.expect("the server is there");
                assert!(!decision.is_degraded(), "{decision:?}");
                passed.fetch_add(u64::from(decision.is_allowed()), Ordering::Relaxed);
            });
        }
        while tasks.try_join_next().is_some() {}
    }
    tasks.join_all().await;
    let seconds = began.elapsed().as_secs_f64();
    let calls = bench.calls_of("evalsha") + bench.calls_of("eval");
    Flood {
        asked: f64::from(asked) / seconds,
        passed: passed.load(Ordering::Relaxed) as f64 / seconds,
        calls: calls / seconds,
    }
}
