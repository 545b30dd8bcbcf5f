use http::{HeaderMap, Response, StatusCode};
use sfv::{BareItem, Dictionary, Item, List, ListEntry, Parser};
use tollgate_core::{Effect, Limit, Resolution};

use super::*;
use crate::desk::Desk;

/// 2026-11-29 20:00:00.5 UTC.
const NOW: u64 = 1_796_068_800_500_000;

fn speak(dialects: &[Dialect], decision: &Decision<'_>) -> HeaderMap {
    let mut response = Response::new(());
    write(&Dialects::new(dialects.iter().copied()).unwrap(), decision, &mut response);
    response.into_parts().0.headers
}

fn write(dialects: &Dialects, decision: &Decision<'_>, response: &mut Response<()>) {
    let terminology = Terminology::of(decision.answers().map(|answer| answer.limit()));
    if let Some(said) = dialects.tell(&terminology, decision) {
        let blank = Blank::of(dialects.headers());
        Lines::write(response, &blank, |lines| dialects.write(&said, &terminology, lines));
    }
}

fn lines(headers: &HeaderMap) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap())).collect()
}

#[test]
fn every_dialect_says_what_its_table_says() {
    let golden = [
        (
            Dialect::IetfC,
            "ratelimit-policy: \"burst\";q=20;w=12, \"daily\";q=1000;w=86400\n\
             ratelimit: \"burst\";r=17;t=2, \"daily\";r=997;t=260\n",
        ),
        (
            Dialect::IetfDraft7,
            "ratelimit-policy: 20;w=12, 1000;w=86400\n\
             ratelimit: limit=20, remaining=17, reset=2\n",
        ),
        (
            Dialect::IetfDraft6,
            "ratelimit-policy: 20;w=12, 1000;w=86400\nratelimit-limit: 20\n\
             ratelimit-remaining: 17\nratelimit-reset: 2\n",
        ),
        (
            Dialect::XRateLimitEpoch,
            "x-ratelimit-limit: 20\nx-ratelimit-remaining: 17\nx-ratelimit-reset: 1796068803\n",
        ),
        (
            Dialect::XRateLimitDelta,
            "x-ratelimit-limit: 20\nx-ratelimit-remaining: 17\nx-ratelimit-reset: 2\n",
        ),
        (
            Dialect::XRateHyphenLimitEpoch,
            "x-rate-limit-limit: 20\nx-rate-limit-remaining: 17\nx-rate-limit-reset: 1796068803\n",
        ),
        (
            Dialect::Envoy,
            "x-ratelimit-limit: 20, 20;w=12;name=\"burst\", 1000;w=86400;name=\"daily\"\n\
             x-ratelimit-remaining: 17\nx-ratelimit-reset: 2\n",
        ),
    ];
    assert_eq!(golden.map(|(dialect, _)| dialect), Dialect::ALL, "every dialect has a row");
    for (dialect, expected) in golden {
        let mut desk =
            Desk::new(NOW, &[("burst", "100 per minute burst 20"), ("daily", "1000 per day")]);
        let headers = speak(&[dialect], &desk.charge(&[3, 3]));
        assert_eq!(lines(&headers), expected, "{dialect}");
        for name in headers.keys() {
            assert!(dialect.headers().contains(name), "{dialect} announces {name}");
        }
        assert_eq!(dialect.name().parse(), Ok(dialect));
    }
}

#[test]
fn an_answer_without_headers_is_told_what_one_with_others_is() {
    let sets = Dialect::ALL.map(|dialect| vec![dialect]);
    let both = vec![Dialect::Envoy, Dialect::IetfC];
    for spoken in sets.into_iter().chain([both, Vec::new()]) {
        let dialects = Dialects::new(spoken).unwrap();
        let limits = [("burst", "9 per minute"), ("~watch", "1 per minute")];
        let mut desk = Desk::new(NOW, &limits);
        // Passed, passed with a shadow's refusal, refused, refused for ever, and nothing to tell.
        for costs in [[1, 1], [1, 1], [9, 0], [10, 0], [0, 0]] {
            let decision = desk.charge(&costs);
            let (mut empty, mut begun) = (Response::new(()), Response::new(()));
            begun.headers_mut().insert("x-other", 1.into());
            write(&dialects, &decision, &mut empty);
            write(&dialects, &decision, &mut begun);
            let told = format!("x-other: 1\n{}", lines(empty.headers()));
            assert_eq!(lines(begun.headers()), told, "{dialects:?} {costs:?}");
        }
    }
}

#[test]
fn a_refusal_is_told_in_every_dialect_with_its_retry_time() {
    for dialect in Dialect::ALL {
        let mut desk = Desk::new(NOW, &[("login", "5 per 15 minutes")]);
        assert!(desk.charge(&[5]).is_allowed());
        desk.advance(500_000);
        let text = lines(&speak(&[dialect], &desk.charge(&[1])));
        // The next of five comes after 180 s, 179.5 from now.
        let reset = if text.contains("1796068981") { "1796068981" } else { "180" };
        assert!(text.contains(reset), "{dialect}: {text}");
    }
}

