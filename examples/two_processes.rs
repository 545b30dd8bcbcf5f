//! Two processes that share one budget of calls, and one count of calls underway, over Redis or Valkey.
//!
//! `REDIS_URL=redis://127.0.0.1 cargo run -p tollgate --example two_processes --features outbound,redis`:
//! it starts itself once more as the second process.

use std::env;
use std::error::Error;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tollgate::outbound::Throttle;
use tollgate::redis::Redis;
use tollgate::{Limit, Limiter, Memory, Store};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How many calls each process makes.
const CALLS: usize = 30;

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "a program may read its environment")]
async fn main() -> Outcome<()> {
    let redis = env::var("REDIS_URL").unwrap_or("redis://127.0.0.1".to_owned());
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [partner, run] = arguments.as_slice() {
        return call("second process", partner, &throttle(&redis, run).await?).await;
    }
    let partner = Partner::default();
    let address = partner.serve().await?;
    // Each run of this example has a budget of its own.
    let run = std::process::id().to_string();
    let throttle = throttle(&redis, &run).await?;
    let begun = Instant::now();
    let mut second = Command::new(env::current_exe()?).args([&address, &run]).spawn()?;
    call("first process", &address, &throttle).await?;
    let ended = tokio::task::spawn_blocking(move || second.wait()).await??;
    if !ended.success() {
        return Err(format!("the second process ended with {ended}").into());
    }
    let (calls, most) = (&partner.calls, &partner.most_at_once);
    println!(
        "the partner: {} calls in {:.1} s, at most {} at once",
        calls.load(Ordering::Relaxed),
        begun.elapsed().as_secs_f64(),
        most.load(Ordering::Relaxed),
    );
    Ok(())
}

/// The same in both processes: what both make of it is one budget of 40 calls a second, and one
/// number of three calls underway.
async fn throttle(redis: &str, run: &str) -> Outcome<Throttle> {
    let redis = Redis::builder(redis.parse()?)
        .deadline(Duration::from_secs(1)) // who waits for a turn can wait for an answer
        .fallback(Arc::new(Memory::new()))
        .start();
    redis.connected().await;
    let redis = Arc::new(redis);
    let store: Arc<dyn Store> = redis.clone();
    let limit = Limit::new(&format!("partner-{run}"), "40/s burst 4".parse()?)?;
    Ok(Throttle::builder()
        .limits(Limiter::over(store, [limit]))
        .share_in_flight(redis, &format!("partner-{run}"), 3)
        .lease(Duration::from_secs(5)) // for so long at most are the permits of a killed process lost
        .build())
}

async fn call(name: &str, partner: &str, throttle: &Throttle) -> Outcome<()> {
    let mut calls = JoinSet::new();
    for _ in 0..CALLS {
        let (throttle, partner) = (throttle.clone(), partner.to_owned());
        calls.spawn(async move {
            let _permit = throttle.acquire("partner", 1).await?;
            TcpStream::connect(partner).await?.read_to_end(&mut Vec::new()).await?;
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        });
    }
    let made = calls.join_all().await.into_iter().collect::<Outcome<Vec<()>>>()?.len();
    println!("the {name}: {made} calls");
    Ok(())
}

/// Whom both call: it counts them.
#[derive(Clone, Default)]
struct Partner {
    calls: Arc<AtomicU32>,
    open: Arc<AtomicU32>,
    most_at_once: Arc<AtomicU32>,
}

impl Partner {
    async fn serve(&self) -> Outcome<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let partner = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(partner.clone().answer(stream));
            }
        });
        Ok(address)
    }

    async fn answer(self, mut stream: TcpStream) -> std::io::Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(open, Ordering::Relaxed);
        sleep(Duration::from_millis(50)).await;
        // Before the caller hears of it and lets the next one go.
        self.open.fetch_sub(1, Ordering::Relaxed);
        stream.write_all(b"done").await
    }
}
