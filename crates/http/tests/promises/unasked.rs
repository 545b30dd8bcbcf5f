//! What becomes of a request when the store cannot be asked.

use std::sync::{Arc, Mutex};

use http::{HeaderMap, Request};
use tollgate_core::{Limit, OnError};
use tollgate_http::{Outcome, RateLimitLayer, Refusal, Responder};
use tollgate_policy::{Count, LimitSpec, Policy};
use tower::ServiceExt;

use crate::rig::{Alone, Behind, Down, Rig, ask, get, window, with};

fn spec(name: &str, on_error: OnError) -> LimitSpec {
    let limit = Limit::builder(name, "10 per minute".parse().unwrap()).on_error(on_error);
    LimitSpec::new(limit.build().unwrap())
}

/// A layer over a store whose server is down.
fn alone(limits: impl IntoIterator<Item = LimitSpec>) -> RateLimitLayer {
    let policy = limits.into_iter().fold(Policy::builder(), |policy, l| policy.limit(l));
    let Some(store) = Arc::into_inner(Rig::new().store) else { panic!("the rig is gone") };
    RateLimitLayer::new(Arc::new(Alone(store)), policy.build().unwrap())
}

/// No header speaks of a limit.
fn has_no_numbers(headers: &HeaderMap) -> bool {
    let names = headers.keys().filter(|name| *name != "x-ratelimit-degraded");
    !names.into_iter().any(|name| name.as_str().contains("ratelimit"))
}

#[tokio::test]
async fn b117_a_limit_that_denies_answers_503_and_never_429() {
    let layer = alone([spec("login", OnError::Deny), spec("wide", OnError::Allow)]);
    let behind = Behind::default();
    for _ in 0..3 {
        let response = behind.limited(&layer, 200).oneshot(get()).await.unwrap();
        assert_eq!(response.status(), 503);
    }
    assert_eq!(behind.calls(), 0, "it never reaches the service");
    let told = ask(&layer, 200, get()).await;
    assert_eq!((told.status, told.number("retry-after")), (503, 1));
    assert!(has_no_numbers(&told.headers), "{:?}", told.headers);
    assert_eq!(told.text("content-type"), "application/problem+json");
    assert_eq!(told.text("cache-control"), "no-store");
    let body: serde_json::Value = serde_json::from_str(&told.body).unwrap();
    assert_eq!((&body["status"], &body["code"]), (&503.into(), &"limiter_unavailable".into()));
    assert_eq!(body["title"], "Limiter Unavailable");
    assert!(!told.body.contains("undefined") && !told.body.contains("route"), "{}", told.body);
}

#[tokio::test]
async fn b117_a_grpc_call_is_told_unavailable() {
    let layer = alone([spec("login", OnError::Deny)]);
    let told = ask(&layer, 200, with(get(), "content-type", "application/grpc")).await;
    assert_eq!((told.status, told.number("grpc-status")), (200, 14));
    assert_eq!(told.number("grpc-retry-pushback-ms"), 1_000);
    assert!(has_no_numbers(&told.headers), "{:?}", told.headers);
}

#[tokio::test]
async fn b117_b118_what_passes_unasked_is_told_no_numbers() {
    let layer = alone([spec("reads", OnError::Allow)]);
    for _ in 0..30 {
        let told = ask(&layer, 200, get()).await;
        assert_eq!((told.status, told.headers.len()), (200, 0), "{:?}", told.headers);
    }
}

#[tokio::test]
async fn b118_a_limit_that_was_not_asked_is_left_out_beside_others_that_were() {
    let layer = alone([spec("reads", OnError::Allow), spec("all", OnError::Local)]);
    let told = ask(&layer, 200, get()).await;
    assert_eq!(told.text("ratelimit-policy"), "\"all\";q=10;w=60");
    assert!(told.text("ratelimit").starts_with("\"all\";r=4;"), "{}", told.text("ratelimit"));
    assert_eq!(told.number("x-ratelimit-remaining"), 4, "of its share");
    for _ in 0..4 {
        assert_eq!(ask(&layer, 200, get()).await.status, 200);
    }
    let refused = ask(&layer, 200, get()).await;
    assert_eq!((refused.status, refused.number("x-ratelimit-remaining")), (429, 0));
    assert!(!refused.body.contains("reads"), "{}", refused.body);
}

#[tokio::test]
async fn a_header_tells_of_it_in_debug_mode_alone() {
    let limits = || [spec("reads", OnError::Allow), spec("all", OnError::Local)];
    let plain = ask(&alone(limits()), 200, get()).await;
    assert!(!plain.headers.contains_key("x-ratelimit-degraded"));
    let layer = alone(limits()).responder(Responder::default().debug());
    for _ in 0..7 {
        let told = ask(&layer, 200, with(get(), "origin", "https://app.example")).await;
        assert_eq!(told.text("x-ratelimit-degraded"), "\"reads\";allow, \"all\";local=2");
        let exposed = told.text("access-control-expose-headers");
        assert!(exposed.contains("x-ratelimit-degraded"), "{exposed}");
    }
    let asked = Rig::new().layer([spec("all", OnError::Allow)]);
    let told = ask(&asked.responder(Responder::default().debug()), 200, get()).await;
    assert!(!told.headers.contains_key("x-ratelimit-degraded"), "the store was asked");
}

#[tokio::test]
async fn observers_can_tell_who_decided() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observed = |layer: RateLimitLayer| {
        let seen = seen.clone();
        layer.observe(move |outcome| {
            seen.lock().unwrap().push(match outcome {
                Outcome::Passed(decision) if decision.is_degraded() => "degraded",
                Outcome::Passed(_) => "passed",
                Outcome::Refused(Refusal::Unasked(error)) if error.is_unavailable() => "unasked",
                Outcome::Kept(..) => "kept",
                _ => "other",
            });
        })
    };
    for layer in [
        Rig::new().layer([spec("l", OnError::Local)]),
        alone([spec("l", OnError::Local)]),
        alone([spec("l", OnError::Deny)]),
        alone([window("l", "10 per minute").count(Count::Failures)]),
    ] {
        ask(&observed(layer), 200, get()).await;
    }
    let seen = seen.lock().unwrap();
    assert_eq!(seen[..], ["passed", "degraded", "unasked", "degraded", "kept"]);
}

#[tokio::test]
async fn a_preview_is_an_error_when_nobody_can_be_asked() {
    let policy = Policy::builder().limit(spec("l", OnError::Local)).build().unwrap();
    let layer = RateLimitLayer::new(Arc::new(Down), policy);
    let error = layer.peek(&Request::new(()), |_| ()).await.unwrap_err();
    assert!(error.is_unavailable());
}
