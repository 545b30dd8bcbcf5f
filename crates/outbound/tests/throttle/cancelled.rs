//! A call that is dropped, at any moment and in any state, leaves nothing behind and delays nobody.

use std::sync::Arc;

use tokio::time::sleep;
use tollgate_core::{Algorithm, Limiter, Queue};
use tollgate_memory::{LocalPermits, Memory};
use tollgate_outbound::{Call, Full, Priority, Throttle};

use crate::shop::{Held, Log, Paused, bucket, far_away, limit, limiter, millis, settle};

/// What the call that is dropped is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Acquire,
    AcquireWithin,
    AcquireUrgently,
    Cheaper,
    Dearer,
    Reserve,
    Run,
    ThroughTwo,
}

const ALL: [Doing; 8] = [
    Doing::Acquire,
    Doing::AcquireWithin,
    Doing::AcquireUrgently,
    Doing::Cheaper,
    Doing::Dearer,
    Doing::Reserve,
    Doing::Run,
    Doing::ThroughTwo,
];

/// How it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It never comes.
    Absent,
    /// After so many milliseconds, polled whenever it is woken and each millisecond besides.
    Polled(u64),
    /// After so many milliseconds, polled only once, when it comes.
    Forgotten(u64),
}

/// What the calls wait for.
struct Place {
    near: Option<Limiter<Memory>>,
    /// For whoever goes through two.
    other: Throttle,
    throttle: Throttle,
}

const IN_FLIGHT: &str = "in flight";
const BUCKET: &str = "bucket";
const BUCKET_IN_FLIGHT: &str = "bucket, in flight";
const QUEUE: &str = "queue";
const HELD_OUTSIDE: &str = "bucket, held outside";
const SHARED: &str = "shared";

/// Every kind of waiting there is, and how many milliseconds away its store is.
const PLACES: [(&str, u64); 10] = [
    (IN_FLIGHT, 0),
    (BUCKET, 0),
    (BUCKET_IN_FLIGHT, 0),
    (QUEUE, 0),
    (HELD_OUTSIDE, 0),
    (BUCKET, 2),
    (BUCKET_IN_FLIGHT, 2),
    (QUEUE, 2),
    (HELD_OUTSIDE, 2),
    (SHARED, 0),
];

/// With room for what is to happen in it.
fn place((name, way): (&str, u64)) -> Place {
    let near = match name {
        IN_FLIGHT | SHARED => None,
        QUEUE => Some(limiter(limit("50/s", Algorithm::LeakyBucket(Queue::Length(30))))),
        _ => Some(limiter(bucket("50/s burst 2"))),
    };
    let builder = match &near {
        None => Throttle::builder(),
        Some(near) if way == 0 => Throttle::builder().limits(near.clone()),
        Some(near) => Throttle::builder().limits(far_away(near, way)),
    };
    let builder = match name {
        IN_FLIGHT | BUCKET_IN_FLIGHT => builder.max_in_flight(1),
        HELD_OUTSIDE => builder.max_waiting(2).when_full(Full::Hold),
        SHARED => {
            let permits = LocalPermits::by(Paused::new());
            builder.share_in_flight(Arc::new(permits), "test", 1)
        }
        _ => builder,
    };
    let other = Throttle::builder().max_in_flight(1).build();
    Place { near, other, throttle: builder.build() }
}

/// How much later others may go where the question that is underway is for nobody: an answer for
/// nobody, what it charged given back, and a question asked meanwhile once more.
fn slack((_, way): (&str, u64)) -> u64 {
    7 * way
}

/// The call that is dropped; its permit is given back if it gets one.
async fn victim(place: &Place, doing: Doing) {
    let call: Call = place.throttle.call("a");
    let permit = match doing {
        Doing::Acquire => call.acquire().await,
        Doing::AcquireWithin => call.within(millis(35)).acquire().await,
        Doing::AcquireUrgently => call.priority(Priority::HIGH).acquire().await,
        Doing::Cheaper => call.cost(0).acquire().await,
        Doing::Dearer => call.cost(2).acquire().await,
        Doing::Reserve => match call.reserve() {
            Ok(reservation) => reservation.await,
            Err(error) => Err(error),
        },
        Doing::Run => {
            let _ = call.run(std::future::pending::<()>).await;
            return;
        }
        Doing::ThroughTwo => call.and(&place.other, "b").acquire().await,
    };
    // Underway until it is dropped.
    let _permit = permit;
    std::future::pending::<()>().await;
}

