//! A process that is killed while it runs jobs of a throttle that others share, rates and calls in flight,
//! over a real server and in real time.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test ends by a panic, lives in real time beside a real server, and starts a child"
)]

use std::future::poll_fn;
use std::io::{BufRead, BufReader};
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tollgate_core::{Limit, Limiter, Permits, Store};
use tollgate_outbound::{Priority, Throttle};
use tollgate_redis::{Address, Redis};
use tollgate_servers::Server;

/// Where the child finds the server.
const SERVER: &str = "TOLLGATE_TEST_SERVER";
/// What the child says once its jobs run.
const UNDERWAY: &str = "all jobs are underway";
/// How many jobs run at once in all processes.
const AT_ONCE: u32 = 3;
const LEASE: Duration = Duration::from_millis(900);
/// What a job costs, of so many a day.
const COST: u64 = 2;
const A_DAY: u64 = 100;

/// What a process has of the shared throttle, and its limits.
async fn process(server: &Address) -> (Throttle, Limiter<dyn Store>) {
    // Patient, since others want the processors.
    let redis = Redis::builder(server.clone()).deadline(Duration::from_secs(2)).start();
    redis.connected().await;
    let redis = Arc::new(redis);
    let (store, permits): (Arc<dyn Store>, Arc<dyn Permits>) = (redis.clone(), redis);
    let limit = Limit::new("jobs a day", format!("{A_DAY}/day").parse().unwrap()).unwrap();
    let limiter = Limiter::over(store, [limit]);
    let throttle = Throttle::builder().limits(limiter.clone());
    let throttle = throttle.share_in_flight(permits, "jobs", AT_ONCE).lease(LEASE).build();
    (throttle, limiter)
}

/// Jobs that have begun and do not end, and two more that wait.
async fn run_for_ever(throttle: &Throttle) -> JoinSet<()> {
    let (mut jobs, begun) = (JoinSet::new(), Arc::new(AtomicU32::new(0)));
    for _ in 0..AT_ONCE + 2 {
        let (throttle, begun) = (throttle.clone(), begun.clone());
        jobs.spawn(async move {
            let job = async || {
                begun.fetch_add(1, Ordering::SeqCst);
                std::future::pending().await
            };
            throttle.run(Priority::NORMAL, COST, job).await.unwrap()
        });
    }
    while begun.load(Ordering::SeqCst) < AT_ONCE {
        sleep(Duration::from_millis(1)).await;
    }
    jobs
}

/// Started by the other test, beside that one's server, it runs jobs until it is killed.
#[tokio::test]
async fn one_process_runs_all_the_jobs_there_may_be() {
    let Ok(url) = std::env::var(SERVER) else {
        let server = Server::redis().start();
        let (throttle, _) = process(&server.url().parse().unwrap()).await;
        let jobs = run_for_ever(&throttle).await;
        let stats = throttle.stats();
        assert_eq!((stats.in_flight, stats.waiting, jobs.len()), (3, 2, 5));
        return;
    };
    let (throttle, _) = process(&url.parse().unwrap()).await;
    let mut jobs = run_for_ever(&throttle).await;
    println!("{UNDERWAY}");
    jobs.join_next().await.unwrap().unwrap();
}

/// A process that is killed (SIGKILL) at the latest when its value is dropped.
struct Doomed(Child);

impl Drop for Doomed {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A child that runs as many jobs as may run, once it does.
async fn child(server: &Server) -> Doomed {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_process_runs_all_the_jobs_there_may_be", "--nocapture"])
        .env(SERVER, server.url())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Doomed(child.unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let underway = move || lines.find(|line| line.contains(UNDERWAY));
    tokio::task::spawn_blocking(underway).await.unwrap().expect("it runs its jobs");
    child
}

/// What a future gives at once, if it does.
async fn at_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let looked = poll_fn(|context| match Pin::new(&mut *future).poll(context) {
        Poll::Ready(out) => Poll::Ready(Some(out)),
        Poll::Pending => Poll::Ready(None),
    });
    looked.await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b91_a_process_that_is_killed_frees_its_calls_within_the_lease_and_is_charged_for_them() {
    const JOBS: u32 = 5;
    let server = Server::redis().start();
    let address: Address = server.url().parse().unwrap();
    let killed = child(&server).await;
    let (running, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (mut others, mut jobs) = (Vec::new(), JoinSet::new());
    for _ in 0..2 {
        let (throttle, limiter) = process(&address).await;
        let begun = Arc::new(Mutex::new(Vec::new()));
        for number in 0..JOBS {
            let call = throttle.call("").cost(COST);
            let (begun, running, most) = (begun.clone(), running.clone(), most.clone());
            let job = async move || {
                begun.lock().unwrap().push((number, Instant::now()));
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(Duration::from_millis(5)).await;
                running.fetch_sub(1, Ordering::SeqCst);
            };
            let mut run = Box::pin(call.run(job));
            // Each takes its place before the next one comes.
            assert!(at_once(&mut run).await.is_none());
            jobs.spawn(run);
        }
        others.push((throttle, limiter, begun));
    }
    // Longer than a lease it lives, and nobody else has a turn.
    sleep(LEASE + Duration::from_millis(500)).await;
    for (throttle, _, begun) in &others {
        assert_eq!((throttle.stats().waiting, begun.lock().unwrap().len()), (5, 0));
    }

    drop(killed);
    let at = Instant::now();
    let all = async { while jobs.join_next().await.transpose().unwrap().is_some() {} };
    timeout(Duration::from_secs(20), all).await.expect("all have their turn");

    let firsts = others.iter().map(|(_, _, begun)| begun.lock().unwrap()[0].1);
    let waited = firsts.min().unwrap().saturating_duration_since(at);
    // A second is for a machine that is busy.
    assert!(waited < LEASE + Duration::from_secs(1), "{waited:?}");
    assert!(most.load(Ordering::SeqCst) <= AT_ONCE);
    for (_, _, begun) in &others {
        let order: Vec<u32> = begun.lock().unwrap().iter().map(|(number, _)| *number).collect();
        assert_eq!(order, [0, 1, 2, 3, 4]);
    }
    let charged = COST * u64::from(AT_ONCE + 2 * JOBS);
    let left = others[0].1.peek("", 0).await.unwrap().remaining();
    assert_eq!(left, A_DAY - charged, "what had begun is charged, what only waited is not");
}
