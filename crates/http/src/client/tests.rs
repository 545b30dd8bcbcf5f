use std::net::{Ipv6Addr, SocketAddr};

use http::{HeaderName, HeaderValue};
use proptest::prelude::*;

use super::*;

/// The trust of the table: 10.0.0.0/8 and fd00::/8.
fn inside() -> Trust {
    Trust::Proxies(
        ["10.0.0.0/8", "fd00::/8"].map(|text| text.parse().unwrap()).into_iter().collect(),
    )
}

fn hops(hops: u8) -> Trust {
    Trust::Hops(NonZeroU8::new(hops).unwrap())
}

fn rule(source: Source, trust: Trust) -> ClientRule {
    ClientRule::new(source, trust).unwrap()
}

fn header(name: &str) -> Source {
    Source::Header(name.parse().unwrap())
}

fn headers<L: AsRef<[u8]>>(name: &HeaderName, lines: &[L]) -> HeaderMap {
    let value = |line: &L| HeaderValue::from_bytes(line.as_ref()).expect("a header's bytes");
    lines.iter().map(|line| (name.clone(), value(line))).collect()
}

/// Who asks when `peer` connects with these lines in the source's own header.
fn ask<L: AsRef<[u8]>>(source: Source, trust: Trust, peer: &str, lines: &[L]) -> Client {
    let headers = source.header().map(|name| headers(name, lines)).unwrap_or_default();
    rule(source, trust).client(ip(peer).into(), &headers).unwrap()
}

fn address(source: Source, trust: Trust, peer: &str, lines: &[&str]) -> String {
    let client = ask(source, trust, peer, lines);
    client.address().expect("an address").to_string()
}

