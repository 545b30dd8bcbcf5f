//! Listeners and stores that misbehave take no permit along, and let others go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tollgate_core::algorithm::State;
use tollgate_core::{
    Answer, Charge, Decision, Effect, Limiter, LocalStore, Mode, Receipt, Reply, Span, Store,
    StoreError, Tick, Verdict,
};
use tollgate_memory::Memory;
use tollgate_outbound::Throttle;
use tollgate_outbound::throttle::Event;

use crate::shop::{bucket, limiter, memory, millis, refused, settle};

#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_takes_no_permit_and_no_place_along() {
    let panics = |event: &Event<'_>| panic!("told {event:?}");
    let one = || Throttle::builder().max_in_flight(1).on_event(panics);
    for throttle in [one().build(), one().limits(limiter(bucket("1000/s burst 1"))).build()] {
        let calls: Vec<_> = (0..5).map(|_| tokio::spawn(throttle.call("a").acquire())).collect();
        for call in calls {
            drop(call.await.unwrap().unwrap());
        }
        let left = tokio::spawn(throttle.call("a").acquire());
        settle().await;
        left.abort();
        drop(left.await);
        let stats = throttle.stats();
        assert_eq!((stats.waiting, stats.in_flight), (0, 0), "{stats:?}");
    }
}

/// A store that has its answers ready and says "denied, come at once", but not without end.
#[derive(Default)]
struct Hasty(AtomicU32);

impl Store for Hasty {
    fn decide<'a, 'l: 'a>(
        &'a self,
        _: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        if self.0.fetch_add(1, Ordering::Relaxed) > 10_000 {
            return Reply::ready(Err(StoreError::unavailable("asked too often")));
        }
        let Charge { limit, key, .. } = charges[0];
        let (now, denied) = (Tick::EPOCH, Verdict::Deny(Span::ZERO));
        let at = (now, limit.moment(now, &key));
        let answer = Answer::new(limit, Effect::Enforce, denied, 0, State::FRESH, at);
        Reply::ready(Ok(Decision::of_one(answer, 0)))
    }

    fn give<'a>(&'a self, _: Receipt<'a>, _: u64) -> Reply<'a, ()> {
        Reply::ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_says_at_once_is_asked_by_the_timers() {
    let store = Arc::new(Hasty::default());
    let far: Arc<dyn Store> = store.clone();
    let throttle = Throttle::over(Limiter::over(far, [bucket("1/s")]));
    let call = throttle.call("a").within(millis(10)).acquire();
    assert!(refused(call.await).is_late());
    let asked = store.0.load(Ordering::Relaxed);
    assert!((2..=11).contains(&asked), "asked {asked} times in 10 ms");
}

/// A store that panics when it is asked for a cost of 3, in this process or elsewhere.
struct Brittle(Arc<Memory>, Place);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Here,
    Elsewhere,
}

impl Store for Brittle {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        Reply::later(async move { Ok(self.decide_now(mode, charges)) })
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        self.0.give(receipt, actual)
    }

    fn local(&self) -> Option<&dyn LocalStore> {
        (self.1 == Place::Here).then_some(self)
    }
}

impl LocalStore for Brittle {
    fn decide_now<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        assert!(charges[0].cost != 3, "as told");
        self.0.decide_now(mode, charges)
    }

    fn decide_one<'l>(&self, mode: Mode, charge: &Charge<'l, '_>) -> Decision<'l> {
        assert!(charge.cost != 3, "as told");
        self.0.decide_one(mode, charge)
    }

    fn give_now(&self, receipt: Receipt<'_>, actual: u64) {
        self.0.give_now(receipt, actual);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_costs_one_call_and_not_its_line() {
    for place in [Place::Here, Place::Elsewhere] {
        let store: Arc<dyn Store> = Arc::new(Brittle(memory(), place));
        let limiter = Limiter::over(store, [bucket("10/s burst 5")]);
        let throttle = Throttle::builder().limits(limiter).max_in_flight(1).build();
        let held = throttle.acquire("a", 1).await.unwrap();
        let waits = [1, 3, 1].map(|cost| tokio::spawn(throttle.call("a").cost(cost).acquire()));
        settle().await;
        drop(held);
        let [before, broken, after] = waits;
        drop(before.await.unwrap().unwrap());
        assert!(refused(broken.await.unwrap()).store().is_some_and(StoreError::is_timeout));
        drop(after.await.unwrap().unwrap());
        assert!(refused(throttle.acquire("a", 3).await).store().is_some());
        drop(throttle.acquire("a", 1).await.unwrap());
        let stats = throttle.stats();
        assert_eq!((stats.waiting, stats.in_flight, stats.failed), (0, 0, 2), "{stats:?}");
    }
}

/// A store that takes nothing back.
struct Grasping(Arc<Memory>, Place);

impl Store for Grasping {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        Reply::later(async move { Ok(self.decide_now(mode, charges)) })
    }

    fn give<'a>(&'a self, _: Receipt<'a>, _: u64) -> Reply<'a, ()> {
        panic!("as told")
    }

    fn local(&self) -> Option<&dyn LocalStore> {
        (self.1 == Place::Here).then_some(self)
    }
}

impl LocalStore for Grasping {
    fn decide_now<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        self.0.decide_now(mode, charges)
    }

    fn decide_one<'l>(&self, mode: Mode, charge: &Charge<'l, '_>) -> Decision<'l> {
        self.0.decide_one(mode, charge)
    }

    fn give_now(&self, _: Receipt<'_>, _: u64) {
        panic!("as told")
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_when_it_is_given_back_to_costs_no_call_and_no_line() {
    for place in [Place::Here, Place::Elsewhere] {
        let store: Arc<dyn Store> = Arc::new(Grasping(memory(), place));
        let first = Throttle::over(Limiter::over(store, [bucket("1000/day burst 1000")]));
        let last = Throttle::over(limiter(bucket("1/s burst 1")));
        drop(last.acquire("b", 1).await.unwrap());
        let both = || first.call("a").and(&last, "b");
        assert!(refused(both().try_acquire().await).is_busy());
        both().acquire().await.unwrap().give_back();
        drop(both().acquire().await.unwrap());
        for stats in [first.stats(), last.stats()] {
            assert_eq!((stats.waiting, stats.in_flight), (0, 0), "{stats:?}");
        }
    }
}