/// Lets three calls come, then the victim, then three more. Returns when the others went, how much is
/// left in the end, and whether the victim had gone when it was dropped.
async fn play(kind: (&str, u64), doing: Doing, end: End) -> (Vec<(u32, u64)>, Option<u64>, bool) {
    let place = place(kind);
    let (throttle, log) = (place.throttle.clone(), Log::new());
    let come = |from: u32| {
        for number in from..from + 3 {
            let (call, log) = (throttle.call("a"), log.clone());
            tokio::spawn(async move {
                let _permit = call.acquire().await.unwrap();
                log.add(number);
                sleep(millis(5)).await;
            });
        }
    };
    come(0);
    settle().await;
    let place = Arc::new(place);
    let mut dropped = None;
    if end != End::Absent {
        let place = place.clone();
        let mut held = Held::new(async move { victim(&place, doing).await });
        assert!(held.poll().is_none());
        dropped = Some(held);
    }
    settle().await;
    come(3);
    let mut had_gone = false;
    if let Some(mut held) = dropped {
        match end {
            End::Absent => {}
            End::Polled(span) => {
                for _ in 0..span {
                    sleep(millis(1)).await;
                    assert!(held.poll().is_none());
                }
                // What happens in the last millisecond, it hears.
                settle().await;
                assert!(held.poll().is_none());
            }
            End::Forgotten(span) => sleep(millis(span)).await,
        }
        settle().await;
        had_gone = throttle.stats().waiting + log.all().len() == 6;
        drop(held);
    }
    sleep(millis(400)).await;
    let left = place.near.as_ref().map(|near| near.peek("a", 0).remaining());
    for throttle in [&throttle, &place.other] {
        let stats = throttle.stats();
        assert_eq!((stats.in_flight, stats.waiting), (0, 0), "{kind:?}");
    }
    let permit = throttle.try_acquire("a", 1).await.unwrap();
    drop(permit);
    (log.all(), left, had_gone)
}

fn in_paused_time<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(future)
}

/// Drops the victim at every millisecond of the run, and so in every state it can be in.
fn drop_at_any_time(doing: Doing) {
    for kind in PLACES {
        let slack = slack(kind);
        let (without, full, _) = in_paused_time(play(kind, doing, End::Absent));
        assert_eq!(without.iter().map(|(call, _)| *call).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        for span in 0..=60 {
            let forgotten = (span % 4 == 0).then_some(End::Forgotten(span));
            for end in [End::Polled(span)].into_iter().chain(forgotten) {
                let (with, left, had_gone) = in_paused_time(play(kind, doing, end));
                let what = format!("{kind:?}, {doing:?}, {end:?}: {with:?}, not {without:?}");
                let order: Vec<_> = with.iter().map(|(call, _)| *call).collect();
                assert_eq!(order, [0, 1, 2, 3, 4, 5], "{what}");
                assert_eq!(left, full, "{what}");
                if !had_gone {
                    for ((_, at), (_, exact)) in with.iter().zip(&without) {
                        assert!(*at <= patience(doing, *exact, span) + slack, "{what}");
                    }
                }
                let end = with.iter().map(|(_, at)| *at).max().unwrap();
                assert!(end <= 70 + 250 + slack, "{what}");
            }
        }
    }
}

/// Until when a call goes that would have gone at `exact` without the one that was dropped.
fn patience(doing: Doing, exact: u64, dropped: u64) -> u64 {
    match doing {
        // Who waited behind a dearer call goes when that is gone.
        Doing::Dearer => exact.max(dropped) + 5,
        _ => exact,
    }
}

#[test]
fn every_kind_of_call_can_be_dropped_at_any_moment() {
    let threads: Vec<_> =
        ALL.map(|doing| std::thread::spawn(move || drop_at_any_time(doing))).into_iter().collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
