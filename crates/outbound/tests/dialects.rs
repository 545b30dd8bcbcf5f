//! What Tollgate's own layer writes is read back, in each of its dialects.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends by a panic"
)]

use std::convert::Infallible;
use std::sync::Arc;

use http::header::RETRY_AFTER;
use http::{HeaderMap, Request, Response, StatusCode};
use tollgate_core::{Limit, ManualClock, Span, Tick};
use tollgate_http::{Dialect, Dialects, RateLimitLayer, Responder};
use tollgate_memory::Memory;
use tollgate_outbound::Told;
use tollgate_policy::{LimitSpec, Policy};
use tower::{Layer, ServiceExt};

/// 2026-11-30 20:00:00 UTC.
const START: Tick = Tick::from_micros(1_796_068_800_000_000);
/// One call is due again every 12 seconds.
const LIMIT: &str = "5/minute";
const DUE: Span = Span::from_secs(12);

/// A server with one limit that speaks these dialects.
struct Server {
    clock: ManualClock,
    layer: RateLimitLayer,
}

impl Server {
    fn speaking(dialects: Dialects) -> Server {
        let clock = ManualClock::at(START);
        let store = Memory::builder().clock(clock.clone()).build().unwrap();
        let limit = LimitSpec::new(Limit::new("burst", LIMIT.parse().unwrap()).unwrap());
        let policy = Policy::builder().limit(limit).build().unwrap();
        let responder = Responder::default().dialects(dialects);
        let layer = RateLimitLayer::new(Arc::new(store), policy).responder(responder);
        Server { clock, layer }
    }

    async fn call(&self) -> (StatusCode, HeaderMap) {
        let service = tower::service_fn(async |_: Request<String>| {
            Ok::<_, Infallible>(Response::new(String::new()))
        });
        let request = Request::new(String::new());
        let answer = self.layer.layer(service).oneshot(request).await.unwrap();
        (answer.status(), answer.headers().clone())
    }

    async fn told(&self) -> Told {
        let (status, headers) = self.call().await;
        Told::read(status, &headers, self.now())
    }

    fn now(&self) -> Tick {
        use tollgate_core::Clock;
        self.clock.now()
    }
}

/// Every dialect alone, those of the default together, and none.
fn all() -> impl Iterator<Item = Dialects> {
    let alone = Dialect::ALL.map(|dialect| Dialects::new([dialect]).unwrap());
    alone.into_iter().chain([Dialects::default(), Dialects::none()])
}

#[tokio::test]
async fn what_is_left_and_until_when_is_read_from_every_dialect() {
    for dialects in all() {
        let server = Server::speaking(dialects.clone());
        for left in (0..5).rev() {
            let told = server.told().await;
            assert_eq!(told.allowances().is_empty(), dialects == Dialects::none());
            for allowance in told.allowances() {
                let full = Span::from_micros(DUE.as_micros() * (5 - left));
                assert_eq!((allowance.left, allowance.reset), (left, Some(full)), "{dialects:?}");
                assert_eq!(allowance.limit, Some(5), "{dialects:?}");
                assert!(allowance.window.is_none_or(|window| window == Span::MINUTE));
            }
            assert!(!told.is_refusal());
        }
    }
}

#[tokio::test]
async fn whoever_waits_what_is_read_passes_and_a_second_before_does_not() {
    for dialects in all() {
        let server = Server::speaking(dialects);
        while server.call().await.0.is_success() {}
        let told = server.told().await;
        assert!(told.is_refusal());
        let wait = told.retry_after().unwrap();
        assert_eq!(wait, DUE);
        server.clock.set(START.after(Span::from_secs(wait.as_secs_ceil() - 1)));
        assert!(!server.call().await.0.is_success());
        server.clock.set(START.after(wait));
        assert!(server.call().await.0.is_success());
    }
}

#[tokio::test]
async fn every_dialect_tells_the_wait_without_retry_after_too() {
    for dialect in Dialect::ALL {
        let server = Server::speaking(Dialects::new([dialect]).unwrap());
        while server.call().await.0.is_success() {}
        let (status, mut headers) = server.call().await;
        headers.remove(RETRY_AFTER);
        let told = Told::read(status, &headers, server.now());
        assert_eq!(told.retry_after(), Some(DUE), "{dialect}");
    }
}
