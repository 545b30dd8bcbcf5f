//! What the tower layer promises, over any service.

mod calendar;
mod plans;
mod queue;
mod settlement;
mod unasked;

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::rig::{Answer, Behind, Rig, ask, bucket, get, limit, request, window, with};
use http::Request;
use http::{HeaderName, Response};
use tokio::time::Instant;
use tollgate_core::{Algorithm, Anchor, Queue};
use tollgate_http::client::{Claims, Client, ClientRule, Source, Trust};
use tollgate_http::{Clients, Outcome, RateLimitLayer, User};
use tollgate_policy::{Cost, Count, Fallback, KeyPart, LimitAnswer, LimitSpec, Policy, When};
use tower::{Layer, Service, ServiceExt};

#[tokio::test]
async fn a_refused_request_never_reaches_the_service() {
    let layer = Rig::new().layer([bucket("l", "3 per minute")]);
    let behind = Behind::default();
    for nth in 0..10 {
        let response = behind.limited(&layer, 200).oneshot(get()).await.unwrap();
        assert_eq!(response.status(), if nth < 3 { 200 } else { 429 });
    }
    assert_eq!(behind.calls(), 3);
}

#[tokio::test]
async fn a_request_that_passes_reaches_it_as_it_came() {
    let layer = Rig::new()
        .layer([bucket("l", "3 per minute").when("/a/*".parse().unwrap()).by([KeyPart::Route])]);
    let echo = layer.layer(tower::service_fn(|request: Request<()>| async move {
        Ok::<_, Infallible>(Response::new(request.uri().to_string()))
    }));
    let response = echo.oneshot(request("GET", "//a/./%62/?q=%41")).await.unwrap();
    assert!(response.headers().contains_key("ratelimit"), "it is matched in its normal form");
    let layered = format!("{:?}", response.into_body());
    assert!(layered.contains("//a/./%62/?q=%41"), "{layered}");
}

#[tokio::test]
async fn answers_that_pass_are_told_like_refusals() {
    let layer = Rig::new().layer([bucket("l", "2 per minute")]);
    let first = ask(&layer, 404, get()).await;
    assert_eq!((first.status, first.body.as_str()), (404, "behind"));
    assert_eq!(first.text("ratelimit"), "\"l\";r=1;t=30");
    assert_eq!(first.text("ratelimit-policy"), "\"l\";q=2;w=60");
    assert_eq!(first.text("x-ratelimit-reset"), "1796068830");
    let second = ask(&layer, 200, get()).await;
    assert_eq!(second.number("x-ratelimit-remaining"), 0);
    let third = ask(&layer, 200, get()).await;
    assert_eq!(third.status, 429);
    assert_eq!(third.number("retry-after"), 30);
    assert_eq!(third.text("ratelimit"), "\"l\";r=0;t=30");
}

