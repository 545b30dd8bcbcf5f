//! Who is asking: whatever the headers claim, only a trusted proxy's word counts.

#![no_main]

use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU8;

use arbitrary::Arbitrary;
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use tollgate_http::client::{ClientRule, OnBad, Peer, Source, Trail, Trust};

const NAMES: [&str; 3] = ["x-forwarded-for", "forwarded", "x-real-ip"];

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    peer: Option<Address>,
    source: u8,
    trust: Trusted,
    lines: Vec<(u8, Vec<Piece<'a>>)>,
    prepended: Vec<Piece<'a>>,
}

#[derive(Arbitrary, Debug)]
enum Trusted {
    Nobody,
    Tens,
    Hops(NonZeroU8),
}

/// An address of 10.0.0.0/8, which are the proxies, of another network, or any.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Address {
    Ten(u8),
    Other(u8),
    Mapped(u8),
    Any([u16; 8]),
}

#[derive(Arbitrary, Debug)]
enum Piece<'a> {
    Item(Address),
    For(Address),
    Comma,
    Raw(&'a [u8]),
}

fuzz_target!(|input: Input| {
    let name = NAMES.get(usize::from(input.source % 4));
    let source = name.map_or(Source::Peer, |name| name.parse().expect("the name of a header"));
    let trust = match input.trust {
        Trusted::Nobody => Trust::Nobody,
        Trusted::Tens => Trust::Proxies(["10.0.0.0/8".parse().unwrap()].into_iter().collect()),
        Trusted::Hops(hops) => Trust::Hops(hops),
    };
    let Ok(rule) = ClientRule::new(source.clone(), trust) else { return };
    let lines: Vec<_> = input.lines.iter().filter_map(line).collect();
    let headers: HeaderMap = lines.iter().cloned().collect();
    let address = input.peer.map(|peer| peer.ip().to_canonical());
    let peer = input.peer.map_or(Peer::Unix, |peer| Peer::Address(peer.ip()));

    let client = rule.client(peer, &headers).expect("a rule that stops always tells");
    let denying = rule.clone().on_bad(OnBad::Deny).client(peer, &headers);
    assert_eq!(denying.ok(), Some(client).filter(|client| client.trail() != Trail::Stopped));

    let is_ten = matches!(address, Some(IpAddr::V4(v4)) if v4.octets()[0] == 10);
    let trusted = match input.trust {
        Trusted::Nobody => false,
        Trusted::Tens => is_ten,
        Trusted::Hops(_) => client.trail() != Trail::Short,
    };
    assert_eq!(client.peer_is_trusted(), trusted);
    if !trusted || client.trail() == Trail::Absent {
        assert_eq!(client.address(), address, "the word of a stranger was taken");
    }
    if client.address() != address {
        let told = client.address().expect("a header names an address");
        let name = source.header().expect("a header was read");
        assert!(written(&headers, name).contains(&told), "{told} stands nowhere");
    }

    // What stands left of the answer may be anybody's.
    let found = match (client.trail(), client.address()) {
        (Trail::Followed, Some(IpAddr::V4(v4))) => {
            v4.octets()[0] != 10 || matches!(input.trust, Trusted::Hops(_))
        }
        (Trail::Followed | Trail::Stopped | Trail::Ignored, _) => true,
        _ => false,
    };
    if let Some(forged) = line(&(input.source % 4, input.prepended)).filter(|_| found) {
        let more: HeaderMap = [forged].into_iter().chain(lines).collect();
        assert_eq!(rule.client(peer, &more), Ok(client), "a client chose what it is");
    }
});

fn line((name, pieces): &(u8, Vec<Piece<'_>>)) -> Option<(HeaderName, HeaderValue)> {
    let mut text = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Item(address) => text.extend(address.ip().to_string().bytes()),
            Piece::For(address) => match address.ip() {
                IpAddr::V4(v4) => text.extend(format!("for={v4}").bytes()),
                IpAddr::V6(v6) => text.extend(format!("for=\"[{v6}]:80\"").bytes()),
            },
            Piece::Comma => text.push(b','),
            Piece::Raw(bytes) => text.extend_from_slice(bytes),
        }
    }
    let name = HeaderName::from_static(NAMES[usize::from(*name % 3)]);
    Some((name, HeaderValue::from_bytes(&text).ok()?))
}

/// Every address that stands in some line, at any place in it.
fn written(headers: &HeaderMap, name: &HeaderName) -> HashSet<IpAddr> {
    let mut found = HashSet::new();
    for value in headers.get_all(name) {
        let plain: Vec<u8> = value.as_bytes().iter().copied().filter(|b| *b != b'\\').collect();
        let is_part = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':');
        for run in plain.split(|byte| !is_part(byte)) {
            let text = str::from_utf8(run).expect("hex digits, dots and colons");
            for start in 0..text.len() {
                let ends = start + 2..=text.len().min(start + 45);
                let addresses = ends.filter_map(|end| text[start..end].parse::<IpAddr>().ok());
                found.extend(addresses.map(|address| address.to_canonical()));
            }
        }
    }
    found
}

impl Address {
    fn ip(self) -> IpAddr {
        match self {
            Address::Ten(n) => [10, 0, 0, n].into(),
            Address::Other(n) => [192, 0, 2, n].into(),
            Address::Mapped(n) => Ipv6Addr::from([0, 0, 0, 0, 0, 0xffff, 0x0a00, n.into()]).into(),
            Address::Any(segments) => segments.into(),
        }
    }
}
