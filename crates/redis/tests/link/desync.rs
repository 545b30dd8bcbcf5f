//! Calls that are given up at random, and replies that must never reach another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::Value;
use tokio::time::{Instant, timeout};
use tollgate_redis::{Class, Link};
use tollgate_servers::Server;

use crate::asking::{Told, command, start};

const CALLERS: u64 = 64;
const CALLS: u64 = 100_000;

/// T35: each call sends a number of its own and takes only that back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_reply_reaches_another_caller_when_calls_are_given_up_at_random() {
    let server = Server::redis().start();
    let mut asked = start(&server.url());
    asked.until(Told::Connected).await;
    let answered = Arc::new(AtomicU64::new(0));
    let callers = (0..CALLERS)
        .map(|caller| tokio::spawn(call(Arc::clone(&asked.link), caller, Arc::clone(&answered))));
    let callers: Vec<_> = callers.collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let answered = answered.load(Ordering::Relaxed);
    assert!(answered > CALLS / 4, "{answered} of {CALLS} were answered");
    assert!(answered < CALLS, "none was given up");
    assert!(asked.events.try_recv().is_err(), "the one connection has lasted");
}

async fn call(link: Arc<Link>, caller: u64, answered: Arc<AtomicU64>) {
    // A plain generator: the same runs every time.
    let mut random = caller + 1;
    for n in 0..CALLS / CALLERS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let nonce = format!("{caller}:{n}");
        let echo = command(&["EVAL", "return ARGV[1]", "0", &nonce]);
        // Three in ten are given up within two milliseconds, by the caller or by the deadline.
        let (cancel, deadline) = match random % 10 {
            0 | 1 => (Duration::from_micros(random % 2_000), Duration::from_secs(5)),
            2 => (Duration::from_secs(5), Duration::from_micros(random % 2_000)),
            _ => (Duration::from_secs(5), Duration::from_secs(5)),
        };
        let call = link.call(0, &echo, Instant::now() + deadline);
        match timeout(cancel, call).await {
            Ok(Ok(reply)) => {
                assert_eq!(reply, Value::BulkString(nonce.into_bytes()));
                answered.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Err(fault)) => {
                assert!(matches!(fault.class(), Class::Timeout | Class::Full), "{fault}");
            }
            Err(_) => {}
        }
    }
}
