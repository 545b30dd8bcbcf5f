use http::header::{ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, ORIGIN, VARY};
use serde_json::{Value, json};
use tollgate_policy::{KeyPart, Lack, Refused, RequestPath};

use super::*;
use crate::desk::Desk;
use crate::dialect::Dialect;

const NOW: u64 = 1_796_068_800_000_000;

/// The answer to a login refused for another 180 s.
fn refuse(responder: &Responder, request: &[(HeaderName, &str)]) -> Response<Bytes> {
    let mut desk = Desk::new(NOW, &[("login", "5 per 15 minutes"), ("wide", "100/s")]);
    assert!(desk.charge(&[5, 1]).is_allowed());
    let decision = desk.charge(&[1, 0]);
    responder.refuse(&headers(request), Refusal::Limited(&decision), None)
}

fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
}

fn keyless() -> Refusal<'static> {
    static PART: KeyPart = KeyPart::Client;
    Refusal::Keyless(Refused { limit: None, part: &PART, lack: Lack::Missing })
}

fn message(text: &str) -> Message {
    text.parse().unwrap()
}

#[test]
fn a_refusal_says_what_when_and_why() {
    let response = refuse(&Responder::default(), &[]);
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    assert_eq!(response.headers()[RETRY_AFTER], "180");
    let body: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(
        body,
        json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Quota Exceeded",
            "status": 429,
            "detail": "Too many requests, please try again later.",
            "violated-policies": ["login"],
        })
    );
}

#[test]
fn b153_a_refusal_is_never_stored() {
    for request in [&[][..], &[(CONTENT_TYPE, "application/grpc")]] {
        assert_eq!(refuse(&Responder::default(), request).headers()[CACHE_CONTROL], "no-store");
    }
    let denied = Responder::default().refuse(&HeaderMap::new(), Refusal::Denied, None);
    assert_eq!(denied.headers()[CACHE_CONTROL], "no-store");
}

#[test]
fn b143_body_and_headers_tell_one_time() {
    for (micros, seconds, text) in [(0, 180, "3m"), (1, 180, "3m"), (170_000_001, 10, "10s")] {
        let mut desk = Desk::new(NOW, &[("login", "5 per 15 minutes")]);
        assert!(desk.charge(&[5]).is_allowed());
        desk.advance(micros);
        let decision = desk.charge(&[1]);
        let responder = Responder::default().format(Format::Json);
        let own = message("{name}: {limit} tries. Again in {retry_after}.");
        let response = responder.refuse(&HeaderMap::new(), Refusal::Limited(&decision), Some(&own));
        let body: Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(body, json!({ "error": format!("login: 5 tries. Again in {text}.") }));
        assert_eq!(response.headers()[RETRY_AFTER], seconds.to_string());
        assert_eq!(response.headers()["ratelimit"], format!("\"login\";r=0;t={seconds}"));
        assert_eq!(response.headers()["x-ratelimit-reset"], "1796068980");
    }
}

#[test]
fn t05_retry_after_is_a_time_not_a_count() {
    let mut desk = Desk::new(NOW, &[("bytes", "1000 per minute")]);
    assert!(desk.charge(&[300]).is_allowed());
    let decision = desk.charge(&[900]);
    let refusal = Refusal::Limited(&decision);
    assert_eq!(decision.remaining(), 700);
    assert_eq!(refusal.retry_after(), Some(12));
}

#[test]
fn what_never_passes_is_told_so_and_has_no_retry_after() {
    let mut desk = Desk::new(NOW, &[("small", "10 per minute")]);
    let decision = desk.charge(&[11]);
    let own = message("Again in {retry_after}.");
    let responder = Responder::default().format(Format::Text);
    let response = responder.refuse(&HeaderMap::new(), Refusal::Limited(&decision), Some(&own));
    assert_eq!(response.status(), 429);
    assert!(!response.headers().contains_key(RETRY_AFTER));
    assert_eq!(response.body(), "This request asks for more than its limit ever allows.");
}

#[test]
fn other_refusals_have_their_own_status_and_no_limit_headers() {
    let path = RequestPath::parse(b"/a%2Fb").unwrap_err();
    let refusals = [(Refusal::Denied, 403), (keyless(), 400), (Refusal::Unreadable(&path), 400)];
    for (refusal, status) in refusals {
        let response = Responder::default().refuse(&HeaderMap::new(), refusal, None);
        assert_eq!(response.status(), status);
        assert!(!response.headers().contains_key("ratelimit"));
        assert!(!response.headers().contains_key(RETRY_AFTER));
        let body: Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(body["status"], status);
        assert_eq!(body["type"], "about:blank");
        assert!(body.get("violated-policies").is_none());
    }
}

