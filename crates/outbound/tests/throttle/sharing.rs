//! One number of permits for several processes, each of which is a throttle here.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tollgate_core::{Held, Hold, Key, Permits, Reply, Span, StoreError};
use tollgate_memory::LocalPermits;
use tollgate_outbound::Throttle;

use crate::shop::{Paused, bucket, limiter, millis, refused, settle};

/// A process's way to where permits are counted: two milliseconds long, and it can be cut.
struct Way {
    permits: Mutex<Arc<LocalPermits>>,
    cut: watch::Receiver<Cut>,
    said: AtomicU32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    No,
    /// Nothing comes through, as if the process had been killed.
    Silent,
    /// Every message fails.
    Failing,
}

impl Permits for Way {
    fn hold<'a>(&'a self, hold: Hold<'a>) -> Reply<'a, Held> {
        self.said.fetch_add(1, Ordering::Relaxed);
        Reply::later(async move {
            sleep(millis(1)).await;
            let cut = *self.cut.borrow();
            match cut {
                Cut::No => {}
                Cut::Silent => std::future::pending().await,
                Cut::Failing => return Err(StoreError::unavailable("cut")),
            }
            let held = self.permits.lock().unwrap().hold_now(&hold);
            sleep(millis(1)).await;
            Ok(held)
        })
    }
}

impl Way {
    fn to(permits: &Arc<LocalPermits>) -> (Arc<Way>, watch::Sender<Cut>) {
        let (cutting, cut) = watch::channel(Cut::No);
        let permits = Mutex::new(permits.clone());
        (Arc::new(Way { permits, cut, said: AtomicU32::new(0) }), cutting)
    }
}

/// A process, as far as permits go, and what cuts its way.
fn process(permits: &Arc<LocalPermits>, most: u32) -> (Throttle, Arc<Way>, watch::Sender<Cut>) {
    let (way, cutting) = Way::to(permits);
    let throttle = Throttle::builder().share_in_flight(way.clone(), "test", most).build();
    (throttle, way, cutting)
}

fn place() -> Arc<LocalPermits> {
    Arc::new(LocalPermits::by(Paused::new()))
}

/// How many are in use, or may be, by whoever is not this stranger.
fn counted(permits: &LocalPermits, key: Key<'_>) -> u32 {
    let lease = Span::SECOND;
    let hold = Hold { name: "test", key, limit: 0, holder: 77, turn: 1, held: 0, wanted: 0, lease };
    permits.hold_now(&hold).others
}

#[tokio::test(start_paused = true)]
async fn processes_have_no_more_in_flight_than_there_are_permits() {
    let permits = place();
    let (now, peak) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let (throttle, ..) = process(&permits, 4);
        for _ in 0..20 {
            let (throttle, now, peak) = (throttle.clone(), now.clone(), peak.clone());
            tasks.push(tokio::spawn(async move {
                let job = || async {
                    peak.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                    sleep(millis(50)).await;
                    now.fetch_sub(1, Ordering::Relaxed);
                };
                throttle.call("a").run(job).await.unwrap();
            }));
        }
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(peak.load(Ordering::Relaxed), 4);
    // 60 jobs of 50 ms, 4 at once: 750 ms if nobody ever had to ask.
    assert!(begun.elapsed() < millis(2_500), "{:?}", begun.elapsed());
    sleep(millis(100)).await;
    assert_eq!(counted(&permits, "a".into()), 0);
}

