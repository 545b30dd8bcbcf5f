//! Permits of several processes, on real servers and in real time.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};
use tollgate_conformance::Random;
use tollgate_core::{Held, Hold, Permits, Span};
use tollgate_redis::{Address, Redis};
use tollgate_servers::{ChaosProxy, Fault, Server, Value, Way};

use crate::lifetimes::all_go_within;
use crate::shop::{LONG, store, url_of};

/// Where a child process of these tests holds permits.
const SERVER: &str = "TOLLGATE_TEST_SERVER";

fn hold(holder: u64, turn: u64, held: u32, wanted: u32, lease: Span) -> Hold<'static> {
    Hold { name: "db", key: "main".into(), limit: 2, holder, turn, held, wanted, lease }
}

async fn told(store: &Redis, hold: Hold<'_>) -> Held {
    store.hold(hold).await.unwrap()
}

/// Started by another test, beside that one's server, it holds them until it is killed.
#[tokio::test]
async fn one_process_holds_all_there_is() {
    let lease = Span::from_millis(900);
    let Ok(url) = std::env::var(SERVER) else {
        let server = Server::redis().start();
        let store = store(&server.url()).await;
        assert_eq!(told(&store, hold(1, 1, 0, 2, lease)).await.granted, 2);
        return;
    };
    let store = store(&url).await;
    for turn in 1.. {
        let held = told(&store, hold(1, turn, if turn > 1 { 2 } else { 0 }, 2, lease)).await;
        assert_eq!(held.others, 0);
        println!("holding");
        sleep(Duration::from_micros(lease.as_micros() / 3)).await;
    }
}

/// A process of its own that holds both permits.
fn holder(server: &Server) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "permits::one_process_holds_all_there_is", "--nocapture"])
        .env(SERVER, server.url())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    (child, lines.filter(|line| line.contains("holding")))
}

/// B93 as well: what the killed one held is counted out by nobody but time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b91_the_permits_of_a_process_that_is_killed_are_free_within_its_lease() {
    let lease = Duration::from_millis(900);
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let (mut child, mut lines) = holder(&server);
    // Longer than a lease it lives, and nobody else gets any.
    let mut turn = 0;
    let mut ask = async || {
        turn += 1;
        told(&store, hold(2, turn, 0, 1, Span::from_secs(5))).await
    };
    for _ in 0..6 {
        lines.next().expect("it holds permits");
        let told = ask().await;
        assert_eq!((told.granted, told.others), (0, 2));
        assert!(told.free_in.unwrap() <= lease.into());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = Instant::now();
    let mut asked = 0;
    let granted = async {
        loop {
            let told = ask().await;
            if told.granted > 0 {
                return told;
            }
            asked += 1;
            // Exactly then it is worth asking again.
            sleep(told.free_in.expect("a lease that ends").into()).await;
        }
    };
    let told = timeout(LONG, granted).await.expect("free permits");
    let took = killed.elapsed();
    assert_eq!((told.others, told.free_in), (0, None), "the count is zero, not below");
    assert!(asked <= 2, "{asked} times in vain");
    // A second is for a machine that is busy.
    assert!(took < lease + Duration::from_secs(1), "{took:?}");
}

/// FLUSHALL, and scripts that are forgotten: it goes on, and knows again what is in use when it is told.
#[tokio::test]
async fn b91_a_server_that_forgets_everything_goes_on_counting() {
    let lease = Span::from_secs(5);
    for server in [Server::redis().start(), Server::valkey().start()] {
        let store = store(&server.url()).await;
        assert_eq!(told(&store, hold(1, 1, 0, 2, lease)).await.granted, 2);
        for round in 0..20 {
            server.command(&["FLUSHALL"]);
            server.command(&["SCRIPT", "FLUSH"]);
            // At worst others take all of the limit before the first one speaks again, and no more.
            let newcomer = told(&store, hold(2, 1 + 2 * round, 0, 2, lease)).await;
            let third = told(&store, hold(3, 1 + round, 0, 2, lease)).await;
            assert_eq!((newcomer.granted, third.granted), (2, 0));
            let first = told(&store, hold(1, 2 + round, 2, 2, lease)).await;
            assert_eq!((first.granted, first.others), (0, 2), "those two may end");
            let third = told(&store, hold(3, 100 + round, 0, 2, lease)).await;
            assert_eq!((third.granted, third.others), (0, 4), "all are counted again");
            told(&store, hold(2, 2 + 2 * round, 0, 0, lease)).await;
        }
    }
}