#[tokio::test]
async fn t07_an_error_of_the_service_passes_untouched_and_is_charged_once() {
    let rig = Rig::new();
    let unasked = Arc::new(AtomicUsize::new(0));
    let layer = rig.layer([window("l", "10 per minute").count(Count::Failures)]).observe({
        let unasked = unasked.clone();
        move |outcome| {
            if let Outcome::Kept(..) = outcome {
                unasked.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let failing = layer.layer(tower::service_fn(|_: Request<()>| async {
        Err::<Answer, _>(String::from("the service's own"))
    }));
    assert_eq!(failing.oneshot(get()).await.unwrap_err(), "the service's own");
    assert_eq!(rig.asked(), 1);
    assert_eq!(unasked.load(Ordering::SeqCst), 0, "the store was there");
    assert_eq!(ask(&layer, 200, get()).await.number("x-ratelimit-remaining"), 8);
}

#[tokio::test]
async fn b128_parallel_wrong_logins_never_get_more_than_the_limit_through() {
    let layer = Rig::new().layer([window("login", "5 per 300 s").count(Count::Failures)]);
    let (open, opened) = tokio::sync::watch::channel(false);
    let started = Arc::new(AtomicUsize::new(0));
    let login = layer.layer(tower::service_fn({
        let started = started.clone();
        move |_: Request<()>| {
            let (started, mut opened) = (started.clone(), opened.clone());
            async move {
                started.fetch_add(1, Ordering::SeqCst);
                opened.wait_for(|open| *open).await.unwrap();
                Ok::<_, Infallible>(Response::builder().status(401).body(String::new()).unwrap())
            }
        }
    }));
    let tries: Vec<_> = (0..100).map(|_| tokio::spawn(login.clone().oneshot(get()))).collect();
    while started.load(Ordering::SeqCst) < 5 {
        tokio::task::yield_now().await;
    }
    open.send(true).unwrap();
    let mut refused = 0;
    for answer in tries {
        refused += usize::from(answer.await.unwrap().unwrap().status() == 429);
    }
    assert_eq!((started.load(Ordering::SeqCst), refused), (5, 95));
}

#[tokio::test]
async fn b128_right_logins_are_free_one_after_another() {
    let layer = Rig::new().layer([window("login", "5 per 300 s").count(Count::Failures)]);
    for _ in 0..1000 {
        assert_eq!(ask(&layer, 200, get()).await.status, 200);
    }
}

#[tokio::test]
async fn t08_more_right_logins_at_once_than_the_limit_are_refused_and_settle_to_nothing() {
    let layer = Rig::new()
        .layer([limit("login", "5 per 15 minutes", Algorithm::SlidingLog).count(Count::Failures)]);
    for _ in 0..100 {
        assert_eq!(ask(&layer, 200, get()).await.status, 200);
    }
    let (open, opened) = tokio::sync::watch::channel(false);
    let login = layer.layer(tower::service_fn(move |_: Request<()>| {
        let mut opened = opened.clone();
        async move {
            opened.wait_for(|open| *open).await.unwrap();
            Ok::<_, Infallible>(Response::new(String::new()))
        }
    }));
    let mut inside: Vec<_> = (0..6).map(|_| Box::pin(login.clone().oneshot(get()))).collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut refused = 0;
    for future in &mut inside {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(answer) => refused += usize::from(answer.unwrap().status() == 429),
            Poll::Pending => {}
        }
    }
    assert_eq!(refused, 1, "the sixth");
    open.send(true).unwrap();
    for future in inside.into_iter().take(5) {
        assert_eq!(future.await.unwrap().status(), 200);
    }
    let next = ask(&layer, 401, get()).await;
    assert_eq!(next.number("x-ratelimit-remaining"), 4, "only this failure is on record");
}

#[tokio::test]
async fn b130_what_is_given_back_and_what_stays() {
    let successes = || window("l", "3 per minute").count(Count::Successes);
    let layer = Rig::new().layer([successes()]);
    for _ in 0..10 {
        assert_eq!(ask(&layer, 500, get()).await.status, 500, "failures are not counted");
    }
    let layer = Rig::new().layer([successes()]);
    let statuses: Vec<_> = [(); 5].map(|()| 200).into_iter().collect();
    for (nth, status) in statuses.into_iter().enumerate() {
        assert_eq!(ask(&layer, status, get()).await.status, if nth < 3 { 200 } else { 429 });
    }
    // A refusal gives nothing back, so the client stays refused.
    assert_eq!(ask(&layer, 500, get()).await.status, 429);

    let layer = Rig::new().layer([successes()]);
    let hanging = layer.layer(tower::service_fn(|_: Request<()>| pending::<Result<Answer, ()>>()));
    for _ in 0..3 {
        let mut left = Box::pin(hanging.clone().oneshot(get()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(left.as_mut().poll(&mut context).is_pending());
        drop(left);
    }
    assert_eq!(ask(&layer, 200, get()).await.status, 429, "who goes away has been charged");
}

#[tokio::test]
async fn b49_what_a_layer_inside_refuses_is_given_back_outside() {
    let rig = Rig::new();
    let outer = || {
        let limits =
            [window("a", "5 per minute"), window("f", "9 per minute").count(Count::Failures)];
        rig.layer(limits).refund_inner_refusals()
    };
    let inner = rig.layer([window("b", "1 per minute")]);
    let limited = outer().layer(Behind::default().limited(&inner, 200));
    for nth in 0..5 {
        let answer = limited.clone().oneshot(get()).await.unwrap();
        assert_eq!(answer.status(), if nth == 0 { 200 } else { 429 });
        let told = answer.headers()["ratelimit"].to_str().unwrap();
        let both: Vec<_> = answer.headers().get_all("ratelimit").iter().collect();
        assert!(told.contains("\"b\"") && (nth == 0) == (both.len() == 2), "{both:?}");
    }
    let (outer, next) = (outer(), get());
    let left = outer.peek(&next, |preview| {
        preview.decision.unwrap().answers().map(|answer| answer.remaining()).collect::<Vec<_>>()
    });
    assert_eq!(left.await.unwrap(), [3, 8], "the one that passed, a success, and the peek's own");
}

#[tokio::test]
async fn b49_only_a_refusal_of_a_layer_inside_is_given_back() {
    let layer = Rig::new().layer([window("a", "3 per minute")]).refund_inner_refusals();
    for status in [429, 503, 200, 429] {
        let told = ask(&layer, status, get()).await;
        assert!(told.headers.contains_key("ratelimit"));
    }
    assert!(ask(&layer, 200, get()).await.body.contains("quota-exceeded"));

    let rig = Rig::new();
    let outer = rig.layer([window("a", "2 per minute")]);
    let inner = rig.layer([window("b", "1 per minute")]);
    let limited = outer.layer(Behind::default().limited(&inner, 200));
    for _ in 0..2 {
        limited.clone().oneshot(get()).await.unwrap();
    }
    assert_eq!(ask(&outer, 200, get()).await.status, 429, "it was not told to give back");
}

#[tokio::test]
async fn a_panic_keeps_the_charge() {
    let layer = Rig::new().layer([window("l", "1 per minute").count(Count::Successes)]);
    let panicking = layer.layer(tower::service_fn(|_: Request<()>| async {
        if true {
            panic!("the handler's own");
        }
        Ok::<Answer, Infallible>(Response::default())
    }));
    assert!(tokio::spawn(panicking.oneshot(get())).await.unwrap_err().is_panic());
    assert_eq!(ask(&layer, 200, get()).await.status, 429);
}

#[tokio::test]
async fn b131_giving_back_after_the_window_has_passed_changes_no_other_window() {
    let rig = Rig::new();
    let layer = rig.layer([window("l", "5 per 10 s").count(Count::Failures)]);
    rig.advance_ms(9_900);
    let (open, opened) = tokio::sync::watch::channel(false);
    let slow = layer.layer(tower::service_fn(move |_: Request<()>| {
        let mut opened = opened.clone();
        async move {
            opened.wait_for(|open| *open).await.unwrap();
            Ok::<_, Infallible>(Response::new(String::new()))
        }
    }));
    let mut late = Box::pin(slow.oneshot(get()));
    assert!(late.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    rig.advance_ms(600);
    open.send(true).unwrap();
    assert_eq!(late.await.unwrap().status(), 200);
    assert_eq!(ask(&layer, 401, get()).await.number("x-ratelimit-remaining"), 4);
}

#[tokio::test]
async fn only_the_limit_that_asked_for_it_is_given_back() {
    let layer = Rig::new().layer([
        window("failures", "5 per minute").count(Count::Failures),
        bucket("all", "100 per minute").cost(Cost::Fixed(10)),
    ]);
    ask(&layer, 200, get()).await;
    let told = ask(&layer, 401, get()).await;
    assert_eq!(told.text("ratelimit"), "\"failures\";r=4;t=60, \"all\";r=80;t=12");
}

#[tokio::test]
async fn grpc_answers_count_by_the_status_their_code_stands_for() {
    let layer = Rig::new().layer([window("l", "5 per minute").count(Count::Failures)]);
    let answer = |code: &'static str| {
        let service = layer.layer(tower::service_fn(move |_: Request<()>| async move {
            Ok::<_, Infallible>(
                Response::builder().header("grpc-status", code).body(String::new()).unwrap(),
            )
        }));
        service.oneshot(get())
    };
    for code in ["0", "16", "7", "0", "13"] {
        answer(code).await.unwrap();
    }
    let left = answer("0").await.unwrap();
    assert_eq!(left.headers()["x-ratelimit-remaining"], "1", "three failures and this one");
}

#[tokio::test]
async fn a_service_is_called_only_after_it_was_ready() {
    #[derive(Default)]
    struct Strict(AtomicBool);
    impl Clone for Strict {
        fn clone(&self) -> Strict {
            Strict::default()
        }
    }
    impl Service<Request<()>> for Strict {
        type Response = Answer;
        type Error = Infallible;
        type Future = std::future::Ready<Result<Answer, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            self.0.store(true, Ordering::SeqCst);
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            assert!(self.0.swap(false, Ordering::SeqCst), "called without having been ready");
            std::future::ready(Ok(Response::default()))
        }
    }
    let mut service = Rig::new().layer([bucket("l", "10/s")]).layer(Strict::default());
    for _ in 0..3 {
        poll_fn(|context| service.poll_ready(context)).await.unwrap();
        assert_eq!(service.call(get()).await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn b136_every_algorithm_tells_when_to_come_back() {
    let algorithms = [
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket(Queue::Length(0)),
        Algorithm::FixedWindow(Anchor::Clock),
        Algorithm::FixedWindow(Anchor::Spread),
        Algorithm::FixedWindow(Anchor::FirstHit),
        Algorithm::SlidingWindow,
        Algorithm::SlidingLog,
    ];
    for algorithm in algorithms {
        let rig = Rig::new();
        let layer = rig.layer([limit("l", "3 per minute", algorithm)]);
        let mut refused = ask(&layer, 200, get()).await;
        while refused.status == 200 {
            refused = ask(&layer, 200, get()).await;
        }
        let wait = refused.number("retry-after");
        assert!((1..=120).contains(&wait), "{algorithm}: {wait}");
        assert!(refused.text("ratelimit").ends_with(&format!(";t={wait}")), "{algorithm}");
        rig.advance_ms((wait - 1) * 1000);
        assert_eq!(ask(&layer, 200, get()).await.status, 429, "{algorithm}: {wait} is too long");
        rig.advance_ms(1000);
        assert_eq!(ask(&layer, 200, get()).await.status, 200, "{algorithm}: {wait} is too short");
    }
}

#[tokio::test]
async fn b139_a_sliding_window_tells_when_room_comes_not_when_the_window_ends() {
    let rig = Rig::new();
    let layer = rig.layer([limit("l", "60 per 60 s", Algorithm::SlidingWindow)]);
    for _ in 0..60 {
        rig.advance_ms(900);
        assert_eq!(ask(&layer, 200, get()).await.status, 200);
    }
    rig.advance_ms(72_000 - 54_000);
    for _ in 0..12 {
        assert_eq!(ask(&layer, 200, get()).await.status, 200);
    }
    assert_eq!(ask(&layer, 200, get()).await.number("retry-after"), 1);
}

#[tokio::test]
async fn b140_the_last_of_a_window_tells_when_it_ends() {
    let rig = Rig::new();
    let layer = rig.layer([window("l", "10 per 10 s")]);
    rig.advance_ms(3_000);
    for _ in 0..9 {
        ask(&layer, 200, get()).await;
    }
    let last = ask(&layer, 200, get()).await;
    assert_eq!((last.status, last.text("ratelimit")), (200, "\"l\";r=0;t=7"));
}

#[tokio::test]
async fn b150_preflights_are_free_and_plain_options_are_not() {
    let rig = Rig::new();
    let layer = rig.layer([bucket("l", "40 per minute")]);
    let origin = |request| with(request, "origin", "https://app.example");
    for _ in 0..40 {
        let preflight = origin(request("OPTIONS", "/orders"));
        let preflight = with(preflight, "access-control-request-method", "POST");
        let told = ask(&layer, 204, preflight).await;
        assert_eq!(told.status, 204);
        assert!(!told.headers.contains_key("ratelimit"));
        assert_eq!(ask(&layer, 200, origin(request("POST", "/orders"))).await.status, 200);
    }
    assert_eq!(rig.asked(), 40);
    assert_eq!(ask(&layer, 204, origin(request("OPTIONS", "/orders"))).await.status, 429);
}

#[tokio::test]
async fn b152_probes_are_free_in_their_one_spelling() {
    let rig = Rig::new();
    let policy = Policy::builder()
        .limit(bucket("l", "5 per minute"))
        .allow(KeyPart::Path, "/healthz")
        .build()
        .unwrap();
    let layer = rig.over(policy);
    for _ in 0..10_000 {
        assert_eq!(ask(&layer, 200, request("GET", "/healthz")).await.status, 200);
    }
    assert_eq!(rig.asked(), 0, "no counter, no quota");
    for spelling in ["/healthz/", "//healthz", "/%68ealthz", "/healthz;x", "/HEALTHZ"] {
        ask(&layer, 200, request("GET", spelling)).await;
    }
    assert_eq!(rig.asked(), 5, "other spellings are charged");
}

#[tokio::test]
async fn b153_a_refusal_inherits_nothing_from_the_route() {
    let layer = Rig::new().layer([bucket("l", "1 per minute")]);
    let cached = layer.layer(tower::service_fn(|_: Request<()>| async {
        Ok::<_, Infallible>(
            Response::builder().header("cache-control", "public").body(String::new()).unwrap(),
        )
    }));
    let passed = cached.clone().oneshot(get()).await.unwrap();
    assert_eq!(passed.headers()["cache-control"], "public", "the service's own answer is its own");
    let refused = cached.oneshot(get()).await.unwrap();
    assert_eq!(refused.headers()["cache-control"], "no-store");
}

#[tokio::test]
async fn b155_unknown_routes_are_charged() {
    let layer = Rig::new().layer([bucket("l", "20 per minute")]);
    let mut refused = 0;
    for nth in 0..100 {
        let told = ask(&layer, 404, request("GET", &format!("/wp-{nth}.php"))).await;
        refused += usize::from(told.status == 429);
    }
    assert_eq!(refused, 80);
}

#[tokio::test]
async fn b187_what_is_skipped_costs_nothing() {
    let rig = Rig::new();
    let layer = rig
        .layer([bucket("l", "1 per minute")])
        .skip(|head| head.headers().contains_key("x-internal"));
    for _ in 0..100 {
        let told = ask(&layer, 200, with(get(), "x-internal", "1")).await;
        assert_eq!((told.status, told.headers.len()), (200, 0));
    }
    assert_eq!(rig.asked(), 0);
}

#[tokio::test]
async fn shadow_limits_are_told_and_never_block() {
    let refusals = Arc::new(AtomicUsize::new(0));
    let layer = Rig::new()
        .layer([bucket("watch", "1 per minute").shadow(), bucket("real", "100 per minute")])
        .observe({
            let refusals = refusals.clone();
            move |outcome| {
                if let Outcome::Passed(decision) = outcome {
                    let refusing = decision.answers().filter(|a| !a.verdict().passes());
                    refusals.fetch_add(refusing.count(), Ordering::SeqCst);
                }
            }
        });
    assert!(!ask(&layer, 200, get()).await.headers.contains_key("x-ratelimit-shadow"));
    for _ in 0..3 {
        let told = ask(&layer, 200, get()).await;
        assert_eq!((told.status, told.text("x-ratelimit-shadow")), (200, "\"watch\""));
        assert!(!told.text("ratelimit").contains("watch"));
    }
    assert_eq!(refusals.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn b177_layers_on_routes_share_what_they_share_by_name() {
    let rig = Rig::new();
    let shared = || rig.layer([bucket("all", "5 per minute")]);
    for _ in 0..2 {
        ask(&shared(), 200, get()).await;
        ask(&rig.layer([bucket("login", "2 per minute")]), 200, get()).await;
    }
    assert_eq!(ask(&shared(), 200, get()).await.number("x-ratelimit-remaining"), 2);
    assert_eq!(ask(&rig.layer([bucket("login", "2 per minute")]), 200, get()).await.status, 429);
}

#[tokio::test]
async fn an_inner_refusal_is_the_one_that_is_told() {
    let rig = Rig::new();
    let (outer, inner) =
        (rig.layer([bucket("outer", "100 per minute")]), rig.layer([bucket("inner", "1/hour")]));
    let service = || {
        let login = tower::service_fn(|_: Request<()>| async {
            Ok::<Answer, Infallible>(Response::default())
        });
        outer.layer(inner.layer(login)).oneshot(get())
    };
    service().await.unwrap();
    let refused = service().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["x-ratelimit-limit"], "1");
    assert_eq!(refused.headers()["x-ratelimit-remaining"], "0");
    assert_eq!(refused.headers()["retry-after"], "3600");
}

#[tokio::test]
async fn a_peek_tells_what_the_request_would_be_told_and_charges_nothing() {
    let rig = Rig::new();
    let layer = rig.layer([bucket("l", "2 per minute").message("{name}".parse().unwrap())]);
    for _ in 0..3 {
        let seen = |layer: RateLimitLayer| async move {
            layer
                .peek(&get(), |preview| {
                    let body = String::from_utf8(preview.response.body().to_vec()).unwrap();
                    (preview.response.status().as_u16(), preview.response.headers().clone(), body)
                })
                .await
                .unwrap()
        };
        let (first, second) = (seen(layer.clone()).await, seen(layer.clone()).await);
        assert_eq!(first, second);
        let real = ask(&layer, 200, get()).await;
        assert_eq!((first.0, first.1), (real.status, real.headers));
        if real.status == 429 {
            assert_eq!(first.2, real.body);
            assert!(real.body.contains("\"detail\":\"l\""));
        }
    }
}

#[tokio::test]
async fn without_a_peer_all_clients_share_one_budget() {
    let layer = Rig::new().layer([bucket("l", "2 per minute")]);
    let unknown = || Request::new(());
    assert_eq!(ask(&layer, 200, unknown()).await.status, 200);
    assert_eq!(ask(&layer, 200, unknown()).await.status, 200);
    assert_eq!(ask(&layer, 200, unknown()).await.status, 429);
    assert_eq!(ask(&layer, 200, get()).await.status, 200, "nobody else's");
}

#[tokio::test]
async fn a_peer_is_read_where_the_server_puts_it() {
    #[derive(Clone)]
    struct Connection(std::net::IpAddr);
    let layer = Rig::new().layer([bucket("l", "1 per minute")]).peer(|info: &Connection| info.0);
    let from = |last| {
        let mut request = Request::new(());
        request.extensions_mut().insert(Connection([192, 0, 2, last].into()));
        request
    };
    assert_eq!(ask(&layer, 200, from(1)).await.status, 200);
    assert_eq!(ask(&layer, 200, from(2)).await.status, 200);
    assert_eq!(ask(&layer, 200, from(1)).await.status, 429);
}

fn behind_proxy() -> Clients {
    let trust = Trust::Proxies(["198.51.100.0/24".parse().unwrap()].into_iter().collect());
    let rule = ClientRule::new(Source::XForwardedFor, trust).unwrap();
    Clients::new(rule).user_header(HeaderName::from_static("x-user")).ipv6_prefix(56)
}

#[tokio::test]
async fn clients_behind_a_trusted_proxy_have_budgets_of_their_own() {
    let layer = Rig::new().layer([bucket("l", "1 per minute")]).clients(behind_proxy());
    let from = |client| with(get(), "x-forwarded-for", client);
    assert_eq!(ask(&layer, 200, from("203.0.113.1")).await.status, 200);
    assert_eq!(ask(&layer, 200, from("203.0.113.2")).await.status, 200);
    assert_eq!(ask(&layer, 200, from("6.6.6.6, 203.0.113.2")).await.status, 429, "a forgery");
    assert_eq!(ask(&layer, 200, from("2001:db8:0:100::1")).await.status, 200);
    assert_eq!(ask(&layer, 200, from("2001:db8:0:1ff::2")).await.status, 429, "one /56");
    assert_eq!(ask(&layer, 200, from("2001:db8:0:200::1")).await.status, 200);
}

#[tokio::test]
async fn a_user_header_counts_only_from_a_trusted_proxy() {
    let by_user = || bucket("l", "1 per minute").by([KeyPart::User]).fallback(Fallback::Refuse);
    let layer = Rig::new().layer([by_user()]).clients(behind_proxy());
    assert_eq!(ask(&layer, 200, with(get(), "x-user", "ann")).await.status, 200);
    assert_eq!(ask(&layer, 200, with(get(), "x-user", "bob")).await.status, 200);
    assert_eq!(ask(&layer, 200, with(get(), "x-user", "ann")).await.status, 429);
    let twice = with(with(get(), "x-user", "eve"), "x-user", "ann");
    assert_eq!(ask(&layer, 200, twice).await.status, 400, "two names are none");
    let mut outsider = with(get(), "x-user", "cat");
    outsider.extensions_mut().insert(std::net::SocketAddr::from(([203, 0, 113, 5], 1)));
    assert_eq!(ask(&layer, 200, outsider).await.status, 400);
}

#[tokio::test]
async fn a_user_is_what_authentication_found_or_a_function_says() {
    let by_user = || bucket("l", "1 per minute").by([KeyPart::User]).fallback(Fallback::Refuse);
    let layer = Rig::new().layer([by_user()]);
    let by = |name: &str| {
        let mut request = get();
        request.extensions_mut().insert(User(name.into()));
        request
    };
    assert_eq!(ask(&layer, 200, by("ann")).await.status, 200);
    assert_eq!(ask(&layer, 200, by("ann")).await.status, 429);
    assert_eq!(ask(&layer, 200, by("bob")).await.status, 200);
    let refused = ask(&layer, 200, get()).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("This request has to carry a user."), "{}", refused.body);

    let tenants = Rig::new()
        .layer([by_user()])
        .user(|head| head.uri().path().split('/').nth(1).map(str::to_owned));
    assert_eq!(ask(&tenants, 200, request("GET", "/acme/1")).await.status, 200);
    assert_eq!(ask(&tenants, 200, request("GET", "/other/1")).await.status, 200);
    assert_eq!(ask(&tenants, 200, request("GET", "/acme/2")).await.status, 429);
}

#[tokio::test]
async fn a_path_that_can_be_read_in_two_ways_is_refused_when_limits_look_at_paths() {
    let by_path = || bucket("l", "9/s").when("/a".parse().unwrap());
    let layer = Rig::new().layer([by_path()]);
    assert_eq!(ask(&layer, 200, request("GET", "/a%2Fb")).await.status, 400);
    let layer = Rig::new().layer([bucket("l", "9/s")]);
    assert_eq!(ask(&layer, 200, request("GET", "/a%2Fb")).await.status, 200, "not our affair");
}

#[tokio::test]
async fn spellings_of_a_path_share_its_budget() {
    let login = || bucket("l", "3 per minute").when("POST /login".parse().unwrap());
    let layer = Rig::new().layer([login()]);
    let mut passed = 0;
    for spelling in
        ["/login", "//login", "/./login", "/x/../login", "/%6Cogin", "/login/", "/login;v=1"]
    {
        passed += usize::from(ask(&layer, 200, request("POST", spelling)).await.status == 200);
    }
    assert_eq!(passed, 3);
}

#[tokio::test]
async fn no_spelling_escapes_a_cost_or_an_exception_where_no_limit_is_for_a_path() {
    let costs = vec![("/search".parse().unwrap(), Cost::Fixed(3))];
    let layer = Rig::new().layer([bucket("l", "3 per minute").cost(Cost::Cases(costs))]);
    let mut passed = 0;
    for spelling in ["/%73earch", "//search", "/search/"] {
        passed += usize::from(ask(&layer, 200, request("GET", spelling)).await.status == 200);
    }
    assert_eq!(passed, 1);
    let others = When::default().except("/health".parse().unwrap());
    let layer = Rig::new().layer([bucket("l", "1 per minute").when(others)]);
    for spelling in ["/health", "//health", "/%68ealth", "/health/"] {
        assert_eq!(ask(&layer, 200, request("GET", spelling)).await.status, 200, "{spelling}");
    }
}

#[tokio::test]
async fn the_last_word_on_a_refusal_can_be_the_services_own() {
    let layer = Rig::new().layer([bucket("l", "1 per minute")]).refuse_with(
        |head, refusal, mut response| {
            assert!(refusal.retry_after().is_some());
            *response.body_mut() = format!("slow down at {}", head.uri()).into();
            response
        },
    );
    ask(&layer, 200, get()).await;
    let refused = ask(&layer, 200, get()).await;
    assert_eq!((refused.status, refused.body.as_str()), (429, "slow down at /"));
    assert_eq!(refused.number("retry-after"), 60);
}

#[tokio::test]
async fn who_is_on_the_deny_list_is_forbidden() {
    let policy = Policy::builder().deny(KeyPart::Client, "198.51.100.0/24").build().unwrap();
    let rig = Rig::new();
    let told = ask(&rig.over(policy), 200, get()).await;
    assert_eq!((told.status, rig.asked()), (403, 0));
}

#[tokio::test]
async fn the_message_is_that_of_the_limit_that_refuses() {
    let say = |limit: LimitSpec, text: &str| limit.message(text.parse().unwrap());
    let layer = Rig::new().layer([
        say(bucket("wide", "100 per minute"), "wide"),
        say(bucket("narrow", "1 per minute"), "{name}, {limit} only, in {retry_after}"),
    ]);
    ask(&layer, 200, get()).await;
    let refused = ask(&layer, 200, get()).await;
    assert!(refused.body.contains("narrow, 1 only, in 1m"), "{}", refused.body);
}

#[tokio::test]
async fn the_answer_is_that_of_the_limit_that_refuses() {
    let own = LimitAnswer::default()
        .with_status(503)
        .with_content_type("application/vnd.shop+json")
        .with_body(r#"{"wait":{retry_after},"limit":{limit},"of":"{name}"}"#.parse().unwrap());
    let usual = LimitAnswer::default().with_status(420);
    let plain = LimitAnswer::default().with_body("{limit} only".parse().unwrap());
    let rig = Rig::new();
    let layer = rig.layer([
        bucket("wide", "3 per minute").when("/wide".parse().unwrap()).answer(usual),
        bucket("text", "1 per minute").when("/text".parse().unwrap()).answer(plain),
        bucket("own", "1 per minute").when("/own".parse().unwrap()).answer(own),
        bucket("cost", "1 per minute").when("/never".parse().unwrap()).cost(Cost::Fixed(2)),
    ]);
    let refused = async |path| loop {
        let told = ask(&layer, 200, request("GET", path)).await;
        if told.status != 200 {
            return told;
        }
    };
    let told = refused("/own").await;
    assert_eq!((told.status, told.number("retry-after")), (503, 60));
    assert_eq!(told.text("content-type"), "application/vnd.shop+json");
    assert_eq!(told.body, r#"{"wait":60,"limit":1,"of":"own"}"#);
    assert_eq!(told.text("cache-control"), "no-store");
    assert!(told.text("ratelimit").starts_with("\"own\";r=0"), "{:?}", told.headers);

    let told = refused("/text").await;
    assert_eq!((told.status, told.text("content-type")), (429, "text/plain; charset=utf-8"));
    assert_eq!(told.body, "1 only");

    let told = refused("/wide").await;
    let body: serde_json::Value = serde_json::from_str(&told.body).unwrap();
    assert_eq!((told.status, &body["status"]), (420, &420.into()));

    let grpc = with(request("GET", "/own"), "content-type", "application/grpc");
    let told = ask(&layer, 200, grpc).await;
    assert_eq!((told.status, told.number("grpc-status"), &*told.body), (200, 8, ""));
    assert_eq!(refused("/never").await.status, 429, "none of its own");
}

#[tokio::test]
async fn a_claim_is_what_was_verified_and_nothing_a_client_says() {
    let by_claim = || {
        bucket("l", "1 per minute").by([KeyPart::Claim("sub".into())]).fallback(Fallback::Refuse)
    };
    let layer = Rig::new().layer([by_claim()]);
    let of = |name: &str| {
        let mut request = get();
        request.extensions_mut().insert(Claims::from_iter([("sub", name)]));
        request
    };
    assert_eq!(ask(&layer, 200, of("ann")).await.status, 200);
    assert_eq!(ask(&layer, 200, of("ann")).await.status, 429);
    assert_eq!(ask(&layer, 200, of("bob")).await.status, 200);
    assert_eq!(ask(&layer, 200, get()).await.status, 400);
    assert_eq!(ask(&layer, 200, with(get(), "sub", "ann")).await.status, 400);

    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let elsewhere = bucket("other", "9 per minute").when("/other".parse().unwrap());
    let layer = Rig::new().layer([by_claim().when("/a".parse().unwrap()), elsewhere]).claims(
        move |headers| {
            counted.fetch_add(1, Ordering::SeqCst);
            let subject = headers.get("authorization")?.to_str().ok()?.strip_prefix("Good ")?;
            Some(Claims::from_iter([("sub", subject)]))
        },
    );
    assert_eq!(ask(&layer, 200, request("GET", "/other")).await.status, 200);
    assert_eq!(asked.load(Ordering::SeqCst), 0, "no limit asked for a claim");
    let bearing = |token| with(request("GET", "/a"), "authorization", token);
    assert_eq!(ask(&layer, 200, bearing("Good ann")).await.status, 200);
    assert_eq!(ask(&layer, 200, bearing("Good ann")).await.status, 429);
    assert_eq!(ask(&layer, 200, bearing("Bad ann")).await.status, 400);
    let mut forged = request("GET", "/a");
    forged.extensions_mut().insert(Claims::from_iter([("sub", "bob")]));
    assert_eq!(ask(&layer, 200, forged).await.status, 400, "the function alone is asked");
    assert_eq!(asked.load(Ordering::SeqCst), 4);
}

/// A log that is kept.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn forwarding_headers_of_a_stranger_are_told_once_with_the_remedy() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer({
        let log = log.clone();
        move || log.clone()
    });
    let _guard = tracing::subscriber::set_default(subscriber.finish());
    let layer = Rig::new().layer([bucket("l", "100/s")]);
    for _ in 0..1000 {
        ask(&layer, 200, with(get(), "x-forwarded-for", "203.0.113.9")).await;
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert_eq!(log.lines().count(), 10, "{log}");
    assert!(log.contains("set `trusted_proxies` in [client]"), "{log}");
    assert!(log.contains("all clients behind it share one budget"), "{log}");
    assert!(!log.contains("203.0.113.9") && !log.contains("198.51.100.7"), "no addresses: {log}");
}

/// A service that answers with the client that the layer put beside the request.
async fn told_client(layer: &RateLimitLayer, request: Request<()>) -> Option<Client> {
    let service = layer.layer(tower::service_fn(|request: Request<()>| async move {
        let client = request.extensions().get::<Client>().copied();
        Ok::<_, Infallible>(Response::builder().extension(Told(client)).body(()).unwrap())
    }));
    service.oneshot(request).await.unwrap().extensions().get::<Told>().unwrap().0
}

#[derive(Clone)]
struct Told(Option<Client>);

#[tokio::test]
async fn a_service_that_asks_is_told_who_the_limits_think_asked() {
    let trust = Trust::Proxies(["127.0.0.0/8".parse().unwrap()].into_iter().collect());
    let clients = Clients::new(ClientRule::new(Source::XForwardedFor, trust).unwrap());
    let limits = || [bucket("l", "10 per minute")];
    let layer = Rig::new().layer(limits()).clients(clients);
    let from = |peer: [u8; 4]| {
        let mut request = with(get(), "x-forwarded-for", "198.51.100.7");
        request.extensions_mut().insert(std::net::SocketAddr::from((peer, 4711)));
        request
    };
    assert_eq!(told_client(&layer, from([127, 0, 0, 1])).await, None, "nobody asked for it");

    let layer = layer.attach_client();
    let proxied = told_client(&layer, from([127, 0, 0, 1])).await.unwrap();
    assert_eq!(proxied.address(), Some("198.51.100.7".parse().unwrap()));
    assert!(proxied.peer_is_trusted());
    let direct = told_client(&layer, from([203, 0, 113, 9])).await.unwrap();
    assert_eq!(direct.address(), Some("203.0.113.9".parse().unwrap()));
    assert!(!direct.peer_is_trusted());

    let free = layer.skip(|_| true);
    assert!(told_client(&free, from([127, 0, 0, 1])).await.unwrap().peer_is_trusted());
}

#[tokio::test]
async fn what_another_layer_thinks_of_a_client_does_not_pass_for_this_ones() {
    let layer = Rig::new().layer([bucket("l", "10 per minute")]).attach_client();
    let mut inside = get();
    inside.extensions_mut().insert(std::net::SocketAddr::from(([127, 0, 0, 1], 4711)));
    let client = told_client(&layer, inside).await.unwrap();
    let mut request = Request::new(());
    request.extensions_mut().insert(client);
    assert_eq!(told_client(&layer, request).await, None, "this layer knows no peer");
}

#[test]
fn the_policy_of_a_layer_is_the_one_it_asks() {
    let policy = Policy::builder().limit(bucket("l", "10 per minute")).build().unwrap();
    let layer = Rig::new().over(policy);
    assert_eq!(layer.policy().ipv6_prefix(), 64);
    let clients = Clients::default().ipv6_prefix(56).user_header("x-user".parse().unwrap());
    assert_eq!(clients.ipv6_bits(), Some(56));
    assert_eq!(clients.identity_headers().collect::<Vec<_>>(), ["x-user"]);
    let layer = layer.clients(clients);
    assert_eq!(layer.policy().ipv6_prefix(), 56);
}

#[tokio::test]
async fn a_layer_that_is_changed_after_it_served_tells_its_own_limits() {
    let layer = Rig::new().layer([bucket("l", "2 per minute")]);
    assert_eq!(ask(&layer, 200, get()).await.text("ratelimit-policy"), "\"l\";q=2;w=60");
    let changed = layer.clone().clients(Clients::default().ipv6_prefix(56));
    for layer in [changed, layer] {
        assert_eq!(ask(&layer, 200, get()).await.text("ratelimit-policy"), "\"l\";q=2;w=60");
    }
}

#[tokio::test(start_paused = true)]
async fn what_remains_can_be_taken_at_once_whatever_queue_the_limit_has() {
    for (quota, queue) in [("10 per second burst 3", 7), ("10 per second", 5), ("4/s burst 4", 0)] {
        let leaky = limit("l", quota, Algorithm::LeakyBucket(Queue::Length(queue)));
        let layer = Rig::new().layer([leaky, bucket("wide", "20 per minute")]);
        let start = Instant::now();
        let first = ask(&layer, 200, get()).await;
        let left = first.number("x-ratelimit-remaining");
        assert!(left < first.number("x-ratelimit-limit"), "{quota}: {left}");
        for _ in 0..left {
            assert_eq!(ask(&layer, 200, get()).await.status, 200, "{quota}");
        }
        assert_eq!(start.elapsed(), Duration::ZERO, "{quota}");
        for _ in 0..queue {
            let held = ask(&layer, 200, get()).await;
            assert_eq!((held.status, held.number("x-ratelimit-remaining")), (200, 0), "{quota}");
        }
        assert_eq!(start.elapsed().is_zero(), queue == 0, "{quota}");
        let refused = ask(&layer, 200, get()).await;
        assert_eq!((refused.status, refused.number("x-ratelimit-remaining")), (429, 0), "{quota}");
    }
}
