use std::borrow::Cow;
use std::net::IpAddr;

use tollgate_core::Limit;

use super::*;
use crate::limit_spec::LimitSpec;
use crate::policy::Policy;
use crate::request::Request;

/// A request with one value for everything.
struct Of(&'static str);

impl Request for Of {
    fn method(&self) -> &str {
        "GET"
    }
    fn path(&self) -> &str {
        "/a/b"
    }
    fn raw_path(&self) -> &str {
        "/a/b"
    }
    fn host(&self) -> Option<&str> {
        Some(self.0)
    }
    fn client(&self) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 3, 7]))
    }
    fn is_peer_trusted(&self) -> bool {
        false
    }
    fn user(&self) -> Option<&[u8]> {
        None
    }
    fn header(&self, _: &str) -> Given<'_> {
        Given::One(Cow::Borrowed(self.0.as_bytes()))
    }
    fn query(&self, _: &str) -> Given<'_> {
        Given::One(Cow::Borrowed(self.0.as_bytes()))
    }
    fn cookie(&self, _: &str) -> Given<'_> {
        Given::Nothing
    }
}

/// How many of ten thousand limits a request is compared with.
fn compared(when: impl Fn(u32) -> When, asked: &'static str) -> usize {
    let limits = (0..10_000).map(|nth| {
        let limit = Limit::new(&format!("l{nth}"), "1/s".parse().unwrap()).unwrap();
        LimitSpec::new(limit).when(when(nth))
    });
    let policy = limits.fold(Policy::builder(), |policy, limit| policy.limit(limit));
    policy.build().unwrap().compared(&Of(asked))
}

#[test]
fn a_request_is_compared_with_few_of_ten_thousand_limits_that_differ_in_one_thing() {
    let any = When::default;
    for (differing, found) in [
        (compared(|n| any().host(&format!("h{n}.example")).unwrap(), "h77.example:81"), 1),
        (compared(|n| any().host(&format!("*.h{n}.example")).unwrap(), "a.b.h77.example"), 1),
        (compared(|n| any().header("x-id", &format!("v{n}")).unwrap(), "v77"), 1),
        (compared(|n| any().query("id", &format!("v{n}")).unwrap(), "v77"), 1),
        (compared(|n| any().client(&format!("10.{}.{}.0/24", n / 256, n % 256)).unwrap(), "-"), 1),
        (compared(|n| any().header("x-id", &format!("v{n}")).unwrap(), "other"), 0),
    ] {
        assert_eq!(differing, found);
    }
}

#[test]
fn each_limit_stands_under_the_condition_that_fewest_share() {
    // All share the path, a header's presence and the method; a hundred a host; nobody the query.
    let when = |n: u32| {
        let when = When::default().path("/a/*").unwrap().with_header("x-all").unwrap();
        let when = when.host(&format!("h{}.example", n / 100)).unwrap();
        when.query("id", &format!("v{n}")).unwrap().method("GET").unwrap()
    };
    assert_eq!(compared(when, "v77"), 1);
    let without_query = |n: u32| {
        let when = When::default().path("/a/*").unwrap().with_header("x-all").unwrap();
        when.host(&format!("h{}.example", n / 100)).unwrap()
    };
    assert_eq!(compared(without_query, "h7.example"), 100);
}

#[test]
fn a_host_of_many_labels_costs_no_more_than_the_longest_that_was_written() {
    let long: &'static str = Box::leak("a.".repeat(100_000).into_boxed_str());
    let started = compared(|n| When::default().host(&format!("*.h{n}.example")).unwrap(), long);
    assert_eq!(started, 0);
}
