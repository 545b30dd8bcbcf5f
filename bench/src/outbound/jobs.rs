//! What a job costs that does nothing, where no limit is reached.

use std::fmt::{self, Display};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tollgate_core::{Limit, Limiter, Quota};
use tollgate_memory::Memory;
use tollgate_outbound::{Priority, Throttle};

use super::{BOTTLENECK, LEAKY_BUCKET, SEMAPHORE, TOLLGATE, bottleneck};
use crate::race::median;

const ROUNDS: usize = 5;
const JOBS: usize = 100_000;
/// Fewer of bottleneck's, which take longer.
const JOBS_OF_NODE: usize = 2_000;
const AT_ONCE: usize = 1_000;
/// Of a limit that no run uses up.
const BURST: u64 = 10_000_000;

/// How jobs come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Each when the one before has ended.
    OneAtATime,
    /// A thousand at once, all of which may go.
    ManyAtOnce,
    /// A thousand at once, of which one may be underway, so that the others wait.
    Queued,
}

impl Load {
    /// All.
    pub const ALL: [Load; 3] = [Load::OneAtATime, Load::ManyAtOnce, Load::Queued];

    fn at_once(self) -> usize {
        if self == Load::OneAtATime { 1 } else { AT_ONCE }
    }
}

impl Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Load::OneAtATime => "one at a time",
            Load::ManyAtOnce => "1,000 at once",
            Load::Queued => "1,000 queued, one in flight",
        })
    }
}

/// Nanoseconds of a job.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    wall: f64,
    processor: f64,
}

/// One of the two clocks.
pub type Of = fn(&Cost) -> f64;

/// What is told.
pub const CLOCKS: [(&str, Of); 2] =
    [("processor", |cost| cost.processor), ("wall", |cost| cost.wall)];

/// What a job costs each contender, round by round.
pub struct Costs(Vec<(&'static str, Vec<Cost>)>);

impl Costs {
    /// Lets the contenders take turns.
    pub fn gather(load: Load) -> Costs {
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.expect("the machine has timers");
        let mut all: Vec<(&'static str, Vec<Cost>)> = Vec::new();
        for _ in 0..ROUNDS {
            for (name, cost) in turn(&runtime, load) {
                match all.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, costs)) => costs.push(cost),
                    None => all.push((name, vec![cost])),
                }
            }
        }
        Costs(all)
    }

    /// The median of a contender.
    pub fn nanos(&self, name: &str, of: Of) -> Option<f64> {
        Some(median(self.of(name)?.iter().map(of).collect()))
    }

    /// The median of the rounds' ratios of two contenders.
    pub fn ratio(&self, name: &str, other: &str, of: Of) -> Option<f64> {
        let (one, other) = (self.of(name)?, self.of(other)?);
        Some(median(one.iter().zip(other).map(|(one, other)| of(one) / of(other)).collect()))
    }

    fn of(&self, name: &str) -> Option<&[Cost]> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, costs)| costs.as_slice())
    }
}

/// One round. leaky-bucket cannot say how many may be underway.
fn turn(runtime: &Runtime, load: Load) -> Vec<(&'static str, Cost)> {
    let most = if load == Load::Queued { 1 } else { Semaphore::MAX_PERMITS };
    let semaphore = Arc::new(Semaphore::new(most));
    let mut costs = vec![(
        SEMAPHORE,
        time(runtime, load, || {
            let semaphore = Arc::clone(&semaphore);
            async move {
                let permit = semaphore.acquire().await.expect("it is never closed");
                job().await;
                drop(permit);
            }
        }),
    )];
    if load != Load::Queued {
        let full = BURST as usize;
        let bucket = leaky_bucket::RateLimiter::builder().max(full).initial(full).build();
        let bucket = Arc::new(bucket);
        let one = || {
            let bucket = Arc::clone(&bucket);
            async move {
                bucket.acquire_one().await;
                job().await;
            }
        };
        costs.push((LEAKY_BUCKET, time(runtime, load, one)));
    }
    let kind = match load {
        Load::OneAtATime => "one",
        Load::ManyAtOnce => "many",
        Load::Queued => "queued",
    };
    match bottleneck::run(&[kind, &JOBS_OF_NODE.to_string()])[..] {
        [wall, processor] => costs.push((BOTTLENECK, Cost { wall, processor })),
        ref other => panic!("two figures, not {other:?}"),
    }
    let quota = Quota::per_minute(1).with_burst(BURST).expect("it is a quota");
    let limit = Limit::new("jobs", quota).expect("the numbers are below 2^53");
    let builder = Throttle::builder().limits(Limiter::<Memory>::new([limit]));
    let builder = if load == Load::Queued { builder.max_in_flight(1) } else { builder };
    let throttle = builder.build();
    let one = || {
        let throttle = throttle.clone();
        async move { throttle.run(Priority::NORMAL, 1, job).await.expect("it goes") }
    };
    costs.push((TOLLGATE, time(runtime, load, one)));
    costs
}

async fn job() {}

fn time<F>(runtime: &Runtime, load: Load, one: impl Fn() -> F) -> Cost
where
    F: Future<Output = ()> + Send + 'static,
{
    runtime.block_on(async {
        run(&one, JOBS / 10, load).await;
        let (wall, processor) = (now(ClockId::Monotonic), now(ClockId::ThreadCPUTime));
        run(&one, JOBS, load).await;
        let per_job = |since: Duration, clock| (now(clock) - since).as_nanos() as f64 / JOBS as f64;
        Cost {
            wall: per_job(wall, ClockId::Monotonic),
            processor: per_job(processor, ClockId::ThreadCPUTime),
        }
    })
}

async fn run<F>(one: &impl Fn() -> F, jobs: usize, load: Load)
where
    F: Future<Output = ()> + Send + 'static,
{
    for _ in 0..jobs / load.at_once() {
        if load == Load::OneAtATime {
            one().await;
            continue;
        }
        let mut all = JoinSet::new();
        for _ in 0..load.at_once() {
            all.spawn(one());
        }
        all.join_all().await;
    }
}

fn now(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    Duration::new(now.tv_sec.cast_unsigned(), now.tv_nsec as u32)
}
