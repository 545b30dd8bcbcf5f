//! A server that is away for long, while everyone asks. These have a process of their own, one after the
//! other, since memory is the whole process's.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests panic, and live in real time beside a real server"
)]

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Mutex;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tollgate_core::{Algorithm, Anchor, Charge, Limit, Mode, Quota, Span, Store};
use tollgate_memory::Memory;
use tollgate_redis::Redis;
use tollgate_servers::{ChaosProxy, Server};

/// Whose turn it is.
static TURN: Mutex<()> = Mutex::const_new(());

const REPLICAS: NonZeroU32 = NonZeroU32::MIN;

/// The most that memory may grow by all of these, in KiB.
const MOST_GROWN: u64 = 20 * 1024;

/// A store and the one that decides while its server is away.
fn start(url: &str, deadline: Duration, keys: u64) -> (Arc<Redis>, Arc<Memory>) {
    let memory = Arc::new(Memory::builder().max_entries(keys).build().unwrap());
    let builder = Redis::builder(url.parse().unwrap()).deadline(deadline).replicas(REPLICAS);
    (Arc::new(builder.fallback(Arc::<Memory>::clone(&memory)).start()), memory)
}

fn windows(name: &str, quota: Quota) -> Limit {
    let algorithm = Algorithm::FixedWindow(Anchor::Clock);
    Limit::builder(name, quota).algorithm(algorithm).build().unwrap()
}

/// What this process holds, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Two thousand requests a second into silence: in time, few of them sent, and nothing piles up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b115_thirty_seconds_of_silence_cost_no_time_no_calls_and_no_memory() {
    const DEADLINE: Duration = Duration::from_millis(50);
    const SPAN: Duration = Duration::from_secs(30);
    let _turn = TURN.lock().await;
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 115);
    let (store, _memory) = start(&proxy.url(), DEADLINE, 10_000);
    store.connected().await;
    let limit = Arc::new(windows("api", Quota::per_second(100)));
    let (late, longest, stalled) =
        (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let ask = async |n: u64, due: Instant| {
        let (store, limit) = (Arc::clone(&store), Arc::clone(&limit));
        let (late, longest, stalled) =
            (Arc::clone(&late), Arc::clone(&longest), Arc::clone(&stalled));
        // A machine that comes to this late comes late to its end as well.
        stalled.fetch_max(millis(due.elapsed()), Ordering::Relaxed);
        tokio::spawn(async move {
            let begun = Instant::now();
            let key = format!("client {}", n % 500);
            store.decide(Mode::Charge, &[Charge::new(&limit, key.as_str())]).await.unwrap();
            let took = begun.elapsed();
            longest.fetch_max(millis(took), Ordering::Relaxed);
            late.fetch_add(u64::from(took > DEADLINE / 2), Ordering::Relaxed);
        });
    };
    let (mut tick, begun) = (interval(Duration::from_millis(1)), Instant::now());
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (mut asked, mut in_flight, mut resident_before, mut most) = (0, 0, 0, 0);
    let mut before = proxy.counts().calls;
    while begun.elapsed() < SPAN + Duration::from_secs(1) {
        let due = tick.tick().await;
        for _ in 0..2 {
            asked += 1;
            ask(asked, due).await;
        }
        if asked == 2_000 {
            // Warm, and as large as it is when all is well.
            resident_before = resident();
            before = proxy.counts().calls;
            proxy.black_hole();
        }
        if asked % 500 == 0 {
            most = most.max(resident());
            let servers = store.stats().servers;
            in_flight = in_flight.max(servers.iter().map(|s| s.in_flight).max().unwrap_or(0));
        }
    }
    let (calls, stats) = (proxy.counts().calls - before, store.stats());
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (longest, stalled) = (read(&longest), read(&stalled));
    println!(
        "{asked} asked, {calls} calls, {} unknown, {in_flight} in flight, {longest} ms, {} waited, \
         stalled {stalled} ms, {} KiB more",
        stats.unknown,
        read(&late),
        most.saturating_sub(resident_before)
    );
    assert!(stats.degraded > asked / 2, "{stats:?}");
    assert!(longest <= 60 + stalled, "{longest} ms, and a machine that stalls for {stalled} ms");
    // Those on their way before it was left alone, and a probe now and then: each waits to the end.
    assert!(in_flight < 200, "{in_flight}");
    assert!(read(&late) < 1_000, "{} waited", read(&late));
    assert!(calls < 200 + 30 * 20, "{calls} calls");
    assert!(most < resident_before + MOST_GROWN, "{most} KiB, {resident_before} KiB before");
    proxy.heal();
    let back = async {
        let peek = [Charge::new(&limit, "back")];
        while store.decide(Mode::Peek, &peek).await.unwrap().is_degraded() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(1), back).await.expect("asked again within a second");
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap()
}