fn behind_inside(lines: &[&str]) -> Client {
    ask(Source::XForwardedFor, inside(), "10.0.0.1", lines)
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A peer, its lines, and behind trusted networks, one hop and two hops: who asks, and the trail.
type Row = (&'static str, &'static [&'static str], [&'static str; 3], [Trail; 3]);

use Trail::{Absent as A, Followed as F, Ignored as I, Short as S, Stopped as X};

/// Rows 1 to 20 of the vectors in the specification, in its order.
#[rustfmt::skip]
const ROWS: [Row; 20] = {
    const P: &str = "10.0.0.1";
    const C: &str = "198.51.100.7";
    const N: &str = "203.0.113.9";
    const M: &str = "::ffff:10.0.0.1";
    const V6: &str = "2001:db8::7";
    [
        (N, &["1.1.1.1"], [N, "1.1.1.1", N], [I, F, S]),
        (P, &[], [P, P, P], [A, S, S]),
        (P, &["198.51.100.7"], [C, C, P], [F, F, S]),
        (P, &["1.2.3.4, 198.51.100.7"], [C, C, "1.2.3.4"], [F, F, F]),
        (P, &["1.2.3.4, 198.51.100.7, 10.0.0.2"], [C, "10.0.0.2", C], [F, F, F]),
        (P, &["1.2.3.4", "198.51.100.7, 10.0.0.2"], [C, "10.0.0.2", C], [F, F, F]),
        (P, &["10.9.9.9, 10.0.0.2"], ["10.9.9.9", "10.0.0.2", "10.9.9.9"], [F, F, F]),
        (P, &["198.51.100.7, garbage, 10.0.0.2"], ["10.0.0.2", "10.0.0.2", P], [X, F, X]),
        (P, &["198.51.100.7, unknown"], [P, P, C], [X, X, F]),
        (P, &["198.51.100.7:4711"], [C, C, P], [F, F, S]),
        (P, &["[2001:db8::7]:443"], [V6, V6, P], [F, F, S]),
        (P, &["2001:db8::7"], [V6, V6, P], [F, F, S]),
        (P, &["::ffff:198.51.100.7"], [C, C, P], [F, F, S]),
        (M, &["198.51.100.7"], [C, C, P], [F, F, S]),
        (P, &["fe80::1%eth0"], ["fe80::1", "fe80::1", P], [F, F, S]),
        (P, &["1.2.3.4,,198.51.100.7,"], [C, C, "1.2.3.4"], [F, F, F]),
        (P, &["198.51.100.7 10.0.0.2"], [P, P, P], [X, X, S]),
        (P, &["010.0.0.1"], [P, P, P], [X, X, S]),
        (P, &["198.51.100.7, _hidden, 10.0.0.3"], ["10.0.0.3", "10.0.0.3", P], [X, F, X]),
        (P, &["198.51.100.7, 012.0.0.1"], [P, P, C], [X, X, F]),
    ]
};

#[test]
fn every_row_of_the_table_finds_its_client() {
    for (number, (peer, lines, clients, trails)) in (1..).zip(ROWS) {
        let trusts = [inside(), hops(1), hops(2)];
        for ((trust, client), trail) in trusts.into_iter().zip(clients).zip(trails) {
            let found = ask(Source::XForwardedFor, trust.clone(), peer, lines);
            assert_eq!(found.address(), Some(ip(client)), "row {number}, {trust:?}");
            assert_eq!(found.trail(), trail, "row {number}, {trust:?}");
        }
    }
}

#[test]
fn forwarded_is_read_as_rfc_7239_writes_it() {
    let rows: [(&[&str], &str, Trail); 26] = [
        (&["for=198.51.100.7"], "198.51.100.7", F),
        (&["for=\"[2001:db8::7]:4711\";proto=https"], "2001:db8::7", F),
        (&["For=198.51.100.7, for=10.0.0.2"], "198.51.100.7", F),
        (&["for=\"a,b\", for=10.0.0.2"], "10.0.0.2", X),
        (&["for=unknown"], "10.0.0.1", X),
        (&["proto=https"], "10.0.0.1", X),
        (&["for=2001:db8::7"], "10.0.0.1", X),
        (&["for=\"2001:db8::7\""], "10.0.0.1", X),
        (&["for=[2001:db8::7]"], "10.0.0.1", X),
        (&["for=198.51.100.7:80"], "10.0.0.1", X),
        (&["for=\"198.51.100.7:0\""], "198.51.100.7", F),
        (&["for=\"198.51.100.7:99999\""], "198.51.100.7", F),
        (&["for=\"198.51.100.7:_http\""], "198.51.100.7", F),
        (&["for=\"198.51.100.7:_\""], "10.0.0.1", X),
        (&["for=\"198.51.\\100\\.7\""], "198.51.100.7", F),
        (&["for=_hidden, for=10.0.0.2"], "10.0.0.2", X),
        (&["for=198.51.100.7", "by=_x;FOR=10.0.0.2;host=\"a;b,c\\\",\\\\\""], "198.51.100.7", F),
        (&["host=\"a, for=6.6.6.6\\\"\";for=198.51.100.7"], "198.51.100.7", F),
        (&["for=198.51.100.7; proto=http ;by=10.0.0.2"], "198.51.100.7", F),
        (&[";;for=198.51.100.7;", ", ,"], "198.51.100.7", F),
        (&["for=198.51.100.7;for=6.6.6.6"], "10.0.0.1", X),
        (&["for=198.51.100.7;proto"], "10.0.0.1", X),
        (&["for=198.51.100.7;=x"], "10.0.0.1", X),
        (&["for =198.51.100.7"], "10.0.0.1", X),
        (&["for=198.51.100.7 for=6.6.6.6"], "10.0.0.1", X),
        (&["for=\"198.51.100.7"], "10.0.0.1", X),
    ];
    for (lines, client, trail) in rows {
        let found = ask(Source::Forwarded, inside(), "10.0.0.1", lines);
        assert_eq!((found.address(), found.trail()), (Some(ip(client)), trail), "{lines:?}");
    }
}

#[test]
fn an_element_without_for_is_a_hop() {
    let lines = ["for=198.51.100.7, proto=https, for=10.0.0.2"];
    assert_eq!(address(Source::Forwarded, hops(3), "10.0.0.1", &lines), "198.51.100.7");
    assert_eq!(ask(Source::Forwarded, hops(2), "10.0.0.1", &lines).trail(), Trail::Stopped);
}

#[test]
fn an_open_quote_on_the_left_hides_nothing_on_the_right() {
    for forged in
        ["for=\"6.6.6.6", "\"", "x=\"\\\"", "for=\"a\\", "\\\"", "=\"", "for=6.6.6.6;x=\"\""]
    {
        let line = format!("{forged}, for=198.51.100.7;by=\"10.0.0.1:80\", for=\"10.0.0.2\"");
        let found = address(Source::Forwarded, inside(), "10.0.0.1", &[&line]);
        assert_eq!(found, "198.51.100.7", "{forged}");
    }
}

#[test]
fn b159_all_lines_are_one_list() {
    assert_eq!(behind_inside(&["6.6.6.6", "203.0.113.9"]).address(), Some(ip("203.0.113.9")));
    assert_eq!(
        behind_inside(&["6.6.6.6, ,", "", "203.0.113.9,"]).address(),
        Some(ip("203.0.113.9"))
    );
}

#[test]
fn b160_one_more_proxy_changes_no_client() {
    let proxies = ["10.0.0.0/8", "192.0.2.0/24", "2001:db8:cd::/48"];
    let trust = Trust::Proxies(proxies.map(|text| text.parse().unwrap()).into_iter().collect());
    let ask = |line| address(Source::XForwardedFor, trust.clone(), "10.0.0.1", &[line]);
    assert_eq!(ask("198.51.100.7, 192.0.2.1"), "198.51.100.7");
    assert_eq!(ask("198.51.100.7, 192.0.2.1, 2001:db8:cd::2"), "198.51.100.7");
    assert_eq!(ask("10.0.0.9, 192.0.2.1, 192.0.2.2"), "10.0.0.9");
}

#[test]
fn b163_garbage_is_left_of_the_client_or_stops_at_a_proxy() {
    let found = behind_inside(&["{${print(1)}}, 203.0.113.9"]);
    assert_eq!((found.address(), found.trail()), (Some(ip("203.0.113.9")), Trail::Followed));
    let found = behind_inside(&["garbage"]);
    assert_eq!((found.address(), found.trail()), (Some(ip("10.0.0.1")), Trail::Stopped));
    let found = behind_inside(&[&"x".repeat(8 * 1024 - 1)]);
    assert_eq!((found.address(), found.trail()), (Some(ip("10.0.0.1")), Trail::Stopped));
}

#[test]
fn b165_all_spellings_of_an_ipv6_address_are_one_address() {
    let spellings = [
        "2001:db8:0:1::a",
        "2001:DB8:0:1::A",
        "2001:0db8:0000:0001:0:0:0:000a",
        "[2001:db8:0:1::a]:80",
    ];
    for spelling in spellings {
        assert_eq!(behind_inside(&[spelling]).address(), Some(ip("2001:db8:0:1::a")), "{spelling}");
    }
    for zoned in ["fe80::1%eth0", "fe80::1%25eth0", "[fe80::1%2]:443", "fe80::1"] {
        assert_eq!(behind_inside(&[zoned]).address(), Some(ip("fe80::1")), "{zoned}");
    }
    let peer = SocketAddr::V6(std::net::SocketAddrV6::new("fe80::1".parse().unwrap(), 9, 0, 3));
    let client = ClientRule::default().client(peer.into(), &HeaderMap::new()).unwrap();
    assert_eq!(client.address(), Some(ip("fe80::1")));
}

#[test]
fn b166_ipv4_written_as_ipv6_is_that_ipv4_address() {
    for mapped in ["::ffff:192.0.2.1", "::ffff:c000:201", "[::FFFF:192.0.2.1]:1", "192.0.2.1"] {
        assert_eq!(behind_inside(&[mapped]).address(), Some(ip("192.0.2.1")), "{mapped}");
    }
    assert_eq!(behind_inside(&["::ffff:192.0.2.2"]).address(), Some(ip("192.0.2.2")));
    let ordinary = "2001:db8::192.0.2.1";
    assert_eq!(behind_inside(&[ordinary]).address(), Some(ip("2001:db8::c000:201")));
}

#[test]
fn b167_the_mapped_form_passes_no_list_of_ipv4_networks() {
    let found = ask(Source::Peer, Trust::Nobody, "::ffff:1.2.3.4", &[""; 0]);
    assert_eq!(found.address(), Some(ip("1.2.3.4")));
    // A proxy is one in either form, and so is a network.
    for network in ["10.0.0.0/8", "::ffff:10.0.0.0/104"] {
        let trust = Trust::Proxies([network.parse().unwrap()].into_iter().collect());
        for peer in ["10.0.0.1", "::ffff:10.0.0.1"] {
            assert_eq!(
                address(Source::XForwardedFor, trust.clone(), peer, &["1.2.3.4"]),
                "1.2.3.4"
            );
        }
        for peer in ["fe80::1", "fc00::1", "::10.0.0.1"] {
            assert!(
                !ask(Source::XForwardedFor, trust.clone(), peer, &["1.2.3.4"]).peer_is_trusted()
            );
        }
    }
}

#[test]
fn b169_a_bad_network_is_refused_by_name() {
    for bad in
        ["10.0.0.0/33", "10.0.0", "10.0.0.0/", "10.0.0.0/+8", "fd00::/129", "", "010.0.0.0/8"]
    {
        let error = bad.parse::<Proxy>().unwrap_err().to_string();
        assert!(error.ends_with(&format!("not {bad:?}")), "{error}");
    }
    let error = "10.1.2.3/8".parse::<Proxy>().unwrap_err().to_string();
    assert_eq!(error, "expected `10.0.0.0/8` or `10.1.2.3`, not `10.1.2.3/8`");
}

#[test]
fn a_header_of_one_address_is_its_last_line() {
    let ask = |lines: &[&str]| ask(header("x-real-ip"), inside(), "10.0.0.1", lines);
    let rows: [(&[&str], &str, Trail); 7] = [
        (&[" 198.51.100.7 "], "198.51.100.7", F),
        (&["6.6.6.6", "198.51.100.7"], "198.51.100.7", F),
        (&["6.6.6.6, 198.51.100.7"], "10.0.0.1", X),
        (&["198.51.100.7,"], "10.0.0.1", X),
        (&["10.0.0.9"], "10.0.0.9", F),
        (&[""], "10.0.0.1", A),
        (&[], "10.0.0.1", A),
    ];
    for (lines, client, trail) in rows {
        let found = ask(lines);
        assert_eq!((found.address(), found.trail()), (Some(ip(client)), trail), "{lines:?}");
    }
    assert_eq!(address(header("fly-client-ip"), hops(1), "10.0.0.1", &["1.1.1.1"]), "1.1.1.1");
}

#[test]
fn only_the_chosen_header_is_read() {
    let lie = headers(&HeaderName::from_static("x-real-ip"), &["6.6.6.6"]);
    let found = rule(Source::XForwardedFor, inside()).client(ip("10.0.0.1").into(), &lie).unwrap();
    assert_eq!((found.address(), found.trail()), (Some(ip("10.0.0.1")), Trail::Absent));
}

#[test]
fn what_is_no_address_is_none() {
    let texts = [
        "0.0.0.0",
        "::",
        "[::]:80",
        "::ffff:0.0.0.0",
        "0.0.0.0:80",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.4:",
        "1.2.3.4:123456",
        "1.2.3.4:+1",
        "1.2.3.4:_x",
        "[1.2.3.4]",
        "[::1",
        "::1]",
        "[::1]x",
        "[::1]:",
        "[]",
        "1.2.3.4%eth0",
        "fe80::1%",
        "fe80::1%eth0%1",
        "[fe80::1]%eth0",
        "fe80::1%e/0",
        "::1::",
        "1:2:3:4:5:6:7:8:9",
        "0x7f.1.1.1",
        "1.2.3.4/32",
        "\"1.2.3.4\"",
        "for=1.2.3.4",
        "1.2.3.4\t5",
        "\u{661}.1.1.1",
        "localhost",
        "-",
    ];
    for text in texts {
        assert_eq!(behind_inside(&[text]).trail(), Trail::Stopped, "{text}");
    }
}

#[test]
fn nothing_past_64_items_or_8_kib_is_read() {
    let of = |count: usize, tail: &str| vec!["10.0.0.2"; count].join(",") + tail;
    assert_eq!(behind_inside(&[&of(64, "")]).trail(), Trail::Followed);
    assert_eq!(behind_inside(&[&of(64, ", ,,")]).trail(), Trail::Followed);
    let found = behind_inside(&[&of(65, "")]);
    assert_eq!((found.address(), found.trail()), (Some(ip("10.0.0.2")), Trail::Stopped));
    assert_eq!(behind_inside(&["1.1.1.1", &of(63, "")]).address(), Some(ip("1.1.1.1")));
    assert_eq!(behind_inside(&["1.1.1.1", &of(64, "")]).address(), Some(ip("10.0.0.2")));

    let padded = |bytes: usize| " ".repeat(bytes - "1.1.1.1".len()) + "1.1.1.1";
    assert_eq!(behind_inside(&[&padded(8192)]).trail(), Trail::Followed);
    assert_eq!(behind_inside(&[&padded(8193)]).trail(), Trail::Stopped);
    assert_eq!(behind_inside(&["x", &padded(8193)]).trail(), Trail::Stopped);
    let commas = ",".repeat(8192 - "1.1.1.1".len());
    assert_eq!(behind_inside(&[&format!("1.1.1.1{commas}")]).trail(), Trail::Followed);
    assert_eq!(behind_inside(&[&format!("1.1.1.1{commas},")]).trail(), Trail::Stopped);
    assert_eq!(behind_inside(&[&format!("1.1.1.1{commas}"), ""]).trail(), Trail::Stopped);
    let far = ask(Source::XForwardedFor, hops(64), "10.0.0.1", &[of(65, "")]);
    assert_eq!((far.address(), far.trail()), (Some(ip("10.0.0.2")), Trail::Followed));
}

#[test]
fn a_unix_peer_is_trusted_only_by_name() {
    let lines = headers(&X_FORWARDED_FOR, &["198.51.100.7"]);
    let unix: Proxies =
        ["unix", "10.0.0.0/8"].map(|text| text.parse().unwrap()).into_iter().collect();
    let ask = |trust| rule(Source::XForwardedFor, trust).client(Peer::Unix, &lines).unwrap();
    assert_eq!(ask(Trust::Proxies(unix)).address(), Some(ip("198.51.100.7")));
    let stranger = ask(inside());
    assert_eq!((stranger.address(), stranger.trail()), (None, Trail::Ignored));
    assert!(!stranger.peer_is_trusted());
}

#[test]
fn headers_from_strangers_are_reported() {
    for name in [&X_FORWARDED_FOR, &FORWARDED] {
        let lines = headers(name, &["for=1.1.1.1"]);
        let found = ClientRule::default().client(ip("203.0.113.9").into(), &lines).unwrap();
        assert_eq!((found.address(), found.trail()), (Some(ip("203.0.113.9")), Trail::Ignored));
    }
    let found = rule(Source::Peer, inside())
        .client(ip("10.0.0.1").into(), &headers(&FORWARDED, &["for=1.1.1.1"]))
        .unwrap();
    assert_eq!((found.address(), found.trail()), (Some(ip("10.0.0.1")), Trail::Absent));
    assert!(found.peer_is_trusted());
}

#[test]
fn a_peer_is_trusted_when_it_is_a_proxy() {
    let trusted = |trust, peer, lines: &[&str]| {
        ask(Source::XForwardedFor, trust, peer, lines).peer_is_trusted()
    };
    assert!(trusted(inside(), "10.0.0.1", &[]));
    assert!(trusted(inside(), "fd00::1", &["garbage"]));
    assert!(!trusted(inside(), "203.0.113.9", &["10.0.0.1"]));
    assert!(trusted(hops(2), "203.0.113.9", &["1.1.1.1, 2.2.2.2"]));
    assert!(!trusted(hops(2), "203.0.113.9", &["1.1.1.1"]));
    assert!(!ask(Source::Peer, Trust::Nobody, "10.0.0.1", &[""; 0]).peer_is_trusted());
}

#[test]
fn refusing_bad_items_is_an_error_that_repeats_nothing() {
    let rule = rule(Source::XForwardedFor, inside()).on_bad(OnBad::Deny);
    let ask = |peer, line| rule.client(ip(peer).into(), &headers(&X_FORWARDED_FOR, &[line]));
    let error = ask("10.0.0.1", "<script>").unwrap_err();
    assert!(!error.to_string().contains("script"));
    assert!(ask("10.0.0.1", "<script>, 1.1.1.1").is_ok());
    assert!(ask("203.0.113.9", "<script>").is_ok());
}

#[test]
fn a_rule_that_cannot_work_is_refused() {
    let everyone = |nets: &[&str]| {
        Trust::Proxies(nets.iter().map(|net| net.parse::<Proxy>().unwrap()).collect())
    };
    let bad = [
        (Source::XForwardedFor, Trust::Nobody, "expected trusted proxies or hops"),
        (Source::Forwarded, everyone(&[]), "expected trusted proxies or hops"),
        (Source::XForwardedFor, everyone(&["0.0.0.0/0"]), "expected trusted proxies that are not"),
        (Source::Peer, everyone(&["::/1", "8000::/1"]), "expected trusted proxies that are not"),
        (Source::Peer, hops(1), "expected hops only with"),
        (header("x-real-ip"), hops(2), "expected hops only with"),
        (Source::XForwardedFor, hops(65), "expected at most 64 hops"),
    ];
    for (source, trust, why) in bad {
        let error = ClientRule::new(source, trust).unwrap_err().to_string();
        assert!(error.starts_with(why), "{error}");
    }
    let error = "no header".parse::<Source>().unwrap_err().to_string();
    assert_eq!(error, "expected `peer` or the name of a header, not \"no header\"");
}

#[test]
fn a_list_header_is_a_list_by_any_name() {
    let rule = rule(header("x-forwarded-for"), hops(2));
    assert_eq!(rule.source(), &Source::XForwardedFor);
    assert_eq!("Forwarded".parse(), Ok(Source::Forwarded));
}

/// Bytes as a header may hold them, in which what matters here is frequent.
fn a_line() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        ",",
        ",",
        " ",
        ";",
        "\"",
        "\\",
        "=",
        "for=",
        "For=\"",
        "proto=x",
        "[",
        "]",
        ":",
        ":80",
        "%",
        "%e0",
        ".",
        "10.0.0.2",
        "198.51.100.7",
        "::1",
        "2001:db8::7",
        "::ffff:10.0.0.3",
        "unknown",
        "_x",
        "010.0.0.1",
        "\u{e9}",
    ];
    let of_pieces = prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12)
        .prop_map(|pieces| pieces.concat().into_bytes());
    let of_bytes = prop::collection::vec(any::<u8>(), 0..60).prop_map(|bytes| {
        bytes.into_iter().filter(|&byte| HeaderValue::from_bytes(&[byte]).is_ok()).collect()
    });
    prop_oneof![of_pieces, of_bytes]
}

