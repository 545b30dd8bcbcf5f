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

fn client(text: &str, header: (&str, &str)) -> String {
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

/// The code cells of a row; a word without quotes stands for itself.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect()
}

#[test]
fn every_example_of_the_documentation_is_true() {
    let text = include_str!("../../../docs/client.md");
    let (mut section, mut examples) = (String::new(), 0);
    for block in text.split("\n\n") {
        if let Some(file) = block.strip_prefix("```toml\n[client]\n") {
            section = file.trim_end_matches("```").to_owned();
            assert!(read(&section).1.is_empty(), "{section}");
        }
        let Some(rows) = block.strip_prefix("| connects |") else { continue };
        let clients = read(&section).0;
        for row in rows.lines().skip(2) {
            let [peer, sent, client, ..] = *cells(row) else { panic!("three cells: {row}") };
            let mut headers = HeaderMap::new();
            if let Some((name, value)) = sent.split_once(": ") {
                headers.insert(HeaderName::try_from(name).unwrap(), value.parse().unwrap());
            }
            let peer: std::net::IpAddr = peer.parse().unwrap();
            let found = match clients.rule.client(peer.into(), &headers) {
                Ok(client) => client.address().unwrap().to_string(),
                Err(_) => "nobody".to_owned(),
            };
            assert_eq!(found, client, "{section}{row}");
            examples += 1;
        }
    }
    let begins_with_a_peer = |line: &&str| cells(line)[0].parse::<std::net::IpAddr>().is_ok();
    assert_eq!(examples, text.lines().filter(begins_with_a_peer).count(), "none was passed over");
}

#[test]
fn every_edge_of_the_documentation_is_a_source() {
    let text = include_str!("../../../docs/client.md");
    let edges = text.split_once("| `source` |").unwrap().1.split("\n\n").next().unwrap();
    for row in edges.lines().skip(2) {
        let name = cells(row)[0];
        let section = format!("trusted_proxies = \"10.0.0.0/8\"\nsource = \"{name}\"");
        assert_eq!(client(&section, (name, "192.0.2.1")), "192.0.2.1", "{row}");
    }
}
