//! What the layer costs per request, beside the same service without it, in one run.
//!
//! `cargo run --release -p tollgate-http --example layer_cost`; with a row's number as argument
//! that row alone is run, for a profiler.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::as_conversions,
    clippy::indexing_slicing,
    reason = "it measures time"
)]

use std::convert::Infallible;
use std::future::Future;
use std::hint::black_box;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tollgate_core::Limit;
use tollgate_http::{Dialects, RateLimitLayer, Responder};
use tollgate_memory::Memory;
use tollgate_policy::{LimitSpec, Policy};
use tower::{Layer, Service};

/// A name, and a run that gives the nanoseconds per call.
type Row = (&'static str, Box<dyn FnMut() -> f64>);

const CALLS: u32 = 100_000;
const ROUNDS: usize = 15;

/// The clients that ask in turn.
const CLIENTS: u32 = 1_000;

fn main() {
    let inner = tower::service_fn(|_: Request<()>| {
        std::future::ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())))
    });
    let layer = |quota: &str, limits: usize| {
        let policy = (0..limits).fold(Policy::builder(), |policy, nth| {
            let name = format!("per-client-{nth}");
            policy.limit(LimitSpec::new(Limit::new(&name, quota.parse().unwrap()).unwrap()))
        });
        RateLimitLayer::new(Arc::new(Memory::new()), policy.build().unwrap())
    };
    let quiet = Responder::default().dialects(Dialects::none());
    // Never refused in this run, and never recovered between two calls, as a busy client is: not
    // even in a profiler.
    let always = "1000000 per 30 days";
    let mut rows: [Row; 6] = [
        ("bare service", Box::new(measured(inner))),
        ("allow, no headers", {
            Box::new(measured(layer(always, 1).responder(quiet).layer(inner)))
        }),
        ("allow, headers", Box::new(measured(layer(always, 1).layer(inner)))),
        ("allow, headers, 3 limits", Box::new(measured(layer(always, 3).layer(inner)))),
        ("refuse, headers and body", Box::new(measured(layer("1/day", 1).layer(inner)))),
        ("refuse, 3 limits", Box::new(measured(layer("1/day", 3).layer(inner)))),
    ];
    if let Some(row) = std::env::args().nth(1) {
        println!("{:.0} ns/call", rows[row.parse::<usize>().unwrap()].1());
        return;
    }
    let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); rows.len()];
    for round in 0..=ROUNDS {
        for (row, times) in rows.iter_mut().zip(&mut rounds) {
            let time = row.1();
            // The first round fills tables and caches.
            if round > 0 {
                times.push(time);
            }
        }
    }
    let bare = rounds[0].clone();
    println!("{:<26} {:>8} {:>10}", "", "ns/call", "over bare");
    for ((name, _), times) in rows.iter().zip(&rounds) {
        let over: Vec<_> = times.iter().zip(&bare).map(|(time, bare)| time - bare).collect();
        println!("{name:<26} {:>8.0} {:>+10.0}", median(times), median(&over));
    }
}

/// Nanoseconds per call of a service, making the request included.
fn measured<S, C>(mut service: S) -> impl FnMut() -> f64
where
    S: Service<Request<()>, Response = Response<C>, Error: std::fmt::Debug>,
{
    let mut context = Context::from_waker(Waker::noop());
    move || {
        let start = Instant::now();
        for nth in 0..CALLS {
            let mut request = Request::new(());
            let client = (nth % CLIENTS).to_be_bytes();
            request.extensions_mut().insert(SocketAddr::from((client, 4711)));
            assert!(service.poll_ready(&mut context).is_ready());
            let Poll::Ready(answer) = pin!(service.call(request)).poll(&mut context) else {
                panic!("the service and the store answer at once");
            };
            black_box(answer.unwrap());
        }
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    }
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