/// A million clients while the server is away: a map of bounded size, and whoever is refused and keeps
/// coming is not forgiven by it. Under buckets, since of windows all end together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b120_a_million_keys_in_an_outage_stay_below_the_cap_and_forgive_nobody() {
    const KEYS: u64 = 1_000_000;
    const CAP: u64 = 20_000;
    let _turn = TURN.lock().await;
    let server = Server::redis().start();
    server.kill();
    let (store, memory) = start(&server.url(), Duration::from_millis(10), CAP);
    let limit = Limit::new("api", Quota::per_day(20)).unwrap();
    let attacker = [Charge::new(&limit, "attacker").cost(20)];
    assert!(store.decide(Mode::Charge, &attacker).await.unwrap().is_allowed());
    let ask = async |from: u64, to: u64| {
        for n in (from..to).step_by(50) {
            let keys: Vec<String> = (n..n + 50).map(|n| format!("client {n}")).collect();
            let charges: Vec<_> =
                keys.iter().map(|key| Charge::new(&limit, key.as_str())).collect();
            let decision = store.decide(Mode::Charge, &charges).await.unwrap();
            assert!(decision.is_allowed() && decision.is_degraded());
            let again = [Charge::new(&limit, "attacker")];
            assert!(store.decide(Mode::Charge, &again).await.unwrap().is_denied(), "{n}");
        }
    };
    // The map is as large as it gets.
    ask(0, KEYS / 10).await;
    let before = resident();
    let tasks = 8;
    let part = KEYS * 9 / 10 / tasks;
    let from = |task: u64| KEYS / 10 + task * part;
    join_all((0..tasks).map(|task| ask(from(task), from(task + 1)))).await;
    let (entries, grown) = (memory.stats().entries, resident().saturating_sub(before));
    println!("{entries} entries, {grown} KiB more, {} degraded", store.stats().degraded);
    assert!(entries <= CAP, "{entries}");
    assert!(grown < MOST_GROWN, "{grown} KiB more");
    assert_eq!(store.stats().decided, 0);
}

/// What was charged alone, in windows that are over or not, is never written to the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b124_nothing_of_a_partition_is_charged_when_it_is_over() {
    let window = Span::from_millis(400);
    let _turn = TURN.lock().await;
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 124);
    let (store, _memory) = start(&proxy.url(), Duration::from_millis(10), 1_000);
    store.connected().await;
    let straight = Redis::builder(server.url().parse().unwrap()).replicas(REPLICAS);
    let straight = straight.deadline(Duration::from_secs(5)).start();
    straight.connected().await;
    let short = windows("short", Quota::new(100, window).unwrap());
    let day = windows("day", Quota::per_day(100));
    let charges = [Charge::new(&short, "ann"), Charge::new(&day, "ann")];
    let used = async |limit: &Limit| {
        let peek = [Charge::new(limit, "ann").cost(0)];
        limit.capacity() - straight.decide(Mode::Peek, &peek).await.unwrap().remaining()
    };
    let counted = async || {
        while store.decide(Mode::Peek, &charges).await.unwrap().is_degraded() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    counted().await;
    assert!(!store.decide(Mode::Charge, &charges).await.unwrap().is_degraded());
    proxy.black_hole();
    let begun = Instant::now();
    let mut alone = 0;
    // Two windows and a half or more, five times in each where the machine is free.
    while begun.elapsed() < Duration::from_millis(1_000) || alone < 10 {
        let decision = store.decide(Mode::Charge, &charges).await.unwrap();
        alone += u64::from(decision.is_degraded());
        sleep(Duration::from_millis(80)).await;
    }
    proxy.heal();
    counted().await;
    // Also later, when whatever had been kept to be written would have been.
    for _ in 0..50 {
        assert_eq!((used(&short).await, used(&day).await), (0, 1), "{alone} were charged alone");
        sleep(Duration::from_millis(10)).await;
    }
    assert!(!store.decide(Mode::Charge, &charges).await.unwrap().is_degraded());
    assert_eq!(used(&day).await, 2);
}
