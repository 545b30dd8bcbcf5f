//! Who waits because of a charge goes as soon as that is given back, in whatever line it waits.

use std::future::{Future, pending};
use std::sync::Arc;

use tokio::time::{Instant, sleep, timeout};
use tollgate_core::{Charge, Decision, Limiter, Mode, Receipt, Reply, Store, StoreError};
use tollgate_memory::Memory;
use tollgate_outbound::Throttle;

use crate::shop::{Held, away, bucket, limiter, memory, millis};

/// A throttle of one call a day, here and elsewhere.
fn one_a_day() -> [Throttle; 2] {
    [Throttle::over(limiter(bucket("1/day burst 1"))), Odd::throttle(Gives::Late)]
}

/// A throttle that lets one call be underway.
fn single() -> Throttle {
    Throttle::builder().max_in_flight(1).build()
}

/// The next call under `a` of a throttle goes soon after something is done, though it was refused.
async fn goes_after(throttle: &Throttle, done: impl Future<Output = ()>) {
    let next = tokio::spawn(throttle.call("a").acquire());
    sleep(millis(1_000)).await;
    assert_eq!(throttle.stats().waiting, 1);
    let began = Instant::now();
    done.await;
    drop(next.await.unwrap().unwrap());
    assert!(began.elapsed() < millis(1_000), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn in_a_throttle_that_was_passed_before() {
    for daily in one_a_day() {
        let last = single();
        let both = daily.call("a").and(&last, "b").acquire().await.unwrap();
        goes_after(&daily, async { both.give_back() }).await;
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_throttle_that_was_passed_before_by_a_call_that_is_settled() {
    for daily in one_a_day() {
        let last = single();
        let both = daily.call("a").and(&last, "b").acquire().await.unwrap();
        goes_after(&daily, async { both.settle(0).await.unwrap() }).await;
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_throttle_that_was_passed_before_by_a_call_that_is_dropped_unheard() {
    for daily in one_a_day() {
        let last = single();
        let held = last.acquire("b", 1).await.unwrap();
        let both = Held::waits(daily.call("a").and(&last, "b").acquire());
        drop(held);
        sleep(millis(100)).await;
        goes_after(&daily, async { drop(both) }).await;
    }
}

/// A store elsewhere that does what it is told to give, and says so or not.
struct Odd(Arc<Memory>, Gives);

#[derive(Clone, Copy)]
enum Gives {
    /// After a tenth of a second.
    Late,
    /// And says nothing.
    Mute,
    /// And says that it failed.
    Failing,
}

impl Odd {
    fn throttle(gives: Gives) -> Throttle {
        let store: Arc<dyn Store> = Arc::new(Odd(memory(), gives));
        Throttle::over(Limiter::over(store, [bucket("1/day burst 1")]))
    }
}

impl Store for Odd {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        Reply::later(async move { self.0.decide(mode, charges).await })
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        Reply::later(async move {
            if matches!(self.1, Gives::Late) {
                sleep(millis(100)).await;
            }
            self.0.give(receipt, actual).await?;
            match self.1 {
                Gives::Late => Ok(()),
                Gives::Mute => pending().await,
                Gives::Failing => Err(StoreError::unavailable("as told")),
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn by_a_settle_that_is_dropped_or_fails_after_the_store_has_heard_of_it() {
    for throttle in [Odd::throttle(Gives::Mute), Odd::throttle(Gives::Failing)] {
        let first = throttle.acquire("a", 1).await.unwrap();
        let settled = async { drop(timeout(millis(10), first.settle(0)).await) };
        goes_after(&throttle, settled).await;
    }
}

#[tokio::test(start_paused = true)]
async fn by_one_store_though_another_fails() {
    let broken = Odd::throttle(Gives::Failing);
    let daily = Throttle::over(away(&limiter(bucket("1/day burst 1"))));
    // The store that is charged first is the broken one.
    let both = broken.call("x").and(&daily, "a").acquire().await.unwrap();
    goes_after(&daily, async { both.give_back() }).await;
}