#[test]
fn ietf_c_parses_back_to_what_was_written() {
    let mut desk = Desk::new(
        NOW,
        &[("quoted \"and\" back\\slash", "10/s"), ("naïve", "10 per hour burst 12"), ("p", "1/s")],
    );
    let headers = speak(&[Dialect::IetfC], &desk.charge(&[2, 2, 1]));
    let parse = |name| Parser::new(headers[name].as_bytes()).parse::<List>().unwrap();
    let mut names = Vec::new();
    for member in parse("ratelimit-policy") {
        let ListEntry::Item(Item { bare_item: BareItem::String(name), params }) = member else {
            panic!("a string");
        };
        names.push(name.as_str().to_owned());
        assert!(params["q"].as_integer().unwrap() > sfv::Integer::from(0));
        assert!(params["w"].as_integer().unwrap() > sfv::Integer::from(0));
    }
    assert_eq!(names, ["quoted \"and\" back\\slash", "na%C3%AFve", "p"]);
    for (member, name) in parse("ratelimit").into_iter().zip(names) {
        let ListEntry::Item(item) = member else { panic!("an item") };
        assert_eq!(item.bare_item.as_string().unwrap().as_str(), name);
        assert!(item.params["r"].as_integer().unwrap() >= sfv::Integer::from(0));
        assert!(item.params["t"].as_integer().unwrap() > sfv::Integer::from(0));
    }
}

#[test]
fn the_older_drafts_parse_back_too() {
    let mut desk = Desk::new(NOW, &[("a", "10/s"), ("b", "10 per minute"), ("c", "50 per minute")]);
    let headers = speak(&[Dialect::IetfDraft7], &desk.charge(&[1, 1, 1]));
    let fields = Parser::new(headers["ratelimit"].as_bytes()).parse::<Dictionary>().unwrap();
    assert_eq!(
        fields.keys().map(|key| key.as_str()).collect::<Vec<_>>(),
        ["limit", "remaining", "reset"]
    );
    let policies = Parser::new(headers["ratelimit-policy"].as_bytes()).parse::<List>().unwrap();
    let quotas = policies.into_iter().map(|member| match member {
        ListEntry::Item(item) => item.bare_item.as_integer().unwrap(),
        ListEntry::InnerList(_) => panic!("an item"),
    });
    let expected = [10, 50].map(sfv::Integer::from);
    assert_eq!(quotas.collect::<Vec<_>>(), expected, "no two policies share a quota");
}

#[test]
fn numbers_stay_within_a_structured_field() {
    let quota = "2000000000000000 per second".parse().unwrap();
    let large = Limit::builder("large", quota).resolution(Resolution::Seconds).build().unwrap();
    let mut desk = Desk::of(1 << 53, [(large, Effect::Enforce)]);
    let headers = speak(&[Dialect::IetfC], &desk.charge(&[1]));
    assert!(headers["ratelimit-policy"].to_str().unwrap().contains("q=999999999999999;"));
    assert!(headers["ratelimit"].to_str().unwrap().contains("r=999999999999999;"));
}

#[test]
fn b144_single_values_speak_of_the_limit_that_refuses() {
    let limits = [("requests", "100 per minute"), ("tokens", "1000 per minute")];
    let mut desk = Desk::new(NOW, &limits);
    assert!(desk.charge(&[10, 1000]).is_allowed());
    let headers = speak(&[Dialect::XRateLimitDelta], &desk.charge(&[0, 1]));
    assert_eq!(headers["x-ratelimit-limit"], "1000");
    assert_eq!(headers["x-ratelimit-remaining"], "0");

    let mut desk = Desk::new(NOW, &limits);
    let headers = speak(&[Dialect::XRateLimitDelta], &desk.charge(&[10, 1]));
    assert_eq!(headers["x-ratelimit-limit"], "100", "with nothing refused, the least left");
    assert_eq!(headers["x-ratelimit-remaining"], "90");
}

#[test]
fn b140_the_last_of_a_bucket_tells_when_the_next_comes() {
    let mut desk = Desk::new(NOW, &[("one", "1 per second")]);
    let headers = speak(&[Dialect::IetfC], &desk.charge(&[1]));
    assert_eq!(headers["ratelimit"], "\"one\";r=0;t=1");
}

#[test]
fn b134_no_number_is_negative_and_no_wait_zero() {
    for micros in [0, 1, 999_999, 1_000_000, 59_999_999, 60_000_000, 60_000_001] {
        let mut desk = Desk::new(NOW, &[("m", "1 per minute")]);
        assert!(desk.charge(&[1]).is_allowed());
        desk.advance(micros);
        let decision = desk.charge(&[1]);
        let headers = speak(&[Dialect::XRateLimitDelta], &decision);
        let reset: u64 = headers["x-ratelimit-reset"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&reset), "{reset} after {micros} µs");
    }
}

