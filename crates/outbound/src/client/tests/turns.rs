//! Who has its turn keeps it, and who waits for one sleeps.

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tollgate_core::{Limit, Limiter, StoreError};

use super::*;

fn store() -> Arc<dyn Store> {
    Arc::new(Memory::builder().clock(Paused(Instant::now())).build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_hold_of_another_process_costs_nobody_its_turn() {
    let holds = SharedHolds::over(store(), "holds").unwrap();
    let layer = ClientLayer::new().share_holds(holds.clone());
    let server = that_paces(1);
    call(&layer, &server, get()).await.unwrap();
    let other = ClientLayer::new().share_holds(holds);
    let held = Server::saying([Ok(after(429, 5))]);
    call(&other, &held, get()).await.unwrap();
    assert_eq!(order_of(5, &layer, &server).await, ["0", "1", "2", "3", "4"]);
}

#[tokio::test(start_paused = true)]
async fn a_hold_told_while_the_first_asks_its_throttle_costs_it_no_turn() {
    let limit = Limit::new("calls", "1/s burst 1".parse().unwrap()).unwrap();
    let throttle = Throttle::over(Limiter::over(store(), [limit]));
    let layer = ClientLayer::new().throttle(throttle);
    let server = that_paces(1);
    call(&layer, &server, get()).await.unwrap();
    let line = layer.courier.line("https://api.example");
    let tells = async {
        sleep(Duration::from_millis(500)).await;
        line.hold(Span::from_secs(5));
    };
    let (order, ()) = tokio::join!(order_of(5, &layer, &server), tells);
    assert_eq!(order, ["0", "1", "2", "3", "4"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_believes_nothing_is_not_kept_by_the_holds_of_others() {
    let holds = SharedHolds::over(store(), "holds").unwrap();
    let other = ClientLayer::new().share_holds(holds.clone());
    call(&other, &Server::saying([Ok(after(429, 5))]), get()).await.unwrap();
    let layer = ClientLayer::new().longest_hold(Span::ZERO).share_holds(holds);
    let server = Server::default();
    let made = tokio::time::timeout(Duration::from_secs(1), call(&layer, &server, get())).await;
    made.expect("it waits or spins").unwrap();
}

/// A store elsewhere that fails after a second.
struct Down;

impl Store for Down {
    fn decide<'a, 'l: 'a>(&'a self, _: Mode, _: &'a [Charge<'l, 'a>]) -> Reply<'a, Decision<'l>> {
        Reply::later(async {
            sleep(Duration::from_secs(1)).await;
            Err(StoreError::unavailable("as told"))
        })
    }

    fn give<'a>(&'a self, _: Receipt<'a>, _: u64) -> Reply<'a, ()> {
        Reply::ready(Ok(()))
    }
}

/// What a call waits for a store is none of the longest wait for what its server told.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_costs_no_call_behind_others_its_patience() {
    let holds = SharedHolds::over(Arc::new(Down), "holds").unwrap();
    let layer = ClientLayer::new().share_holds(holds).longest_wait(Span::from_secs(3));
    let server = that_paces(1);
    call(&layer, &server, get()).await.unwrap();
    assert_eq!(order_of(5, &layer, &server).await, ["0", "1", "2", "3", "4"]);
}

/// Counts how often a future is polled.
struct Counted<F>(Pin<Box<F>>, Arc<AtomicUsize>);

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.as_mut().poll(context)
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_behind_one_that_waits_elsewhere_sleeps() {
    let line = line::Line::new(Instant::now());
    let patience = || patience::Patience::new(Span::from_secs(30), None);
    let turn = line.turn(None, &mut patience()).await.unwrap();
    let polls = Arc::new(AtomicUsize::new(0));
    let mut waits = patience();
    let waits = Counted(Box::pin(line.turn(None, &mut waits)), polls.clone());
    let first = async {
        sleep(Duration::from_micros(29_999_000)).await;
        let slowed = line.slowed();
        line.wait_for(sleep(Duration::from_secs(60)), Some(&turn), slowed).await;
        drop(turn);
    };
    let (waited, ()) = tokio::join!(waits, first);
    drop(waited.unwrap());
    assert!(polls.load(Ordering::SeqCst) < 1_000, "{}", polls.load(Ordering::SeqCst));
}
