//! What many tasks cost that wait on one key, each contender in a process of its own: memory as the
//! kernel counts it, and the time until all have gone.

use std::env;
use std::future::Future;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, yield_now};
use tollgate_outbound::Throttle;

use super::{BOTTLENECK, LEAKY_BUCKET, SEMAPHORE, bottleneck};
use crate::memory::Resident;

/// How many wait.
pub const FEW: usize = 10_000;
/// And ten times as many.
pub const MANY: usize = 100_000;

const ONE_BY_ONE: &str = "tollgate, one after another";
const AT_ONCE: &str = "tollgate, all at once";

/// What a waiter costs.
#[derive(Clone, Copy, Debug)]
pub struct Weight {
    /// Bytes of resident set for each.
    pub bytes: f64,
    /// Until all have gone, where they can be let go.
    pub seconds: Option<f64>,
}

/// One contender.
pub struct Waiters {
    /// How tables call it.
    pub name: &'static str,
    /// Of [`FEW`].
    pub few: Option<Weight>,
    /// Of [`MANY`].
    pub many: Option<Weight>,
}

impl Waiters {
    /// Weighs them one after another.
    pub fn gather() -> Vec<Waiters> {
        let of = |name| Waiters { name, few: weigh(name, FEW), many: weigh(name, MANY) };
        let mut all: Vec<_> = [SEMAPHORE, LEAKY_BUCKET, ONE_BY_ONE, AT_ONCE].map(of).into();
        // Ten times as many would take it some minutes.
        let few = match bottleneck::run(&["waiters", &FEW.to_string()])[..] {
            [bytes, seconds] => Weight { bytes, seconds: Some(seconds) },
            ref other => panic!("two figures, not {other:?}"),
        };
        all.push(Waiters { name: BOTTLENECK, few: Some(few), many: None });
        all
    }

    /// How many times as long ten times as many take.
    pub fn growth(&self) -> Option<f64> {
        Some(self.many?.seconds? / self.few?.seconds?)
    }
}

/// The best of some children: others want the processors.
fn weigh(name: &str, calls: usize) -> Option<Weight> {
    let program = env::current_exe().ok()?;
    let child = || {
        let output = Command::new(&program)
            .args(["outbound", "waiters", name, &calls.to_string()])
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (bytes, seconds) = text.trim().split_once(' ')?;
        Some(Weight { bytes: bytes.parse().ok()?, seconds: seconds.parse().ok() })
    };
    (0..3).filter_map(|_| child()).min_by(|a, b| {
        let seconds = |weight: &Weight| weight.seconds.unwrap_or(0.0);
        seconds(a).total_cmp(&seconds(b))
    })
}

/// In the child: prints bytes and seconds, if there is a contender of this name.
pub fn child(name: &str, calls: usize) -> Option<()> {
    let runtime = Builder::new_current_thread().enable_time().build().ok()?;
    runtime.block_on(async {
        let mut all = JoinSet::new();
        match name {
            SEMAPHORE => {
                let semaphore = Arc::new(Semaphore::new(1));
                let held = semaphore.acquire().await.ok()?;
                let bytes = bytes_of(calls, &mut all, || {
                    let semaphore = Arc::clone(&semaphore);
                    async move { drop(semaphore.acquire().await) }
                });
                let bytes = bytes.await;
                let begun = Instant::now();
                drop(held);
                all.join_all().await;
                println!("{bytes} {}", begun.elapsed().as_secs_f64());
            }
            LEAKY_BUCKET => {
                let bucket = leaky_bucket::RateLimiter::builder()
                    .max(1)
                    .initial(0)
                    .interval(Duration::from_secs(3_600))
                    .build();
                let bucket = Arc::new(bucket);
                let bytes = bytes_of(calls, &mut all, || {
                    let bucket = Arc::clone(&bucket);
                    async move { bucket.acquire_one().await }
                });
                println!("{} -", bytes.await);
            }
            ONE_BY_ONE | AT_ONCE => {
                let throttle = Throttle::builder().max_in_flight(1).max_waiting(calls).build();
                let held = throttle.acquire("a", 1).await.ok()?;
                let bytes = bytes_of(calls, &mut all, || {
                    let throttle = throttle.clone();
                    async move { drop(throttle.acquire("a", 1).await.expect("it goes")) }
                });
                let bytes = bytes.await;
                assert_eq!(throttle.stats().waiting, calls, "all wait");
                let begun = Instant::now();
                if name == AT_ONCE {
                    throttle.set_max_in_flight(None);
                }
                drop(held);
                all.join_all().await;
                println!("{bytes} {}", begun.elapsed().as_secs_f64());
            }
            _ => return None,
        }
        Some(())
    })
}

/// Spawns tasks until all wait, and tells how many bytes each has taken.
async fn bytes_of<F: Future<Output = ()> + Send + 'static>(
    calls: usize,
    all: &mut JoinSet<()>,
    one: impl Fn() -> F,
) -> f64 {
    let (before, come) = (Resident::read(), Arc::new(AtomicUsize::new(0)));
    for _ in 0..calls {
        let (call, come) = (one(), Arc::clone(&come));
        all.spawn(async move {
            come.fetch_add(1, Ordering::Relaxed);
            call.await;
        });
    }
    while come.load(Ordering::Relaxed) < calls {
        yield_now().await;
    }
    Resident::read().now.saturating_sub(before.now) as f64 / calls as f64
}
