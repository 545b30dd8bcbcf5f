//! Who goes when, who does not, and what is told of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, advance, sleep};
use tollgate_core::{Algorithm, Limit, Limiter, Queue, Span};
use tollgate_outbound::{Call, Error, Full, Permit, Priority, Throttle};

use crate::shop::{Held, Log, away, bucket, limit, limiter, memory, millis, refused, settle};

/// A task that waits for its turn, logs it and holds its permit for so long.
fn go(call: Call, number: u32, log: &Log, hold: Duration) -> tokio::task::JoinHandle<()> {
    let log = log.clone();
    tokio::spawn(async move {
        if let Ok(_permit) = call.acquire().await {
            log.add(number);
            sleep(hold).await;
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_head_start_goes_before_those_that_came_less_than_it_before() {
    let throttle = Throttle::over(limiter(bucket("1/s")));
    drop(throttle.acquire("a", 1).await.unwrap());
    let log = Log::new();
    let at = |level| throttle.call("a").priority(Priority::level(level));
    for (number, level) in [(0, 0), (1, -1), (2, 1), (3, 0), (4, 2)] {
        drop(go(at(level), number, &log, Duration::ZERO));
        settle().await;
    }
    sleep(millis(10_000)).await;
    assert_eq!(log.order(), [4, 2, 0, 3, 1]);
}

#[tokio::test(start_paused = true)]
async fn no_stream_of_urgent_calls_starves_a_low_one() {
    for limiter in [limiter(bucket("10/s burst 1")).into(), away(&limiter(bucket("10/s burst 1")))]
    {
        let throttle = Throttle::over(limiter);
        let log = Log::new();
        drop(go(throttle.call("a"), 1_000, &log, Duration::ZERO));
        settle().await;
        let low = throttle.call("a").priority(Priority::LOW);
        drop(go(low, 0, &log, Duration::ZERO));
        for number in 1..500 {
            let urgent = throttle.call("a").priority(Priority::HIGH);
            drop(go(urgent, number, &log, Duration::ZERO));
            sleep(millis(50)).await;
        }
        // Ten head starts of a second: 200 calls come before it, and go first.
        let place = log.order().iter().position(|number| *number == 0).unwrap();
        assert!((190..=210).contains(&place), "{place}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_key_has_a_line_and_a_permit_count_of_its_own() {
    let throttle = Throttle::builder().max_in_flight(1).build();
    let one = throttle.acquire("one", 1).await.unwrap();
    let two = throttle.try_acquire("two", 1).await.unwrap();
    assert!(refused(throttle.try_acquire("one", 1).await).is_busy());
    assert_eq!(throttle.stats().in_flight, 2);
    drop((one, two));
    drop(throttle.try_acquire(7u64, 1).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_full_line_refuses_the_new_call() {
    let throttle = Throttle::builder().max_in_flight(1).max_waiting(2).build();
    let held = throttle.acquire("a", 1).await.unwrap();
    let _one = Held::waits(throttle.call("a").acquire());
    let mut two = Held::waits(throttle.call("a").acquire());
    assert!(refused(throttle.acquire("a", 1).await).is_full());
    drop(throttle.acquire("b", 1).await.unwrap());
    assert_eq!((throttle.stats().waiting, throttle.stats().full), (2, 1));
    drop(held);
    assert!(two.poll().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_full_line_drops_the_oldest_whatever_its_priority() {
    let throttle =
        Throttle::builder().max_in_flight(1).max_waiting(2).when_full(Full::DropOldest).build();
    let held = throttle.acquire("a", 1).await.unwrap();
    let mut one = Held::waits(throttle.call("a").priority(Priority::HIGH).acquire());
    let mut two = Held::waits(throttle.call("a").priority(Priority::LOW).acquire());
    let mut three = Held::waits(throttle.call("a").acquire());
    assert!(refused(one.poll().unwrap()).is_full());
    assert_eq!((one.wakes(), throttle.stats().displaced), (1, 1));
    drop(held);
    let third = three.poll().unwrap().unwrap();
    assert!(two.poll().is_none());
    drop(third);
    assert!(two.poll().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_full_line_drops_the_newest_of_the_lowest_or_refuses() {
    let throttle =
        Throttle::builder().max_in_flight(1).max_waiting(3).when_full(Full::DropLowest).build();
    let held = throttle.acquire("a", 1).await.unwrap();
    let call = |priority| throttle.call("a").priority(priority).acquire();
    let mut old = Held::waits(call(Priority::LOW));
    let mut new = Held::waits(call(Priority::LOW));
    let _normal = Held::waits(call(Priority::NORMAL));
    assert!(refused(call(Priority::LOW).await).is_full());
    let mut high = Held::waits(call(Priority::NORMAL));
    assert!(refused(new.poll().unwrap()).is_full());
    assert!(old.poll().is_none() && high.poll().is_none());
    let _next = Held::waits(call(Priority::HIGH));
    assert!(refused(old.poll().unwrap()).is_full());
    assert!(refused(call(Priority::NORMAL).await).is_full());
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_full_line_holds_the_new_call_until_there_is_room() {
    let throttle =
        Throttle::builder().max_in_flight(1).max_waiting(2).when_full(Full::Hold).build();
    let log = Log::new();
    let calls: Vec<_> =
        (0..20).map(|number| go(throttle.call("a"), number, &log, millis(10))).collect();
    settle().await;
    assert_eq!((throttle.stats().waiting, throttle.stats().in_flight), (19, 1));
    calls[1].abort();
    calls[7].abort();
    settle().await;
    assert_eq!(throttle.stats().waiting, 17);
    sleep(millis(1_000)).await;
    let others: Vec<_> = (0..20).filter(|number| ![1, 7].contains(number)).collect();
    assert_eq!(log.order(), others);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_may_wait_who_would_have_to_is_refused() {
    let throttle =
        Throttle::builder().limits(limiter(bucket("10/s burst 1"))).max_waiting(0).build();
    drop(throttle.acquire("a", 1).await.unwrap());
    let error = refused(throttle.acquire("a", 1).await);
    assert!(error.is_busy());
    assert_eq!(error.retry_after(), Some(Span::from_millis(100)));
    advance(millis(100)).await;
    drop(throttle.acquire("a", 1).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn more_keys_than_may_be_are_refused_and_idle_ones_forgotten() {
    let throttle = Throttle::builder().max_in_flight(1).max_keys(2).build();
    let one = throttle.acquire("one", 1).await.unwrap();
    let _two = throttle.acquire("two", 1).await.unwrap();
    assert!(refused(throttle.acquire("three", 1).await).is_full());
    drop(one);
    drop(throttle.acquire("three", 1).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_wait_in_time_and_lets_the_next_one_go() {
    let throttle = Throttle::builder().max_in_flight(1).build();
    let held = throttle.acquire("a", 1).await.unwrap();
    let begun = Instant::now();
    let (late, log) = (throttle.call("a").within(millis(50)), Log::new());
    let next = go(throttle.call("a"), 1, &log, Duration::ZERO);
    assert!(refused(late.acquire().await).is_late());
    assert_eq!(begun.elapsed(), millis(50));
    drop(held);
    next.await.unwrap();
    assert_eq!((throttle.stats().late, throttle.stats().granted), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn the_first_is_refused_at_once_when_its_limit_takes_longer() {
    for far in [false, true] {
        let near = limiter(bucket("1/s"));
        let throttle = if far { Throttle::over(away(&near)) } else { Throttle::over(near) };
        drop(throttle.acquire("a", 1).await.unwrap());
        let begun = Instant::now();
        assert!(refused(throttle.call("a").within(millis(900)).acquire().await).is_late());
        assert!(begun.elapsed() <= millis(2), "{:?}", begun.elapsed());
        drop(throttle.call("a").within(millis(1_100)).acquire().await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn what_can_never_pass_is_refused_at_once_and_holds_nobody_up() {
    for far in [false, true] {
        let near = limiter(bucket("3/2s"));
        let throttle = if far { Throttle::over(away(&near)) } else { Throttle::over(near.clone()) };
        drop(throttle.acquire("a", 3).await.unwrap());
        let log = Log::new();
        drop(go(throttle.call("a"), 1, &log, Duration::ZERO));
        let never = throttle.call("a").cost(4);
        assert!(refused(never.acquire().await).is_never());
        drop(go(throttle.call("a"), 2, &log, Duration::ZERO));
        sleep(millis(5_000)).await;
        assert_eq!(log.order(), [1, 2]);
        assert_eq!(throttle.stats().never, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cheap_call_never_passes_an_expensive_one() {
    let throttle = Throttle::over(limiter(bucket("10/s burst 10")));
    let log = Log::new();
    drop(throttle.acquire("a", 8).await.unwrap());
    drop(go(throttle.call("a").cost(10), 1, &log, Duration::ZERO));
    settle().await;
    drop(go(throttle.call("a").cost(1), 2, &log, Duration::ZERO));
    sleep(millis(5_000)).await;
    assert_eq!((log.order(), log.times()), (vec![1, 2], vec![800, 900]));
}

#[tokio::test(start_paused = true)]
async fn spacing_is_a_limit_with_a_burst_of_one() {
    let spacing = Limit::new("spacing", "1/200ms".parse().unwrap()).unwrap();
    let limits = Limiter::over(memory(), [bucket("100/s burst 10"), spacing]);
    let throttle = Throttle::builder().limits(limits).max_in_flight(2).build();
    let log = Log::new();
    for number in 0..4 {
        drop(go(throttle.call("a"), number, &log, millis(50)));
    }
    sleep(millis(2_000)).await;
    assert_eq!(log.times(), [0, 200, 400, 600]);
}

#[tokio::test(start_paused = true)]
async fn a_leaky_queue_spaces_calls_exactly_also_costly_ones() {
    let queue = Algorithm::LeakyBucket(Queue::Length(20));
    for far in [false, true] {
        let near = limiter(limit("10/s", queue));
        let throttle = if far { Throttle::over(away(&near)) } else { Throttle::over(near) };
        let log = Log::new();
        for number in 0..4 {
            drop(go(throttle.call("a"), number, &log, Duration::ZERO));
        }
        drop(go(throttle.call("a").cost(5), 4, &log, Duration::ZERO));
        drop(go(throttle.call("a"), 5, &log, Duration::ZERO));
        sleep(millis(3_000)).await;
        assert_eq!(log.order(), [0, 1, 2, 3, 4, 5]);
        for (at, exact) in log.times().iter().zip([0, 100, 200, 300, 800, 900]) {
            assert!((exact..=exact + 5).contains(at), "{:?}", log.times());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_through_several_throttles_is_charged_by_all_or_none() {
    for far in [false, true] {
        let store = memory();
        let wide = Limiter::over(store.clone(), [bucket("10/s")]);
        let narrow =
            Limit::new("narrow", "1/s".parse().unwrap()).map(|limit| Limiter::over(store, [limit]));
        let narrow = narrow.unwrap();
        let of = |near: &Limiter<_>| match far {
            true => Throttle::over(away(near)),
            false => Throttle::over(near.clone()),
        };
        let (a, b) = (of(&wide), of(&narrow));
        drop(b.acquire("all", 1).await.unwrap());
        let busy = b.call("all").and(&a, "host").try_acquire().await;
        assert!(refused(busy).is_busy());
        assert_eq!(wide.peek("host", 0).remaining(), 10);
        let begun = Instant::now();
        let waits = tokio::spawn(a.call("host").and(&b, "all").acquire());
        sleep(millis(500)).await;
        assert_eq!(wide.peek("host", 0).remaining(), 10);
        let permit = waits.await.unwrap().unwrap();
        assert!(begun.elapsed() <= millis(1_010), "{:?}", begun.elapsed());
        assert_eq!(wide.peek("host", 0).remaining(), 9);
        assert_eq!((a.stats().in_flight, b.stats().in_flight), (1, 1));
        permit.give_back();
        sleep(millis(10)).await;
        assert_eq!((a.stats().in_flight, b.stats().in_flight), (0, 0));
        assert_eq!(wide.peek("host", 0).remaining(), 10);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_cross_throttles_in_any_order_all_go() {
    let [a, b, c] = [2, 3, 1].map(|most| Throttle::builder().max_in_flight(most).build());
    let mut tasks = Vec::new();
    for number in 0..60 {
        let call = match number % 6 {
            0 => a.call("x").and(&b, "y"),
            1 => b.call("y").and(&a, "x"),
            2 => c.call("z").and(&b, "y").and(&a, "x"),
            3 => b.call("y").and(&c, "z"),
            4 => a.call("x").and(&a, "x").and(&a, "w"),
            _ => a.call("w").and(&a, "x"),
        };
        tasks.push(tokio::spawn(async move {
            call.run(|| sleep(millis(7))).await.unwrap();
        }));
        if number % 5 == 0 {
            tasks.swap_remove(tasks.len() / 2).abort();
        }
    }
    for task in tasks {
        task.await.unwrap();
    }
    for throttle in [a, b, c] {
        assert_eq!((throttle.stats().in_flight, throttle.stats().waiting), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_through_several_keeps_its_turn_in_the_first_until_it_goes() {
    let first = Throttle::builder().max_in_flight(5).build();
    let second = Throttle::builder().max_in_flight(1).build();
    let held = second.acquire("b", 1).await.unwrap();
    let mut both = Held::waits(second.call("b").and(&first, "a").acquire());
    let mut behind = Held::waits(first.call("a").acquire());
    assert!(refused(first.try_acquire("a", 1).await).is_busy());
    drop(held);
    let both = both.poll().unwrap().unwrap();
    let behind = behind.poll().unwrap().unwrap();
    assert_eq!((first.stats().in_flight, second.stats().in_flight), (2, 1));
    drop((both, behind));
}

#[tokio::test(start_paused = true)]
async fn a_stop_serves_those_that_wait_and_ends_with_the_last() {
    let throttle = Throttle::builder().limits(limiter(bucket("10/s burst 1"))).build();
    let log = Log::new();
    for number in 0..5 {
        drop(go(throttle.call("a"), number, &log, millis(300)));
    }
    settle().await;
    let begun = Instant::now();
    let other = throttle.clone();
    let stopping = tokio::spawn(async move { other.stop().await });
    settle().await;
    assert!(refused(throttle.acquire("a", 1).await).is_stopped());
    stopping.await.unwrap();
    assert_eq!((log.order(), begun.elapsed()), (vec![0, 1, 2, 3, 4], millis(700)));
    assert_eq!(throttle.stats().stopped, 1);
}

#[tokio::test(start_paused = true)]
async fn a_stop_at_once_ends_those_that_wait_and_awaits_those_underway() {
    let throttle = Throttle::builder().max_in_flight(1).build();
    let log = Log::new();
    drop(go(throttle.call("a"), 0, &log, millis(300)));
    settle().await;
    let waits = tokio::spawn(throttle.call("a").acquire());
    settle().await;
    let begun = Instant::now();
    throttle.stop_now().await;
    assert!(refused(waits.await.unwrap()).is_stopped());
    assert_eq!(begun.elapsed(), millis(300));
}

#[tokio::test(start_paused = true)]
async fn a_stop_at_once_gives_back_what_was_charged_for_one_that_waits() {
    let near = limiter(limit("10/s", Algorithm::LeakyBucket(Queue::Length(5))));
    let throttle = Throttle::over(near.clone());
    drop(throttle.acquire("a", 1).await.unwrap());
    let waits = tokio::spawn(throttle.call("a").acquire());
    settle().await;
    assert_eq!(near.peek("a", 0).remaining(), 4);
    throttle.stop_now().await;
    assert!(refused(waits.await.unwrap()).is_stopped());
    assert_eq!(near.peek("a", 0).remaining(), 5);
}

#[tokio::test(start_paused = true)]
async fn every_call_is_told_and_counted_once() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = told.clone();
    let throttle = Throttle::builder()
        .limits(limiter(bucket("10/s burst 1")))
        .max_waiting(2)
        .on_event(move |event| log.lock().unwrap().push(format!("{event:?}")))
        .build();
    let call = |key: u64| throttle.call(key);
    drop(call(1).acquire().await.unwrap());
    let one = tokio::spawn(call(1).acquire());
    settle().await;
    let two = tokio::spawn(call(1).acquire());
    settle().await;
    assert!(refused(call(1).acquire().await).is_full());
    two.abort();
    drop(one.await.unwrap().unwrap());
    let expected = [
        "Goes(Int(1), Span(0))",
        "Freed(Int(1))",
        "Waits(Int(1))",
        "Waits(Int(1))",
        "Ends(Int(1), Error(Full))",
        "Goes(Int(1), Span(100000))",
        "Freed(Int(1))",
    ];
    assert_eq!(*told.lock().unwrap(), expected);
    let stats = throttle.stats();
    assert_eq!((stats.granted, stats.full, stats.left, stats.waiting), (2, 1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_reservation_comes_due_also_while_nobody_polls_it() {
    let throttle = Throttle::over(limiter(bucket("1/s")));
    let (_now, later) = (throttle.reserve("a", 1).unwrap(), throttle.reserve("a", 1).unwrap());
    let log = Log::new();
    drop(go(throttle.call("a"), 1, &log, Duration::ZERO));
    sleep(millis(5_000)).await;
    assert_eq!(log.times(), [2_000]);
    let begun = Instant::now();
    assert_eq!(later.due(), Some(begun));
    drop(later.await.unwrap());
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[test]
fn a_line_outlives_the_runtime_that_drove_it() {
    let throttle = Throttle::over(Limiter::over(
        Arc::<tollgate_memory::Memory>::default(),
        [bucket("20/s burst 1")],
    ));
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let first = runtime();
    first.block_on(async { drop(throttle.acquire("a", 1).await.unwrap()) });
    // The first of the line is polled in this runtime, so that its driver lives there.
    let mut waits = Box::pin(throttle.call("a").acquire());
    first.block_on(async {
        tokio::select! {
            biased;
            _ = &mut waits => panic!("it waits"),
            () = tokio::task::yield_now() => {}
        }
    });
    let behind = throttle.call("a").acquire();
    drop(first);
    let went: Result<(Permit, Permit), Error> =
        runtime().block_on(async { Ok((waits.await?, behind.await?)) });
    assert!(went.is_ok());
}
