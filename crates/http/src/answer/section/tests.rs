use tollgate_policy::config::{Problems, Reading, Source};

use super::super::Detail;
use super::*;

fn read(text: &str) -> (Responder, Problems) {
    let source = Source::new("f.toml", format!("[answer]\n{text}")).unwrap();
    let reading = Reading::new(source, &|_| None);
    let mut root = reading.root();
    let responder = Responder::read(root.section("answer").unwrap());
    drop(root);
    (responder, reading.finish())
}

fn problem(text: &str) -> String {
    let (_, problems) = read(text);
    assert_eq!(problems.iter().count(), 1, "{problems}");
    problems.to_string()
}

#[test]
fn every_key_is_read() {
    let (responder, problems) = read(
        "headers = [\"ietf-draft6\", \"x-ratelimit-delta\"]\nmembers = \"decisive\"\n\
         body = \"text\"\nmessage = \"In {retry_after}.\"\ncors = [\"https://a.example\"]\n\
         expose = false\n\
         debug = true\ncosts = \"hidden\"\n",
    );
    assert!(problems.is_empty(), "{problems}");
    let spoken = Dialects::new([Dialect::IetfDraft6, Dialect::XRateLimitDelta]).unwrap();
    assert_eq!(responder.dialects, spoken.members(Members::Decisive));
    assert_eq!(responder.format, Format::Text);
    assert_eq!(responder.message, Some("In {retry_after}.".parse().unwrap()));
    assert_eq!(responder.cors, Cors::origins(["https://a.example"]).unwrap());
    assert_eq!(responder.exposed, None);
    assert_eq!(responder.detail, Detail::Debug);
    assert_eq!(responder.costs, Costs::Hidden);
}

#[test]
fn an_empty_section_is_the_default() {
    let (responder, problems) = read("");
    assert!(problems.is_empty());
    assert_eq!(format!("{responder:?}"), format!("{:?}", Responder::default()));
}

#[test]
fn single_words_are_read_without_a_list() {
    assert_eq!(read("headers = \"none\"").0.dialects, Dialects::none());
    assert_eq!(read("headers = \"envoy\"").0.dialects, Dialects::new([Dialect::Envoy]).unwrap());
    assert_eq!(read("cors = \"none\"").0.cors, Cors::nobody());
    assert_eq!(read("cors = \"any\"").0.cors, Cors::any());
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    assert!(problem("headers = \"ietf\"").contains("`ietf-c`"));
    assert!(problem("headers = [\"ietf-c\", \"none\"]").contains("`none` alone"));
    assert!(problem("headers = [\"ietf-c\", \"ietf-draft7\"]").contains("another dialect"));
    assert!(problem("body = \"problme\"").contains("did you mean `problem`?"));
    assert!(problem("message = \"in {retry_afer}\"").contains("{retry_after}"));
    assert!(problem("cors = \"app.example\"").contains("found `app.example`"));
    assert!(problem("heders = \"none\"").contains("f.toml:2:1"));
}
