use http::Request as HttpRequest;
use proptest::prelude::*;

use super::*;

fn asking(uri: &str, headers: &[(&str, &str)]) -> HttpRequest<()> {
    let request = headers.iter().fold(HttpRequest::builder().uri(uri), |request, (name, value)| {
        request.header(*name, *value)
    });
    request.body(()).unwrap()
}

fn one(value: &str) -> Given<'static> {
    Given::One(value.as_bytes().to_vec().into())
}

#[test]
fn a_host_has_one_spelling() {
    let host = |uri: &str, lines: &[&str]| {
        let lines: Vec<_> = lines.iter().map(|line| ("host", *line)).collect();
        let request = asking(uri, &lines);
        Head::of(&request).host().map(str::to_owned)
    };
    for spelling in ["a.example", "A.Example", "a.example.", "a.example:80", "a.example.:443"] {
        assert_eq!(host("/", &[spelling]).as_deref(), Some("a.example"), "{spelling}");
    }
    assert_eq!(host("/", &["a.example:8080"]).as_deref(), Some("a.example:8080"));
    assert_eq!(host("/", &["[2001:DB8::1]:80"]).as_deref(), Some("[2001:db8::1]"));
    assert_eq!(host("http://b.example/x", &["a.example"]).as_deref(), Some("b.example"));
    assert_eq!(host("/", &["a.example", "b.example"]), None, "two hosts are none");
    assert_eq!(host("/", &[]), None);
}

#[test]
fn a_query_parameter_is_read_as_forms_are() {
    let query = |query: &str, name: &str| {
        let request = asking(&format!("/?{query}"), &[]);
        match Head::of(&request).query(name) {
            Given::One(value) => Given::One(value.into_owned().into()),
            Given::Nothing => Given::Nothing,
            Given::Several => Given::Several,
        }
    };
    assert_eq!(query("key=a+b%20c", "key"), one("a b c"));
    assert_eq!(query("k%65y=1", "key"), one("1"), "a name may be escaped too");
    assert_eq!(query("key", "key"), one(""));
    assert_eq!(query("other=1&key=2", "key"), one("2"));
    assert_eq!(query("key=1&key=1", "key"), Given::Several);
    assert_eq!(query("Key=1", "key"), Given::Nothing, "case matters");
    assert_ne!(query("key=%ff", "key"), query("key=%fe", "key"), "not UTF-8, and still two");
}

#[test]
fn a_cookie_is_read_with_and_without_quotes() {
    let cookie = |lines: &[&str]| {
        let lines: Vec<_> = lines.iter().map(|line| ("cookie", *line)).collect();
        let request = asking("/", &lines);
        match Head::of(&request).cookie("sid") {
            Given::One(value) => Given::One(value.into_owned().into()),
            Given::Nothing => Given::Nothing,
            Given::Several => Given::Several,
        }
    };
    assert_eq!(cookie(&["sid=abc"]), one("abc"));
    assert_eq!(cookie(&["a=1; sid=\"abc\";b=2"]), one("abc"));
    assert_eq!(cookie(&["a=1", "sid=a=b"]), one("a=b"), "HTTP/2 may send a line for each");
    assert_eq!(cookie(&["sid=1; sid=2"]), Given::Several);
    for spelling in ["k1", "%6b1", "\"k1\"", "\"\\1531\"", "\"\\k1\""] {
        assert_eq!(cookie(&[&format!("sid={spelling}")]), one("k1"), "{spelling}");
    }
    assert_eq!(cookie(&["SID=1; xsid=2; sid"]), Given::Nothing);
}

#[test]
fn a_header_given_twice_has_no_value() {
    let request = asking("/", &[("x-key", " a "), ("x-two", "a"), ("x-two", "a")]);
    let head = Head::of(&request);
    assert_eq!(head.header("x-key"), one("a"));
    assert_eq!(head.header("x-two"), Given::Several);
    assert_eq!(head.header("x-none"), Given::Nothing);
}

#[test]
fn a_target_without_a_path_is_matched_as_the_root() {
    for uri in ["*", "example.com:443", "http://example.com"] {
        let request = asking(uri, &[]);
        let mut head = Head::of(&request);
        head.match_path(Case::Kept);
        assert_eq!(head.path(), "/", "{uri}");
        assert!(head.fault.is_none());
    }
}

proptest! {
    #[test]
    fn what_is_matched_is_what_the_policy_says(target in "/[a-cA-C%2./;]{0,12}(\\?[a-c=&]{0,4})?") {
        let Ok(uri) = target.parse::<Uri>() else { return Ok(()) };
        let target = uri.path_and_query().unwrap().as_str().to_owned();
        let request = HttpRequest::builder().uri(uri).body(()).unwrap();
        for case in [Case::Kept, Case::Folded] {
            let mut head = Head::of(&request);
            head.match_path(case);
            match RequestPath::parse(target.as_bytes()) {
                Ok(path) => prop_assert_eq!(head.path(), &*path.matched(case)),
                Err(_) => prop_assert!(head.fault.is_some()),
            }
        }
    }
}

#[test]
fn a_certificate_is_the_one_that_was_shown_and_no_header_stands_for_it() {
    let mut request = asking("/", &[("certificate", "spiffe://shop/root")]);
    assert_eq!(Head::of(&request).certificate(), None);
    request.extensions_mut().insert(Certificate::of("spiffe://shop/cart"));
    assert_eq!(Head::of(&request).certificate(), Some(b"spiffe://shop/cart".as_slice()));
}
