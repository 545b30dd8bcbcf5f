use super::*;

fn networks(texts: &[&'static str]) -> Networks<&'static str> {
    let mut networks = Networks::default();
    for text in texts {
        networks.insert(text.parse().unwrap(), *text);
    }
    networks
}

#[test]
fn the_narrowest_network_speaks() {
    let said = networks(&["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "2001:db8::/32"]);
    let find = |address: &str| said.find(address.parse().unwrap()).copied();
    assert_eq!(find("192.0.2.1"), Some("0.0.0.0/0"));
    assert_eq!(find("10.2.0.0"), Some("10.0.0.0/8"));
    assert_eq!(find("10.1.2.4"), Some("10.1.0.0/16"));
    assert_eq!(find("10.1.2.3"), Some("10.1.2.3"));
    assert_eq!(find("::ffff:10.1.2.3"), Some("10.1.2.3"));
    assert_eq!(find("2001:db8:1::1"), Some("2001:db8::/32"));
    assert_eq!(find("2001:db9::1"), None);
}

#[test]
fn mapped_networks_are_those_of_ipv4_b167() {
    let said = networks(&["::ffff:10.0.0.0/104"]);
    assert!(said.find("10.200.0.1".parse().unwrap()).is_some());
    assert!(said.find("11.0.0.1".parse().unwrap()).is_none());
}

#[test]
fn private_ipv4_ranges_hold_no_ipv6_b167() {
    let said = networks(&["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]);
    for address in ["fe80::1", "fc00::1", "::1", "::a00:1"] {
        assert!(said.find(address.parse().unwrap()).is_none(), "{address}");
    }
}

#[test]
fn what_is_no_network_is_refused_b169() {
    for text in [
        "",
        "10.0.0.0/33",
        "10.0.0/8",
        "10.0.0.0/",
        "::/129",
        "fe80::1%eth0",
        "10.0.0.1 ",
        "a",
        "::ffff:10.0.0.0/64",
    ] {
        assert_eq!(text.parse::<Network>(), Err(NetworkError), "{text}");
    }
}
