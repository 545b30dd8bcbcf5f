//! The waiting.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use shuttle::future::block_on;
use shuttle::sync::atomic::{AtomicU32, Ordering};
use shuttle::thread;
use tollgate_core::{
    Charge, Decision, Limit, Limiter, ManualClock, Mode, Receipt, Reply, Span, Store,
};
use tollgate_memory::Memory;
use tollgate_outbound::{Call, Permit, Throttle};

use crate::explore;

/// Has the lines look at a call once, and drops it.
fn drop_in_the_middle(call: Call) -> Option<Permit> {
    let mut acquiring = pin!(call.acquire());
    match acquiring.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(permit) => Some(permit.unwrap()),
        Poll::Pending => {
            thread::yield_now();
            None
        }
    }
}

fn is_idle(throttle: &Throttle) -> bool {
    let stats = throttle.stats();
    (stats.in_flight, stats.waiting) == (0, 0)
}

#[test]
fn b77_whoever_is_dropped_whenever_the_others_go_and_never_too_many_at_once() {
    explore(|| {
        let throttle = Throttle::builder().max_in_flight(1).build();
        let inside = Arc::new(AtomicU32::new(0));
        let mut threads = Vec::new();
        for task in 0..4 {
            let (throttle, inside) = (throttle.clone(), inside.clone());
            threads.push(thread::spawn(move || {
                if task == 0 {
                    drop(drop_in_the_middle(throttle.call("a")));
                    return;
                }
                let permit = block_on(throttle.acquire("a", 1)).unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                thread::yield_now();
                inside.fetch_sub(1, Ordering::SeqCst);
                drop(permit);
            }));
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(is_idle(&throttle));
    });
}

#[test]
fn b79_a_limit_that_is_raised_while_calls_come_loses_nobody() {
    explore(|| {
        let throttle = Throttle::builder().max_in_flight(0).build();
        let mut threads = Vec::new();
        for _ in 0..3 {
            let throttle = throttle.clone();
            threads.push(thread::spawn(move || drop(block_on(throttle.acquire("a", 1)).unwrap())));
        }
        let raised = throttle.clone();
        threads.push(thread::spawn(move || {
            raised.set_max_in_flight(Some(1));
            raised.set_max_in_flight(Some(2));
        }));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(is_idle(&throttle));
    });
}

#[test]
fn calls_that_cross_two_throttles_never_wait_for_one_another() {
    explore(|| {
        let (a, b) = (
            Throttle::builder().max_in_flight(1).build(),
            Throttle::builder().max_in_flight(1).build(),
        );
        let calls = [a.call("x").and(&b, "y"), b.call("y").and(&a, "x"), a.call("x"), b.call("y")];
        let dropped = b.call("y").and(&a, "x");
        let mut threads: Vec<_> = calls
            .into_iter()
            .map(|call| thread::spawn(move || drop(block_on(call.acquire()).unwrap())))
            .collect();
        threads.push(thread::spawn(move || drop(drop_in_the_middle(dropped))));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(is_idle(&a) && is_idle(&b));
    });
}

/// Two tokens at once and one a second, by a clock that is moved by hand.
fn tokens() -> (ManualClock, Arc<Memory>, Limit) {
    let clock = ManualClock::default();
    let store = Memory::builder().max_entries(10).clock(clock.clone()).build().unwrap();
    (clock, Arc::new(store), Limit::new("test", "1/s burst 2".parse().unwrap()).unwrap())
}

/// A store that is not known to be in this process, and lets others run before it answers.
struct Away(Arc<Memory>);

impl Store for Away {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        Reply::later(async move {
            shuttle::future::yield_now().await;
            let decision = self.0.decide(mode, charges).await;
            shuttle::future::yield_now().await;
            decision
        })
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        self.0.give(receipt, actual)
    }
}

/// Three calls go and one is dropped, while time passes and a permit comes back.
fn some_go_and_one_is_dropped(away: bool) {
    let (clock, store, limit) = tokens();
    let limiter: Limiter<dyn Store> = match away {
        true => Limiter::over(Arc::new(Away(store.clone())) as Arc<dyn Store>, [limit.clone()]),
        false => Limiter::over(store.clone(), [limit.clone()]).into(),
    };
    let throttle = Throttle::builder().limits(limiter).max_in_flight(1).build();
    let went = Arc::new(AtomicU32::new(0));
    let mut threads = Vec::new();
    for _ in 0..3 {
        let (throttle, went) = (throttle.clone(), went.clone());
        threads.push(thread::spawn(move || {
            drop(block_on(throttle.acquire("a", 1)).unwrap());
            went.fetch_add(1, Ordering::SeqCst);
        }));
    }
    let dropped = throttle.call("a");
    threads.push(thread::spawn(move || {
        if let Some(permit) = drop_in_the_middle(dropped) {
            permit.give_back();
        }
    }));
    while went.load(Ordering::SeqCst) < 3 {
        clock.advance(Span::SECOND);
        thread::yield_now();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let stats = throttle.stats();
    assert_eq!((stats.in_flight, stats.waiting), (0, 0));
    assert!(stats.granted >= 3);
}

#[test]
fn a_store_here_is_asked_for_whoever_is_first() {
    explore(|| some_go_and_one_is_dropped(false));
}

#[test]
fn a_store_elsewhere_is_asked_for_whoever_is_first() {
    explore(|| some_go_and_one_is_dropped(true));
}

#[test]
fn a_stop_waits_for_all_that_have_come_and_nobody_comes_after_it() {
    explore(|| {
        let throttle = Throttle::builder().max_in_flight(1).build();
        let went = Arc::new(AtomicU32::new(0));
        let mut threads = Vec::new();
        for _ in 0..3 {
            let (throttle, went) = (throttle.clone(), went.clone());
            threads.push(thread::spawn(move || {
                if let Ok(permit) = block_on(throttle.acquire("a", 1)) {
                    went.fetch_add(1, Ordering::SeqCst);
                    drop(permit);
                }
            }));
        }
        let (stopped, gone) = (throttle.clone(), went.clone());
        threads.push(thread::spawn(move || {
            block_on(stopped.stop());
            let before = gone.load(Ordering::SeqCst);
            thread::yield_now();
            assert_eq!(before, gone.load(Ordering::SeqCst));
        }));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(is_idle(&throttle));
    });
}
