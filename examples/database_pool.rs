//! A pool of five database connections that a runaway client cannot exhaust: who wants a connection
//! takes a permit first, and there are as many permits as connections.
//!
//! `cargo run -p tollgate --example database_pool --features outbound`

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tollgate::outbound::{Priority, Throttle};

const CONNECTIONS: u32 = 5;

#[tokio::main]
async fn main() {
    println!("without permits: {}", Database::new(None).morning().await);
    let permits = Throttle::builder().max_in_flight(CONNECTIONS).max_waiting(1_000).build();
    println!("with permits: {}", Database::new(Some(permits)).morning().await);
}

/// A database behind a pool and, if there are any, permits.
#[derive(Clone)]
struct Database {
    pool: Pool,
    permits: Option<Throttle>,
}

impl Database {
    fn new(permits: Option<Throttle>) -> Database {
        Database { pool: Pool::new(), permits }
    }

    async fn query(&self, priority: Priority) -> Result<u32, Exhausted> {
        match &self.permits {
            None => self.pool.query().await,
            // Its only error, as it is built here, is that a thousand wait.
            Some(permits) => {
                let turn = permits.run(priority, 1, || self.pool.query()).await;
                turn.unwrap_or(Err(Exhausted))
            }
        }
    }

    /// Fifty workers of a report gone wild ask as often as they can, while pages ask 20 times.
    async fn morning(&self) -> String {
        let until = Instant::now() + Duration::from_millis(400);
        let mut workers = JoinSet::new();
        for _ in 0..50 {
            let database = self.clone();
            workers.spawn(async move {
                let mut exhausted = 0;
                while Instant::now() < until {
                    if database.query(Priority::NORMAL).await.is_err() {
                        exhausted += 1;
                        sleep(Duration::from_millis(1)).await;
                    }
                }
                exhausted
            });
        }
        let (mut failed, mut longest) = (0, Duration::ZERO);
        for _ in 0..20 {
            sleep(Duration::from_millis(10)).await;
            let begun = Instant::now();
            // A head start of five seconds: no page waits for a report.
            failed += u32::from(self.query(Priority::HIGH).await.is_err());
            longest = longest.max(begun.elapsed());
        }
        let exhausted: u32 = workers.join_all().await.iter().sum();
        format!(
            "the report finds the pool exhausted {exhausted} times; {failed} of 20 pages fail, \
             the slowest takes {} ms",
            longest.as_millis()
        )
    }
}

/// A pool of connections, with an error in place of a wait.
#[derive(Clone)]
struct Pool(Arc<Mutex<Vec<Connection>>>);

struct Connection;

struct Exhausted;

impl Pool {
    fn new() -> Pool {
        Pool(Arc::new(Mutex::new((0..CONNECTIONS).map(|_| Connection).collect())))
    }

    async fn query(&self) -> Result<u32, Exhausted> {
        let connection = self.0.lock().ok().and_then(|mut idle| idle.pop()).ok_or(Exhausted)?;
        sleep(Duration::from_millis(4)).await;
        if let Ok(mut idle) = self.0.lock() {
            idle.push(connection);
        }
        Ok(42)
    }
}