#[test]
fn messages_are_escaped_as_their_body_needs() {
    let text = "Zu viele \"Anfragen\" \\ 太多请求\n\u{1}{x}";
    let said = "Zu viele \"Anfragen\" \\ 太多请求\n\u{1}{x}";
    for format in [Format::Problem, Format::Json] {
        let responder = Responder::default().format(format).message(message(text));
        let body: Value = serde_json::from_slice(refuse(&responder, &[]).body()).unwrap();
        let key = if format == Format::Json { "error" } else { "detail" };
        assert_eq!(body[key], said);
    }
    let responder = Responder::default().format(Format::Text).message(message(text));
    let response = refuse(&responder, &[]);
    assert_eq!(response.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
    assert_eq!(response.body(), said);
}

#[test]
fn b149_every_answer_with_limit_headers_exposes_them_to_pages_of_other_origins() {
    let responder = Responder::default();
    let page = [(ORIGIN, "https://app.example")];
    let mut desk = Desk::new(NOW, &[("l", "10 per minute")]);
    let mut allowed = Response::new(());
    responder.tell(&headers(&page), &desk.charge(&[1]), &mut allowed);
    let refused = refuse(&responder, &page);
    for headers in [allowed.headers(), refused.headers()] {
        let exposed = headers[ACCESS_CONTROL_EXPOSE_HEADERS].to_str().unwrap();
        let exposed: Vec<_> = exposed.split(", ").collect();
        for name in ["retry-after", "ratelimit", "ratelimit-policy", "x-ratelimit-reset"] {
            assert!(exposed.contains(&name), "{name} is not among {exposed:?}");
        }
        for name in headers.keys().filter(|name| name.as_str().contains("ratelimit")) {
            assert!(exposed.contains(&name.as_str()), "{name} is not among {exposed:?}");
        }
    }
    let mut to_no_page = Response::new(());
    responder.tell(&HeaderMap::new(), &desk.charge(&[1]), &mut to_no_page);
    for headers in [to_no_page.headers(), refuse(&responder, &[]).headers()] {
        assert!(!headers.contains_key(ACCESS_CONTROL_EXPOSE_HEADERS), "nobody asks for it");
        assert!(headers.contains_key("ratelimit"));
    }
    let quiet = refuse(&Responder::default().unexposed(), &page);
    assert!(!quiet.headers().contains_key(ACCESS_CONTROL_EXPOSE_HEADERS));
}

#[test]
fn b151_a_page_can_read_the_refusal() {
    let origin = (ORIGIN, "https://app.example");
    let any = refuse(&Responder::default(), std::slice::from_ref(&origin));
    assert_eq!(any.headers()[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
    assert!(!any.headers().contains_key(ACCESS_CONTROL_ALLOW_CREDENTIALS));
    let same_origin = refuse(&Responder::default(), &[]);
    assert!(!same_origin.headers().contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));

    let named = Responder::default().cors(Cors::origins(["https://app.example"]).unwrap());
    let response = refuse(&named, &[origin]);
    assert_eq!(response.headers()[ACCESS_CONTROL_ALLOW_ORIGIN], "https://app.example");
    assert_eq!(response.headers()[ACCESS_CONTROL_ALLOW_CREDENTIALS], "true");
    assert_eq!(response.headers()[VARY], "origin");
    let response = refuse(&named, &[(ORIGIN, "https://app.example.evil")]);
    assert!(!response.headers().contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
    assert_eq!(response.headers()[VARY], "origin");

    let nobody = refuse(&Responder::default().cors(Cors::nobody()), &[(ORIGIN, "https://a.b")]);
    assert!(!nobody.headers().contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
}

#[test]
fn an_origin_is_written_as_browsers_send_it() {
    for wrong in ["app.example", "https://", "https://app.example/", "https://*.example", "*", ""] {
        let error = Cors::origins([wrong]).unwrap_err().to_string();
        assert!(error.ends_with(&format!("found `{wrong}`")), "{error}");
    }
}

#[test]
fn a_grpc_call_is_told_in_trailers_only() {
    for media_type in ["application/grpc", "application/grpc+proto", "application/grpc-web+proto"] {
        let responder = Responder::default().message(message("100 % zu früh: {retry_after}"));
        let response = refuse(&responder, &[(CONTENT_TYPE, media_type)]);
        assert_eq!(response.status(), 200);
        assert!(response.body().is_empty());
        let headers = response.headers();
        assert_eq!(headers[CONTENT_TYPE], media_type);
        assert_eq!(headers["grpc-status"], "8");
        assert_eq!(headers["grpc-message"], "100 %25 zu fr%C3%BCh: 3m");
        assert_eq!(headers["grpc-retry-pushback-ms"], "180000");
        assert_eq!(headers["ratelimit"], "\"login\";r=0;t=180, \"wide\";r=99;t=1");
    }
    assert_eq!(refuse(&Responder::default(), &[(CONTENT_TYPE, "application/json")]).status(), 429);
}

#[test]
fn grpc_refusals_of_other_kinds_have_their_own_code() {
    let request = headers(&[(CONTENT_TYPE, "application/grpc")]);
    let answer = |refusal| Responder::default().refuse(&request, refusal, None);
    assert_eq!(answer(Refusal::Denied).headers()["grpc-status"], "7");
    assert_eq!(answer(keyless()).headers()["grpc-status"], "3");
    let mut desk = Desk::new(NOW, &[("small", "10 per minute")]);
    let response = answer(Refusal::Limited(&desk.charge(&[11])));
    assert_eq!(response.headers()["grpc-retry-pushback-ms"], "-1", "never retry");
}

#[test]
fn only_retry_after_is_told_without_a_dialect() {
    let response = refuse(&Responder::default().dialects(Dialects::none()), &[]);
    assert_eq!(response.headers()[RETRY_AFTER], "180");
    assert!(response.headers().keys().all(|name| !name.as_str().contains("ratelimit")));
    let spoken = Dialects::new([Dialect::Envoy]).unwrap();
    let response = refuse(&Responder::default().dialects(spoken), &[]);
    assert_eq!(response.headers()["x-envoy-ratelimited"], "true");
}
