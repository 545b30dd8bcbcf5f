//! How often a throttle's store is asked when that is elsewhere.

use std::sync::atomic::AtomicUsize;

use tollgate_core::{Limit, Limiter};

use super::*;

/// A store elsewhere, a millisecond each way, that counts what it is asked.
struct Away {
    memory: Memory,
    asked: AtomicUsize,
    given: AtomicUsize,
}

const WAY: Duration = Duration::from_millis(1);

impl Store for Away {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Reply::later(async move {
            sleep(WAY).await;
            let decision = self.memory.decide(mode, charges).await;
            sleep(WAY).await;
            decision
        })
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        self.given.fetch_add(1, Ordering::SeqCst);
        Reply::later(async move {
            sleep(WAY).await;
            let given = self.memory.give(receipt, actual).await;
            sleep(WAY).await;
            given
        })
    }
}

impl Away {
    fn new() -> Arc<Away> {
        let memory = Memory::builder().clock(Paused(Instant::now())).build().unwrap();
        Arc::new(Away { memory, asked: AtomicUsize::new(0), given: AtomicUsize::new(0) })
    }

    /// A throttle over it, as of a process of its own.
    fn throttle(self: &Arc<Away>, quota: &str) -> Throttle {
        let store: Arc<dyn Store> = self.clone();
        Throttle::over(Limiter::over(store, [limit(quota)]))
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn limit(quota: &str) -> Limit {
    Limit::new("calls", quota.parse().unwrap()).unwrap()
}

/// Makes a hundred calls at once, all of which go, in the order in which they came.
async fn a_hundred(layer: &ClientLayer, server: &Server) {
    let order = order_of(100, layer, server).await;
    assert_eq!(order, (0..100).map(|number| number.to_string()).collect::<Vec<_>>());
}

const QUOTAS: [&str; 4] = ["20/s burst 1", "20/s burst 10", "10/s burst 3", "1000/s burst 100"];

#[tokio::test(start_paused = true)]
async fn a_store_elsewhere_is_asked_once_for_each_call() {
    for quota in QUOTAS {
        let away = Away::new();
        let layer = ClientLayer::new().throttle(away.throttle(quota));
        a_hundred(&layer, &Server::default()).await;
        assert_eq!(away.asked(), 100, "{quota}");
    }
}

#[tokio::test(start_paused = true)]
async fn those_whose_turn_a_server_puts_off_ask_the_store_when_it_has_come() {
    for quota in QUOTAS {
        let hold = || Server::saying([Ok(after(429, 10))]).taking(Duration::from_millis(30));
        for server in [hold(), that_paces(100)] {
            let away = Away::new();
            let layer = ClientLayer::new().throttle(away.throttle(quota));
            a_hundred(&layer, &server).await;
            let given = away.given.load(Ordering::SeqCst);
            // A line that was empty for a moment has forgotten when the store passes the next.
            assert!(away.asked() < 150 && given <= 2, "{quota}: {}, {given}", away.asked());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_another_process_takes_costs_no_more_than_one_question_each_time() {
    let away = Away::new();
    let layers = [(); 2].map(|()| ClientLayer::new().throttle(away.throttle("20/s burst 1")));
    let servers = [Server::default(), Server::default()];
    let [one, two] = [0, 1].map(|n| a_hundred(&layers[n], &servers[n]));
    tokio::join!(one, two);
    assert!(away.asked() <= 400, "{}", away.asked());
}

#[tokio::test(start_paused = true)]
async fn a_charge_that_is_settled_lower_lets_the_next_one_go_at_once() {
    let throttle = Away::new().throttle("100/day");
    let first = throttle.acquire("a", 100).await.unwrap();
    let next = tokio::spawn(throttle.call("a").cost(50).acquire());
    sleep(Duration::from_secs(1)).await;
    assert_eq!(throttle.stats().waiting, 1);
    let began = Instant::now();
    first.settle(20).await.unwrap();
    drop(next.await.unwrap().unwrap());
    assert!(began.elapsed() < Duration::from_secs(1));
}

/// The longest wait is one for what the server told.
#[tokio::test(start_paused = true)]
async fn behind_a_slow_throttle_a_call_waits_longer_than_for_its_server() {
    let memory = Memory::builder().clock(Paused(Instant::now())).build().unwrap();
    let store: Arc<dyn Store> = Arc::new(memory);
    let throttle = Throttle::over(Limiter::over(store, [limit("1/s burst 1")]));
    let layer = ClientLayer::new().longest_wait(Span::from_secs(30)).throttle(throttle);
    let began = Instant::now();
    a_hundred(&layer, &that_paces(100)).await;
    assert!(began.elapsed() >= Duration::from_secs(99));
}