#[test]
fn what_never_passes_has_no_time() {
    let mut desk = Desk::new(NOW, &[("small", "10 per minute")]);
    let headers = speak(&[Dialect::IetfC], &desk.charge(&[11]));
    assert_eq!(headers["ratelimit"], "\"small\";r=10");
    let mut desk = Desk::new(NOW, &[("none", "0 per hour")]);
    let headers = speak(&[Dialect::IetfC], &desk.charge(&[1]));
    assert_eq!(headers["ratelimit-policy"], "\"none\";q=0;w=3600");
    assert_eq!(headers["ratelimit"], "\"none\";r=0");
}

#[test]
fn only_the_deciding_limit_is_named_when_so_asked() {
    let mut desk = Desk::new(NOW, &[("wide", "100 per minute"), ("narrow", "5 per minute")]);
    let dialects = Dialects::default().members(Members::Decisive);
    let mut response = Response::new(());
    write(&dialects, &desk.charge(&[1, 1]), &mut response);
    assert_eq!(response.headers()["ratelimit-policy"], "\"narrow\";q=5;w=60");
    assert_eq!(response.headers()["ratelimit"], "\"narrow\";r=4;t=12");
    assert_eq!(response.headers()["x-ratelimit-limit"], "5");
}

#[test]
fn headers_of_an_inner_limiter_stay_whole_when_they_leave_less() {
    for dialect in Dialect::ALL.into_iter().skip(1) {
        for (inner_left, outer_left) in [(3, 7), (7, 3), (5, 5)] {
            let mut inner = Desk::new(NOW, &[("inner", "10 per minute")]);
            let mut outer = Desk::new(NOW, &[("outer", "20 per hour")]);
            let mut response = Response::new(());
            let dialects = Dialects::new([dialect]).unwrap();
            write(&dialects, &inner.charge(&[10 - inner_left]), &mut response);
            let inner = lines(response.headers());
            write(&dialects, &outer.charge(&[20 - outer_left]), &mut response);
            let both = lines(response.headers());
            if inner_left <= outer_left {
                assert_eq!(both, inner, "{dialect}");
            } else {
                assert_ne!(both, inner, "{dialect}");
                assert!(!both.contains("10"), "{dialect} speaks of two limits: {both}");
            }
        }
    }
}

#[test]
fn lists_of_an_inner_limiter_are_added_to() {
    let mut inner = Desk::new(NOW, &[("inner", "10 per minute")]);
    let mut outer = Desk::new(NOW, &[("outer", "20 per hour")]);
    let mut response = Response::new(());
    let dialects = Dialects::new([Dialect::IetfC]).unwrap();
    write(&dialects, &inner.charge(&[1]), &mut response);
    write(&dialects, &outer.charge(&[1]), &mut response);
    let members: Vec<_> = response.headers().get_all("ratelimit").iter().collect();
    assert_eq!(members, ["\"inner\";r=9;t=6", "\"outer\";r=19;t=180"]);
}

#[test]
fn a_refusal_of_an_inner_limiter_is_not_spoken_over() {
    let mut outer = Desk::new(NOW, &[("outer", "20 per hour")]);
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert("x-ratelimit-remaining", 5.into());
    write(&Dialects::default(), &outer.charge(&[19]), &mut response);
    assert_eq!(response.headers()["x-ratelimit-remaining"], "5");
    assert!(!response.headers().contains_key("x-ratelimit-limit"));
}

#[test]
fn shadow_limits_are_named_only_when_they_would_refuse() {
    let mut desk = Desk::new(NOW, &[("real", "10 per minute"), ("~watch", "1 per minute")]);
    let headers = speak(&[Dialect::IetfC], &desk.charge(&[1, 1]));
    assert!(!headers.contains_key(&SHADOW));
    let decision = desk.charge(&[1, 1]);
    assert!(decision.is_allowed());
    let mut headers = speak(&[Dialect::IetfC], &decision);
    assert_eq!(headers.remove("x-ratelimit-shadow").unwrap(), "\"watch\"");
    let told = lines(&headers);
    assert!(!told.contains("watch"), "its figures bind nobody: {told}");
    assert_eq!(speak(&[], &decision)["x-ratelimit-shadow"], "\"watch\"", "in no dialect too");
}

#[test]
fn two_dialects_that_write_one_header_are_refused() {
    let clash = Dialects::new([Dialect::IetfC, Dialect::IetfDraft7]).unwrap_err();
    assert_eq!(
        clash.to_string(),
        "`ietf-draft7` writes `ratelimit-policy`, which another dialect beside it writes too"
    );
    assert!(Dialects::new([Dialect::XRateLimitEpoch, Dialect::XRateLimitDelta]).is_err());
    assert!(Dialects::new([Dialect::Envoy, Dialect::Envoy]).is_err());
    assert!(Dialects::new([Dialect::IetfDraft6, Dialect::XRateLimitEpoch]).is_ok());
    assert!("ietf".parse::<Dialect>().unwrap_err().to_string().contains("`ietf-c`"));
}
