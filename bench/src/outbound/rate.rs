//! How much of a rate is reached while more wait than may go, and whether any span sees more than it
//! may: the burst, and the rate for its length.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::time::timeout;
use tollgate_core::{
    Charge, Clock, Decision, Limit, Limiter, LocalStore, Mode, Quota, Receipt, Reply, Store, Tick,
};
use tollgate_memory::Memory;
use tollgate_outbound::{Priority, Throttle};

use super::{BOTTLENECK, LEAKY_BUCKET, TOLLGATE, bottleneck};

/// What is configured.
pub const PER_SECOND: u32 = 5_000;
/// And may pass at once.
pub const BURST: u64 = 50;
/// For how long it is measured.
pub const SECONDS: u64 = 10;
/// How many wait for a turn at any time.
const CALLERS: usize = 500;

/// What a contender let pass.
pub struct Pace {
    /// How tables call it.
    pub name: &'static str,
    /// How many jobs began.
    pub jobs: usize,
    /// By how many calls the worst span exceeds its bound, by the instants at which they were charged,
    /// where those are known.
    pub charged_over: Option<f64>,
    /// The same by the instants at which jobs began: some of them late, as the system's whims are in it.
    pub begun_over: f64,
}

impl Pace {
    fn new(name: &'static str, begun: &[u64], charged: Option<&[u64]>) -> Pace {
        Pace { name, jobs: begun.len(), charged_over: charged.map(over), begun_over: over(begun) }
    }

    /// Of what the rate alone lets pass.
    pub fn share(&self) -> f64 {
        self.jobs as f64 / (u64::from(PER_SECOND) * SECONDS) as f64
    }
}

/// By how many calls the worst of all spans from one call to another exceeds the burst and the rate for
/// its length. Instants are in microseconds, in order.
fn over(instants: &[u64]) -> f64 {
    // Of calls i to j: (j + 1 - rate t_j) - (i - rate t_i) - burst.
    let ahead = |count: usize, at: u64| count as f64 - at as f64 * f64::from(PER_SECOND) / 1e6;
    let (mut least, mut worst) = (f64::INFINITY, f64::NEG_INFINITY);
    for (index, at) in instants.iter().enumerate() {
        least = least.min(ahead(index, *at));
        worst = worst.max(ahead(index + 1, *at) - least);
    }
    worst - BURST as f64
}

/// Has callers that never rest go through a throttle, and notes when.
fn pace<F: Future<Output = ()> + Send>(pass: impl Fn() -> F + Clone + Send + 'static) -> Vec<u64> {
    let runtime = Builder::new_current_thread().enable_time().build();
    runtime.expect("the machine has timers").block_on(async {
        let (origin, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let callers = (0..CALLERS).map(|_| {
            let (pass, times) = (pass.clone(), Arc::clone(&times));
            tokio::spawn(async move {
                loop {
                    pass().await;
                    let at = origin.elapsed().as_micros() as u64;
                    times.lock().expect("no caller panics").push(at);
                }
            })
        });
        let callers: Vec<_> = callers.collect();
        let never = std::future::pending::<()>();
        timeout(Duration::from_secs(SECONDS), never).await.expect_err("it never ends");
        callers.iter().for_each(tokio::task::JoinHandle::abort);
        let mut times = std::mem::take(&mut *times.lock().expect("no caller panics"));
        times.retain(|at| *at <= SECONDS * 1_000_000);
        times
    })
}

/// A throttle over a store that notes what it charges when.
pub fn tollgate() -> Pace {
    let quota = Quota::per_second(PER_SECOND).with_burst(BURST).expect("it is a quota");
    let limit = Limit::new("calls", quota).expect("the numbers are below 2^53");
    let ticks = Arc::new(Ticks { origin: Instant::now(), last: AtomicU64::new(0) });
    let memory = Memory::builder().clock(Shown(Arc::clone(&ticks))).build();
    let memory = memory.expect("the bounds are in range");
    let noted = Arc::new(Noted { memory, ticks, charged: Mutex::default() });
    let store: Arc<dyn Store> = noted.clone();
    let throttle = Throttle::over(Limiter::over(store, [limit]));
    let begun = pace(move || {
        let throttle = throttle.clone();
        async move {
            throttle.run(Priority::NORMAL, 1, || async {}).await.expect("it goes");
        }
    });
    let charged = noted.charged.lock().expect("nobody panics");
    Pace::new(TOLLGATE, &begun, Some(&charged))
}

/// The crate, in the form its documentation shows.
pub fn leaky_bucket() -> Pace {
    let burst = BURST as usize;
    let bucket = leaky_bucket::RateLimiter::builder()
        .max(burst)
        .initial(burst)
        .refill(PER_SECOND as usize / 1_000)
        .interval(Duration::from_millis(1))
        .build();
    let bucket = Arc::new(bucket);
    let begun = pace(move || {
        let bucket = Arc::clone(&bucket);
        async move { bucket.acquire_one().await }
    });
    Pace::new(LEAKY_BUCKET, &begun, None)
}

/// bottleneck's `minTime`: its reservoirs grow at most four times a second.
pub fn bottleneck() -> Pace {
    let (rate, seconds) = (PER_SECOND.to_string(), SECONDS.to_string());
    let begun: Vec<u64> =
        bottleneck::run(&["rate", &rate, &seconds]).iter().map(|at| *at as u64).collect();
    Pace::new(BOTTLENECK, &begun, None)
}

/// A clock that can be asked what it told last.
struct Ticks {
    origin: Instant,
    last: AtomicU64,
}

struct Shown(Arc<Ticks>);

impl Clock for Shown {
    fn now(&self) -> Tick {
        // From a while on: a full bucket begins in the past.
        let micros = 1_000_000_000 + self.0.origin.elapsed().as_micros() as u64;
        self.0.last.store(micros, Ordering::Relaxed);
        Tick::from_micros(micros)
    }
}

/// A store that notes the instants of what it charges. One thread asks it.
struct Noted {
    memory: Memory,
    ticks: Arc<Ticks>,
    charged: Mutex<Vec<u64>>,
}

impl Noted {
    fn note<'l>(&self, decision: Decision<'l>) -> Decision<'l> {
        if decision.is_allowed() {
            let at = self.ticks.last.load(Ordering::Relaxed);
            self.charged.lock().expect("nobody panics").push(at);
        }
        decision
    }
}

impl Store for Noted {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        Reply::ready(Ok(self.decide_now(mode, charges)))
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        self.memory.give(receipt, actual)
    }

    fn local(&self) -> Option<&dyn LocalStore> {
        Some(self)
    }
}

impl LocalStore for Noted {
    fn decide_now<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        self.note(self.memory.decide_now(mode, charges))
    }

    fn decide_one<'l>(&self, mode: Mode, charge: &Charge<'l, '_>) -> Decision<'l> {
        self.note(self.memory.decide_one(mode, charge))
    }

    fn give_now(&self, receipt: Receipt<'_>, actual: u64) {
        self.memory.give_now(receipt, actual);
    }
}
