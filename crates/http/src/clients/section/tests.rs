use http::HeaderMap;
use tollgate_policy::config::{Problems, Reading, Source as Text};

use super::*;
use crate::client::Peer;

fn read(text: &str) -> (Clients, Problems) {
    let source = Text::new("f.toml", format!("[client]\n{text}")).unwrap();
    let reading = Reading::new(source, &|_| None);
    let mut root = reading.root();
    let clients = Clients::read(root.section("client").unwrap());
    drop(root);
    (clients, reading.finish())
}

fn problem(text: &str) -> String {
    let (_, problems) = read(text);
    assert_eq!(problems.iter().count(), 1, "{problems}");
    problems.to_string()
}

fn client(text: &str, header: (&'static str, &str)) -> String {
    let (clients, problems) = read(text);
    assert!(problems.is_empty(), "{problems}");
    let headers = HeaderMap::from_iter([(header.0.parse().unwrap(), header.1.parse().unwrap())]);
    let peer = Peer::Address([10, 0, 0, 1].into());
    clients.rule.client(peer, &headers).unwrap().address().unwrap().to_string()
}

#[test]
fn by_default_the_client_is_the_peer() {
    assert_eq!(client("", ("x-forwarded-for", "192.0.2.1")), "10.0.0.1");
}

#[test]
fn proxies_and_hops_read_x_forwarded_for_unless_said() {
    let proxies = "trusted_proxies = [\"10.0.0.0/8\"]\n";
    assert_eq!(client(proxies, ("x-forwarded-for", "192.0.2.1")), "192.0.2.1");
    assert_eq!(client("trusted_hops = 1", ("x-forwarded-for", "192.0.2.1")), "192.0.2.1");
    let real_ip = format!("{proxies}source = \"x-real-ip\"");
    assert_eq!(client(&real_ip, ("x-real-ip", "192.0.2.1")), "192.0.2.1");
    assert_eq!(client(&real_ip, ("x-forwarded-for", "192.0.2.1")), "10.0.0.1");
}

#[test]
fn the_other_keys_are_read() {
    let (clients, problems) = read(
        "trusted_proxies = \"10.0.0.0/8\"\non_bad = \"deny\"\nipv6_prefix = 48\n\
         user_header = \"X-User\"\n",
    );
    assert!(problems.is_empty(), "{problems}");
    assert_eq!(clients.ipv6_prefix, Some(48));
    assert_eq!(clients.user_header, Some(HeaderName::from_static("x-user")));
    let headers =
        HeaderMap::from_iter([("x-forwarded-for".parse().unwrap(), "bad".parse().unwrap())]);
    assert!(clients.rule.client(Peer::Address([10, 0, 0, 1].into()), &headers).is_err());
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    assert!(problem("trusted_proxies = [\"10.0.0.0/33\"]").contains("10.0.0.0/33"));
    let both = "trusted_proxies = [\"10.0.0.0/8\"]\ntrusted_hops = 1";
    assert!(problem(both).contains("contradict each other"));
    assert!(problem("source = \"x-forwarded-for\"").contains("trusted proxies or hops"));
    assert!(problem("user_header = \"x-user\"").contains("any client could name itself"));
    assert!(problem("ipv6_prefix = 16").contains("32 to 128"));
    assert!(problem("trusted_proxy = 1").contains("did you mean `trusted_proxies`?"));
}