/// Five are in use when a process says that they ended, and that is lost; then it says it again, and the
/// first message arrives after all.
#[tokio::test]
async fn b93_a_lost_release_is_made_up_for_and_a_late_one_takes_nothing_away() {
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 93);
    let address: Address = proxy.url().parse().unwrap();
    let store = Redis::builder(address).deadline(Duration::from_millis(50)).start();
    let straight = crate::shop::store(&server.url()).await;
    let lease = Span::from_secs(20);
    let of = |turn, held, wanted| Hold { limit: 5, ..hold(1, turn, held, wanted, lease) };
    let others =
        async |turn| told(&straight, Hold { limit: 5, ..hold(2, turn, 0, 0, lease) }).await.others;
    let mut turn = 1;
    store.connected().await;
    assert_eq!(told(&straight, of(turn, 0, 5)).await.granted, 5);
    for fault in [Fault::Drop, Fault::Garbage, Fault::Cut(0)] {
        proxy.inject(Way::Requests, fault);
        let lost = of(turn + 1, 0, 0);
        assert!(store.hold(lost).await.is_err());
        proxy.heal();
        assert_eq!(others(turn).await, 5);
        turn += 2;
        let retry = async {
            while store.hold(of(turn, 0, 0)).await.is_err() {
                turn += 1;
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, retry).await.expect("an answer");
        assert_eq!(others(turn).await, 0);
        turn += 1;
        assert_eq!(told(&straight, of(turn, 0, 5)).await.granted, 5);
        for _ in 0..3 {
            assert_eq!(told(&straight, lost).await.granted, 0);
            assert_eq!(others(turn).await, 5, "a late release changes nothing");
        }
    }
}

/// Callers that go before they are answered: whatever the server heard, the next message is the truth.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_hangs_up_leaves_nothing_behind() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let (mut random, lease) = (Random::of(7), Span::from_secs(20));
    for turn in 1..2_000 {
        let call = store.hold(hold(1, 2 * turn, 0, 2, lease));
        let patience = Duration::from_micros(random.below(300));
        let answered = match random.once_in(3) {
            true => call.now_or_never().is_some(),
            false => timeout(patience, call).await.is_ok(),
        };
        // Behind it on the same connection.
        let told = told(&store, hold(2, turn, 0, 1, lease)).await;
        assert_eq!(told.granted, u32::from(told.others == 0));
        assert!(told.others == 2 || !answered && told.others == 0);
        crate::permits::told(&store, hold(2, turn, 0, 0, lease)).await;
        crate::permits::told(&store, hold(1, 2 * turn + 1, 0, 0, lease)).await;
        crate::permits::told(&store, hold(2, 10_000 + turn, 0, 0, lease)).await;
    }
    assert!(server.command(&["KEYS", "*db"]).items().is_empty(), "nobody has any");
}

/// Four processes at a time, some of which are killed, each with calls of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn never_more_calls_are_underway_than_the_limit_says() {
    const LIMIT: u32 = 5;
    let lease = Duration::from_secs(3);
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let (in_use, begun) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicU64::new(0)));
    let life = async |holder: u64, rounds: u64| {
        let mut random = Random::of(holder);
        let mut mine = 0u32;
        let mut told = Held::default();
        for turn in 1..=rounds {
            let sent_at = Instant::now();
            let wanted = random.below(5) as u32 + 1;
            let limit = LIMIT;
            let until = sent_at + lease / 2;
            let lease = lease.into();
            told = store
                .hold(Hold { limit, ..hold(holder, turn, mine, wanted, lease) })
                .await
                .unwrap();
            for _ in 0..random.below(20) {
                if random.once_in(2) && mine > 0 {
                    in_use.fetch_sub(1, Ordering::SeqCst);
                    mine -= 1;
                } else if mine < told.granted && Instant::now() < until {
                    let now = in_use.fetch_add(1, Ordering::SeqCst) + 1;
                    assert!(now <= i64::from(LIMIT), "{now}");
                    mine += 1;
                    begun.fetch_add(1, Ordering::Relaxed);
                }
                tokio::task::yield_now().await;
            }
        }
        // Killed: nothing is said of it.
        in_use.fetch_sub(mine.into(), Ordering::SeqCst);
        told
    };
    let line = async |first: u64| {
        for nth in 0..4 {
            life(10 * nth + first, 150).await;
        }
    };
    join_all((0..4).map(line)).await;
    assert_eq!(in_use.load(Ordering::SeqCst), 0);
    let begun = begun.load(Ordering::Relaxed);
    assert!(begun > 300, "{begun} calls say little");
}

