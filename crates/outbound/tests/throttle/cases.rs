//! What other limiters got wrong.

use tollgate_outbound::{Priority, Throttle};

use crate::shop::{Log, away, bucket, limiter, millis, refused, settle};

#[tokio::test(start_paused = true)]
async fn b83_six_callers_of_one_per_second_are_all_served_by_the_fifth() {
    for throttle in [Throttle::over(limiter(bucket("1/s"))), Throttle::over(away(bucket("1/s")))] {
        let log = Log::new();
        let calls: Vec<_> = (0..6)
            .map(|call| {
                let (throttle, log) = (throttle.clone(), log.clone());
                tokio::spawn(async move {
                    let _permit = throttle.acquire("a", 1).await.unwrap();
                    log.add(call);
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        assert_eq!(log.order(), [0, 1, 2, 3, 4, 5]);
        let exact = [0, 1_000, 2_000, 3_000, 4_000, 5_000];
        for (at, exact) in log.times().iter().zip(exact) {
            assert!((exact..exact + 20).contains(at), "{:?}", log.times());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_in_its_turn() {
    let throttle = Throttle::builder().max_in_flight(1).build();
    let done = throttle.run(Priority::NORMAL, 1, || async { 7 }).await.unwrap();
    assert_eq!(done, 7);
    let held = throttle.acquire("", 1).await.unwrap();
    assert!(refused(throttle.try_acquire("", 1).await).is_busy());
    let late = throttle.call("").within(millis(50)).run(|| async {}).await;
    assert!(refused(late).is_late());
    let (other, log) = (throttle.clone(), Log::new());
    let told = log.clone();
    tokio::spawn(async move { other.run(Priority::LOW, 1, || async { told.add(1) }).await });
    settle().await;
    assert!(log.all().is_empty());
    drop(held);
    settle().await;
    assert_eq!(log.order(), [1]);
    throttle.stop().await;
    assert!(refused(throttle.acquire("", 1).await).is_stopped());
}
