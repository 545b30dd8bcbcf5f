//! Selection costs no allocation on its ordinary way.

#![allow(clippy::unwrap_used, reason = "a test's helpers")]

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};

use tollgate_policy::config::{Reading, Source};
use tollgate_policy::{Given, Policy, Request, Scratch, Selection};

/// A request that lends what it has.
struct Lent<'r> {
    path: &'r str,
    key: &'r [u8],
}

impl Request for Lent<'_> {
    fn method(&self) -> &str {
        "POST"
    }
    fn path(&self) -> &str {
        self.path
    }
    fn raw_path(&self) -> &str {
        self.path
    }
    fn host(&self) -> Option<&str> {
        Some("a.example")
    }
    fn client(&self) -> Option<IpAddr> {
        Some(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
    fn is_peer_trusted(&self) -> bool {
        true
    }
    fn user(&self) -> Option<&[u8]> {
        Some(b"ann")
    }
    fn header(&self, _: &str) -> Given<'_> {
        Given::One(Cow::Borrowed(self.key))
    }
    fn query(&self, _: &str) -> Given<'_> {
        Given::Nothing
    }
    fn cookie(&self, _: &str) -> Given<'_> {
        Given::Nothing
    }
}

const FILE: &str = r#"
[allow]
client = "10.0.0.0/8"
[deny]
"header:x-api-key" = "stolen"
[[limit]]
name = "client"
rate = "100/s"
[[limit]]
name = "plan"
rate = "100/s"
by = ["header:x-api-key", "route"]
overrides = { k = "200/s" }
[[limit]]
name = "api"
rate = ["100/s", "1000/m"]
when = "/api/*"
by = ["user", "host", "path", "method"]
[[limit]]
name = "login"
rate = "100/s"
when = "POST /api/{id}"
by = "user"
"#;

#[test]
fn four_limits_with_keys_of_128_bytes_are_selected_without_allocation() {
    let reading = Reading::new(Source::new("limits.toml", FILE).unwrap(), &|_| None);
    let policy = Policy::read(&mut reading.root()).unwrap();
    let charges = |request: &Lent<'_>| {
        let mut scratch = Scratch::new();
        let selection = policy.select(request, &mut scratch);
        let Selection::Limits(matches) = selection else { return 0 };
        matches.iter().map(|matched| matched.charge().cost).sum()
    };
    let key = [b'k'; 90];
    for request in [Lent { path: "/api/7", key: &key }, Lent { path: "/api/8", key: b"k" }] {
        let mut charged = 0;
        let used = allocation_counter::measure(|| charged = charges(&request));
        assert_eq!((charged, used.count_total), (5, 0));
    }
}

#[test]
fn a_value_of_a_mebibyte_is_not_copied() {
    let reading = Reading::new(Source::new("limits.toml", FILE).unwrap(), &|_| None);
    let policy = Policy::read(&mut reading.root()).unwrap();
    let key = vec![b'k'; 1 << 20];
    let used = allocation_counter::measure(|| {
        let mut scratch = Scratch::new();
        let request = Lent { path: "/", key: &key };
        assert!(matches!(policy.select(&request, &mut scratch), Selection::Limits(_)));
    });
    assert_eq!(used.count_total, 0);
}