#[tokio::test]
async fn b91_every_count_of_permits_goes_with_the_last_lease() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let store = store(&server.url()).await;
        let (mut client, mut random) = (server.client(), Random::of(9));
        for turn in 1..500 {
            let lease = Span::from_micros(random.of_any_size(34));
            let (held, wanted) = (random.below(3) as u32, random.below(4) as u32);
            told(&store, hold(random.below(3), turn, held, wanted, lease)).await;
            all_go_within(&mut client, Hold::LONGEST_LEASE);
        }
        server.command(&["FLUSHALL"]);
        let lease = Span::from_millis(200);
        told(&store, hold(1, 1, 0, 1, lease)).await;
        all_go_within(&mut client, lease);
        let gone = async {
            while server.command(&["EXISTS", "tollgate:{main}permits.db"]) == Value::Integer(1) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, gone).await.expect("it goes by itself");
    }
}

#[tokio::test]
async fn permits_live_on_each_server_of_a_cluster() {
    let cluster = Server::redis().cluster(0);
    let store = store(&url_of(&cluster, "")).await;
    let keys: Vec<String> = (0..64).map(|n| format!("host{n}")).collect();
    for turn in 1..4 {
        for key in &keys {
            let ann = Hold { key: key.into(), ..hold(1, turn, 0, 2, Span::from_secs(9)) };
            assert_eq!(told(&store, ann).await.granted, 2);
            let looks = told(&store, Hold { holder: 2, wanted: 0, ..ann }).await;
            assert_eq!((looks.others, looks.waiting), (2, 0));
        }
    }
    for node in cluster.nodes() {
        assert!(node.command(&["DBSIZE"]).integer().unwrap() > 5);
    }
}

#[tokio::test]
async fn permits_go_on_with_the_server_that_sentinel_names() {
    let sentinel = Server::redis().sentinel(3);
    let at: Vec<String> =
        sentinel.sentinels().iter().map(|one| format!("127.0.0.1:{}", one.port())).collect();
    let url = format!("redis-sentinel://{}/{}", at.join(","), sentinel.name());
    let store = store(&url).await;
    let lease = Span::from_secs(30);
    assert_eq!(told(&store, hold(1, 1, 0, 2, lease)).await.granted, 2);
    sentinel.failover();
    let mut turn = 1;
    let goes_on = async {
        loop {
            turn += 1;
            match store.hold(hold(1, turn, 2, 2, lease)).await {
                Ok(told) => return told,
                Err(_) => sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let first = timeout(LONG, goes_on).await.expect("an answer");
    assert_eq!((first.granted, first.others), (2, 0));
    assert_eq!(told(&store, hold(2, 1, 0, 2, lease)).await.others, 2);
}

/// An answer in time, and soon none is waited for; nothing of it is left when the server is back.
#[tokio::test]
async fn a_silent_server_is_told_in_time_and_then_left_alone() {
    let server = Server::redis().start();
    let deadline = Duration::from_millis(40);
    let store = Redis::builder(server.url().parse().unwrap()).deadline(deadline).start();
    store.connected().await;
    let lease = Span::from_secs(9);
    let mut turn = 1;
    let warm = async {
        while store.hold(hold(1, turn, 0, 2, lease)).await.is_err() {
            turn += 1;
        }
    };
    timeout(LONG, warm).await.expect("an answer");
    server.stop();
    let (mut late, mut at_once) = (0, 0);
    let began = Instant::now();
    for _ in 0..1_000 {
        turn += 1;
        let error = store.hold(hold(1, turn, 2, 2, lease)).await.unwrap_err();
        late += u32::from(error.is_timeout());
        at_once += u32::from(error.is_unavailable());
    }
    assert!((1..100).contains(&late) && at_once > 900, "{late} late, {at_once} at once");
    assert!(began.elapsed() < LONG);
    server.cont();
    let back = async {
        loop {
            turn += 1;
            if let Ok(told) = store.hold(hold(1, turn, 2, 2, lease)).await {
                return told;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    let told = timeout(LONG, back).await.expect("an answer");
    assert_eq!((told.granted, told.others), (2, 0));
}
