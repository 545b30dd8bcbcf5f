//! One key that everyone asks about, decided exactly and by leases.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinSet, yield_now};
use tollgate_core::{Charge, Limit, Mode, Quota, Store};
use tollgate_redis::Redis;

use super::callers::store_on;
use super::drive::Bench;
use crate::race::median;

/// How many callers ask.
pub const CALLERS: usize = 64;
/// How many may pass each second: more than ever ask.
pub const LIMIT: u32 = 10_000_000;
/// So many per cent of that are leased.
pub const LEASE: u8 = 10;

/// Decisions per second, by round.
pub struct Hot {
    exact: Vec<f64>,
    leased: Vec<f64>,
}

impl Hot {
    /// The median decisions per second: without leases, and with them.
    pub fn rates(&self) -> [f64; 2] {
        [median(self.exact.clone()), median(self.leased.clone())]
    }

    /// The median over the rounds of how many are decided with leases for one without.
    pub fn ratio(&self) -> f64 {
        median(self.leased.iter().zip(&self.exact).map(|(leased, exact)| leased / exact).collect())
    }
}

/// Lets callers ask in turn without leases and with them, so many rounds of so long.
pub async fn hot(bench: &mut Bench, rounds: usize, span: Duration) -> Hot {
    bench.order(&["FLUSHALL"]);
    let limit = |name, lease| {
        let limit = Limit::builder(name, Quota::per_second(LIMIT)).lease(lease);
        Arc::new(limit.build().expect("the numbers are below 2^53"))
    };
    let (exact, leased) = (limit("exact", 0), limit("leased", LEASE));
    let store = store_on(bench).await;
    let mut found = Hot { exact: Vec::new(), leased: Vec::new() };
    for _ in 0..rounds {
        found.exact.push(rate(&store, &exact, span).await);
        found.leased.push(rate(&store, &leased, span).await);
    }
    found
}

async fn rate(store: &Arc<Redis>, limit: &Arc<Limit>, span: Duration) -> f64 {
    let (began, mut tasks) = (Instant::now(), JoinSet::new());
    for _ in 0..CALLERS {
        let (store, limit) = (store.clone(), limit.clone());
        tasks.spawn(async move {
            let mut decided = 0_u64;
            while began.elapsed() < span {
                let charges = [Charge::new(&limit, "hot")];
                let decision = store.decide(Mode::Charge, &charges).await;
                let decision = decision.expect("the server answers");
                assert!(decision.is_allowed() && !decision.is_degraded(), "{decision:?}");
                decided += 1;
                // What answers at once would let nobody else ask.
                if decided.is_multiple_of(16) {
                    yield_now().await;
                }
            }
            decided
        });
    }
    let decided: u64 = tasks.join_all().await.into_iter().sum();
    decided as f64 / began.elapsed().as_secs_f64()
}
