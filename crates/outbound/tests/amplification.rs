//! A server that answers nothing but 503, and how much more it is called because of that.
//!
//! hyper on both sides, over pipes in memory: so the minute is one of the paused clock.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends by a panic"
)]

#[path = "../examples/overload/pipe.rs"]
mod pipe;

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pipe::Pipe;
use tokio::io::duplex;
use tokio::task::JoinSet;
use tollgate_outbound::{ClientLayer, Retry, RetryBudget};
use tower::{Layer, ServiceExt};

/// Serves every connection that is made, and counts what comes.
#[derive(Clone, Default)]
struct Broken(Arc<AtomicU32>);

impl Broken {
    fn connect(&self) -> TokioIo<Pipe> {
        let (here, there) = duplex(64 * 1024);
        let came = self.0.clone();
        let answer = service_fn(move |_: Request<Incoming>| {
            came.fetch_add(1, Ordering::Relaxed);
            let answer = Response::builder().status(503).body(Empty::<Bytes>::new());
            async move { answer }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(there), answer));
        TokioIo::new(Pipe(here))
    }
}

/// How often the server was called in a minute of 100 calls a second.
async fn minute(retry: Retry) -> u32 {
    let broken = Broken::default();
    let connector = broken.clone();
    let connector =
        tower::service_fn(move |_: Uri| ready(Ok::<_, Infallible>(connector.connect())));
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let client = ClientLayer::new().retry(retry).layer(client);
    let mut calls = JoinSet::new();
    for _ in 0..6_000 {
        let client = client.clone();
        calls.spawn(async move {
            let request = Request::get("http://broken.example/").body(Empty::<Bytes>::new());
            let answer = client.oneshot(request.unwrap()).await.unwrap();
            assert_eq!(answer.status(), 503);
        });
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap();
    }
    broken.0.load(Ordering::Relaxed)
}

/// At most 1.1 tries for each call: the budget's tenth, in any minute.
#[tokio::test(start_paused = true)]
async fn a_minute_of_503_multiplies_the_load_by_no_more_than_the_budget() {
    let tries = minute(Retry::default().tries(5)).await;
    println!("{tries} tries for 6000 calls");
    assert!((6_500..=6_600).contains(&tries), "{tries}");
    // What the budget keeps from the server.
    let unbounded = RetryBudget::percent(1_000);
    let tries = minute(Retry::default().budget(unbounded)).await;
    println!("{tries} tries for 6000 calls without a budget");
    assert_eq!(tries, 18_000);
}