#[tokio::test(start_paused = true)]
async fn b91_permits_of_a_killed_process_are_free_within_its_lease() {
    let permits = place();
    let (killed, _, cutting) = process(&permits, 2);
    let (other, ..) = process(&permits, 2);
    let held = [killed.acquire("a", 1).await.unwrap(), killed.acquire("a", 1).await.unwrap()];
    let waits = tokio::spawn(other.call("a").acquire());
    sleep(millis(15_000)).await;
    assert!(!waits.is_finished());
    cutting.send_replace(Cut::Silent);
    let begun = Instant::now();
    drop(waits.await.unwrap().unwrap());
    assert!(begun.elapsed() <= millis(30_200), "{:?}", begun.elapsed());
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn b91_a_long_job_keeps_its_permit_and_needs_six_messages_a_minute() {
    let permits = place();
    let (throttle, way, _cutting) = process(&permits, 1);
    let (other, ..) = process(&permits, 1);
    let held = throttle.acquire("a", 1).await.unwrap();
    for _ in 0..180 {
        sleep(millis(1_000)).await;
        assert_eq!(counted(&permits, "a".into()), 1);
    }
    assert!(way.said.load(Ordering::Relaxed) <= 20, "{:?}", way.said);
    assert!(refused(other.try_acquire("a", 1).await).is_busy());
    drop(held);
    sleep(millis(200)).await;
    drop(other.try_acquire("a", 1).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn b91_after_a_flush_the_processes_go_on_and_are_counted_again() {
    let permits = place();
    let ((one, way, _), (two, other_way, _)) = (process(&permits, 2), process(&permits, 2));
    let held = [one.acquire("a", 1).await.unwrap(), one.acquire("a", 1).await.unwrap()];
    assert!(refused(two.try_acquire("a", 1).await).is_busy());
    // What counted them has forgotten all.
    let flushed = place();
    for way in [way, other_way] {
        *way.permits.lock().unwrap() = flushed.clone();
    }
    assert_eq!(counted(&flushed, "a".into()), 0);
    // Within a third of the lease they are said again.
    sleep(millis(10_100)).await;
    assert_eq!(counted(&flushed, "a".into()), 2);
    assert!(refused(two.try_acquire("a", 1).await).is_busy());
    drop(held);
    sleep(millis(200)).await;
    drop(two.try_acquire("a", 1).await.unwrap());
    drop(one.acquire("a", 1).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn b93_a_release_that_fails_is_said_again_until_it_is_heard() {
    let permits = place();
    let (throttle, _, cutting) = process(&permits, 5);
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(throttle.acquire("a", 1).await.unwrap());
    }
    assert_eq!(counted(&permits, "a".into()), 5);
    cutting.send_replace(Cut::Failing);
    drop(held);
    sleep(millis(5_000)).await;
    assert_eq!(counted(&permits, "a".into()), 5);
    cutting.send_replace(Cut::No);
    sleep(millis(300)).await;
    assert_eq!(counted(&permits, "a".into()), 0);
}

#[tokio::test(start_paused = true)]
async fn b93_a_replica_that_dies_with_five_in_flight_counts_for_nothing_after_its_lease() {
    let permits = place();
    let (throttle, _, cutting) = process(&permits, 5);
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(throttle.acquire("a", 1).await.unwrap());
    }
    cutting.send_replace(Cut::Silent);
    sleep(millis(30_010)).await;
    assert_eq!(counted(&permits, "a".into()), 0);
    // Late, it hears nothing more, and begins nothing.
    held.pop();
    settle().await;
    assert!(refused(throttle.call("a").within(millis(500)).acquire().await).is_late());
}

#[tokio::test(start_paused = true)]
async fn while_permits_cannot_be_asked_for_what_was_granted_may_be_used_until_the_lease_ends() {
    let permits = place();
    let (throttle, _, cutting) = process(&permits, 5);
    let held = throttle.acquire("a", 1).await.unwrap();
    cutting.send_replace(Cut::Failing);
    let error = refused(throttle.try_acquire("a", 1).await);
    assert!(error.store().is_some(), "{error}");
    drop(held);
    // Nobody else has it: the count still says that it is this process's.
    drop(throttle.acquire("a", 1).await.unwrap());
    sleep(Duration::from_secs(31)).await;
    assert!(refused(throttle.call("a").within(millis(500)).acquire().await).is_late());
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_others_asks_seldom() {
    let permits = place();
    let (throttle, ..) = process(&permits, 1);
    let (other, way, _cutting) = process(&permits, 1);
    let _held = throttle.acquire("a", 1).await.unwrap();
    let waits: Vec<_> = (0..50).map(|_| tokio::spawn(other.call("a").acquire())).collect();
    sleep(Duration::from_secs(10)).await;
    let said = way.said.load(Ordering::Relaxed);
    assert!((60..=220).contains(&said), "{said} messages in 10 s");
    waits.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn shared_permits_and_a_rate_hold_together() {
    let permits = place();
    let (way, _cutting) = Way::to(&permits);
    let throttle = Throttle::builder()
        .limits(limiter(bucket("10/s burst 1")))
        .share_in_flight(way, "test", 2)
        .build();
    let begun = Instant::now();
    for _ in 0..5 {
        throttle.call("a").run(|| async {}).await.unwrap();
    }
    assert!(begun.elapsed() >= millis(400) && begun.elapsed() < millis(450));
    throttle.stop().await;
    sleep(millis(100)).await;
    assert_eq!(counted(&permits, "a".into()), 0);
}

#[tokio::test(start_paused = true)]
async fn who_waits_while_nobody_may_go_goes_once_that_is_changed() {
    let permits = place();
    let (way, _cutting) = Way::to(&permits);
    let throttle = Throttle::builder().max_in_flight(0).share_in_flight(way, "test", 2).build();
    let (waits, leaves) =
        (tokio::spawn(throttle.call("a").acquire()), tokio::spawn(throttle.call("b").acquire()));
    sleep(Duration::from_secs(60)).await;
    leaves.abort();
    throttle.set_max_in_flight(Some(1));
    let begun = Instant::now();
    let went = tokio::time::timeout(Duration::from_secs(60), waits).await;
    drop(went.expect("it is woken").unwrap().unwrap());
    assert!(begun.elapsed() <= millis(5), "{:?}", begun.elapsed());
    sleep(millis(100)).await;
    assert_eq!(counted(&permits, "a".into()), 0);
    // Nothing is left of either line.
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert_eq!(tasks, 0);
}