fn some_lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(a_line(), 0..4)
}

fn a_source() -> impl Strategy<Value = Source> {
    prop_oneof![Just(Source::XForwardedFor), Just(Source::Forwarded), Just(header("x-real-ip")),]
}

/// A chain in good form that begins with a client and goes on through proxies.
fn a_chain() -> impl Strategy<Value = Vec<IpAddr>> {
    let outside =
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits >> 3 | 1 << 125)));
    let proxy = any::<[u8; 3]>().prop_map(|[a, b, c]| IpAddr::from([10, a, b, c]));
    (outside, prop::collection::vec(proxy, 0..5))
        .prop_map(|(client, proxies)| [vec![client], proxies].concat())
}

fn write(source: &Source, chain: &[IpAddr]) -> String {
    let item = |address: &IpAddr| match (source, address) {
        (Source::Forwarded, IpAddr::V4(v4)) => format!("proto=http;for={v4}"),
        (Source::Forwarded, IpAddr::V6(v6)) => format!("for=\"[{v6}]:80\";by=\"a,\\\"b\""),
        (_, address) => address.to_string(),
    };
    chain.iter().map(item).collect::<Vec<_>>().join(", ")
}

proptest! {
    #[test]
    fn any_bytes_find_some_client(source in a_source(), lines in some_lines(), hop in 1..=64u8) {
        let by_hops = match source {
            Source::Header(_) => hops(1),
            _ => hops(hop),
        };
        for trust in [inside(), by_hops] {
            let found = ask(source.clone(), trust, "10.0.0.1", &lines);
            let address = found.address().expect("an address");
            prop_assert_eq!(address.to_canonical(), address);
            prop_assert!(!address.is_unspecified());
        }
    }

    #[test]
    fn a_stranger_is_itself_whatever_it_sends(source in a_source(), lines in some_lines()) {
        let all = [X_FORWARDED_FOR.clone(), FORWARDED, HeaderName::from_static("x-real-ip")];
        let mut sent = HeaderMap::new();
        all.iter().for_each(|name| sent.extend(headers(name, &lines)));
        let stranger = ip("203.0.113.9");
        for rule in [rule(source, inside()), ClientRule::default()] {
            let found = rule.client(stranger.into(), &sent).expect("strangers are not read");
            prop_assert_eq!(found.address(), Some(stranger));
            prop_assert!(!found.peer_is_trusted());
        }
    }

    #[test]
    fn what_stands_left_of_the_client_changes_nothing(
        forwarded in any::<bool>(),
        chain in a_chain(),
        forged in some_lines(),
        same_line in any::<bool>(),
    ) {
        let source = if forwarded { Source::Forwarded } else { Source::XForwardedFor };
        let honest = write(&source, &chain).into_bytes();
        let mut lines = forged;
        match lines.pop() {
            Some(last) if same_line => lines.push([last, b", ".to_vec(), honest].concat()),
            last => lines.extend(last.into_iter().chain([honest])),
        }
        let exact = u8::try_from(chain.len()).expect("a short chain");
        for trust in [inside(), hops(exact)] {
            let found = ask(source.clone(), trust, "10.0.0.1", &lines);
            prop_assert_eq!(found.address(), Some(chain[0]));
            prop_assert_eq!(found.trail(), Trail::Followed);
        }
    }

    #[test]
    fn the_walk_is_the_rule_as_written(lines in some_lines()) {
        let all = lines.iter().map(|line| line.as_slice()).collect::<Vec<_>>().join(&b',');
        let mut client = ip("10.0.0.1");
        let items = all.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        for item in items.filter(|item| !item.is_empty()).rev() {
            let Some(address) = address::item(item) else { break };
            client = address;
            let trusted = match address {
                IpAddr::V4(v4) => v4.octets()[0] == 10,
                IpAddr::V6(v6) => v6.octets()[0] == 0xfd,
            };
            if !trusted { break }
        }
        let found = ask(Source::XForwardedFor, inside(), "10.0.0.1", &lines);
        prop_assert_eq!(found.address(), Some(client));
    }

    #[test]
    fn any_address_is_found_in_all_its_forms(bits in any::<u128>(), port in any::<u16>()) {
        let v6 = Ipv6Addr::from_bits(bits);
        let v4 = std::net::Ipv4Addr::from_bits(u32::try_from(bits >> 96).expect("32 bits"));
        prop_assume!(!v6.is_unspecified() && !v4.is_unspecified());
        let canonical = IpAddr::V6(v6).to_canonical();
        for text in [format!("{v6}"), format!("[{v6}]"), format!("[{v6}%a]:{port}")] {
            prop_assert_eq!(address::item(text.as_bytes()), Some(canonical));
            let bracketed = text.starts_with('[').then_some(canonical);
            prop_assert_eq!(address::node(text.as_bytes()), bracketed);
        }
        for text in [format!("{v4}"), format!("{v4}:{port}"), format!("[::ffff:{v4}]:{port}")] {
            prop_assert_eq!(address::item(text.as_bytes()), Some(v4.into()));
            prop_assert_eq!(address::node(text.as_bytes()), Some(v4.into()));
        }
    }

    #[test]
    fn a_set_of_proxies_is_the_union_of_its_networks(
        networks in prop::collection::vec((any::<bool>(), 0..6u8, any::<u8>()), 1..12),
        last in any::<u8>(),
    ) {
        // Crowded into 10.0.0.0/24 and its twin in IPv6, so that they often touch.
        let network = |(mapped, host_bits, last)| -> ipnet::IpNet {
            let v4 = ipnet::IpNet::new(IpAddr::from([10, 0, 0, last]), 32 - host_bits);
            let v6 = format!("::ffff:10.0.0.{last}/{}", 128 - host_bits);
            if mapped { v6.parse().expect("a network") } else { v4.expect("a network") }
        };
        let networks: Vec<_> = networks.into_iter().map(network).collect();
        let proxies: Proxies = networks.iter().copied().map(Proxy::from).collect();
        let address = IpAddr::from([10, 0, 0, last]);
        let mapped = ip(&format!("::ffff:10.0.0.{last}"));
        let expected = networks.iter().any(|net| net.contains(&address) || net.contains(&mapped));
        prop_assert_eq!(proxies.contain(address.into()), expected);
    }
}

#[test]
fn who_is_taken_for_a_proxy_may_stand_for_many() {
    let taken =
        |trust, peer: &str| rule(Source::XForwardedFor, trust).takes_for_proxy(ip(peer).into());
    assert!(!ClientRule::default().takes_for_proxy(ip("10.0.0.1").into()));
    assert!(taken(inside(), "10.0.0.1") && taken(inside(), "::ffff:10.0.0.1"));
    assert!(!taken(inside(), "203.0.113.9"));
    assert!(taken(hops(1), "203.0.113.9"));
}
