//! Quotas told by a function of the request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Request;
use tollgate_core::Quota;
use tollgate_http::RateLimitLayer;
use tollgate_policy::KeyPart;

use crate::rig::{Rig, ask, get, window};

#[derive(Clone)]
struct Plan(&'static str);

fn of(plan: &'static str) -> Request<()> {
    let mut request = get();
    request.extensions_mut().insert(Plan(plan));
    request
}

/// A limit called `plan` by what stands beside the request, and one that is nobody's plan.
fn planned(rig: &Rig) -> RateLimitLayer {
    rig.layer([window("all", "9 per minute"), window("plan", "2 per minute")]).quotas(
        |head, limit| {
            let Plan(plan) = head.extensions().get().filter(|_| limit.name() == "plan")?;
            Some(plan.parse::<Quota>().unwrap())
        },
    )
}

#[tokio::test]
async fn a_quota_of_the_request_holds_for_it_and_goes_on_with_the_count() {
    let layer = planned(&Rig::new());
    let mut left = Vec::new();
    for request in [get(), of("5 per minute"), of("5 per minute"), get(), of("4/minute")] {
        let told = ask(&layer, 200, request).await;
        left.push((
            told.status,
            told.headers["x-ratelimit-remaining"].to_str().unwrap().to_owned(),
        ));
    }
    let left: Vec<_> = left.iter().map(|(status, left)| (*status, left.as_str())).collect();
    assert_eq!(left, [(200, "1"), (200, "3"), (200, "2"), (429, "0"), (200, "0")]);
}

#[tokio::test]
async fn every_header_of_an_answer_is_of_the_quota_that_was_told() {
    let layer = planned(&Rig::new());
    for (plan, header) in [("7/minute", "\"plan\";q=7;w=60"), ("3/minute", "\"plan\";q=3;w=60")] {
        let told = ask(&layer, 200, of(plan)).await;
        let policy = told.headers["ratelimit-policy"].to_str().unwrap();
        assert_eq!(policy, format!("\"all\";q=9;w=60, {header}"));
    }
    assert_eq!(ask(&layer, 200, of("0/minute")).await.status, 429);
}

#[tokio::test]
async fn a_quota_that_cannot_hold_leaves_the_policys_own() {
    let layer = planned(&Rig::new());
    for plan in ["100 per hour", "100 per minute burst 9"] {
        assert_eq!(ask(&layer, 200, of(plan)).await.status, 200);
    }
    assert_eq!(ask(&layer, 200, of("100 per hour")).await.status, 429);
    assert_eq!(ask(&layer, 200, of("3/minute")).await.status, 200);
}

#[tokio::test]
async fn a_quota_told_holds_instead_of_an_override_and_a_peek_is_told_the_same() {
    let limit = window("plan", "1/minute").by([KeyPart::Client]);
    let other = window("plan", "2/minute").limits().to_vec();
    let limit = limit.override_for("198.51.100.7", other);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let layer = Rig::new().layer([limit]).quotas(move |_, limit| {
        count.fetch_add(1, Ordering::SeqCst);
        (limit.quota().amount() == 2).then_some(Quota::per_minute(6))
    });
    let left = layer.peek(&get(), |preview| preview.decision.unwrap().remaining()).await.unwrap();
    assert_eq!((left, asked.load(Ordering::SeqCst)), (5, 2));
    assert_eq!(ask(&layer, 200, get()).await.headers["x-ratelimit-remaining"], "5");
}

#[tokio::test]
async fn what_the_layer_is_told_later_holds_under_every_quota() {
    let layer = planned(&Rig::new());
    assert_eq!(ask(&layer, 200, of("1/minute")).await.status, 200);
    let layer = layer.refuse_with(|_, _, mut answer| {
        *answer.status_mut() = http::StatusCode::IM_A_TEAPOT;
        answer
    });
    assert_eq!(ask(&layer, 200, of("1/minute")).await.status, 418);
}
