//! What the upstream is told of the client: `X-Forwarded-For`, `-Proto` and `-Host`.

use std::net::IpAddr;

use http::header::{FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue};
use tollgate_http::client::Peer;

use crate::opening::Transport;

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Headers beside `X-Forwarded-*` by which proxies say who is asking or what was asked.
const CLAIMS: [&str; 16] = [
    "forwarded",
    "forwarded-for",
    "x-forwarded",
    "client-ip",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-forwarded-for",
    "x-original-host",
    "x-original-url",
    "x-rewrite-url",
    "true-client-ip",
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "fastly-client-ip",
    "fly-client-ip",
];

/// Whether what the peer says about others is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It is one of our proxies: its word is kept and ours is added.
    Proxy,
    /// It may be anyone: its word is dropped.
    Nobody,
}

/// Whether a header is a proxy's word about the client.
pub(crate) fn is_claim(name: &HeaderName) -> bool {
    name.as_str().starts_with("x-forwarded-") || CLAIMS.contains(&name.as_str())
}

/// Sets the headers that tell the upstream who is asking. `identity` are further headers that only
/// a proxy of ours may send. A Unix socket has no address: of it nothing is added to what proxies say.
pub(crate) fn tell(
    headers: &mut HeaderMap,
    peer: Peer,
    transport: Transport,
    trust: Trust,
    identity: &[HeaderName],
) {
    let address = match peer {
        Peer::Address(address) => Some(address.to_canonical()),
        Peer::Unix => None,
    };
    match trust {
        Trust::Nobody => {
            let claims: Vec<_> = headers.keys().filter(|name| is_claim(name)).cloned().collect();
            for name in claims.iter().chain(identity) {
                headers.remove(name);
            }
            if let Some(Ok(address)) = address.map(|address| text(address).try_into()) {
                headers.insert(FOR, address);
            }
        }
        Trust::Proxy => {
            if let Some(address) = address {
                add_address(headers, address);
            }
        }
    }
    // Nothing is left of what nobody may say, and need not be looked for.
    let is_told = |name| trust == Trust::Proxy && headers.contains_key(name);
    let (proto, host) = (is_told(PROTO), is_told(FORWARDED_HOST));
    if !proto {
        headers.insert(PROTO, HeaderValue::from_static(transport.scheme()));
    }
    if let (false, Some(host)) = (host, headers.get(HOST).cloned()) {
        headers.insert(FORWARDED_HOST, host);
    }
}

/// Adds an address to what proxies of ours say of the client's.
fn add_address(headers: &mut HeaderMap, address: IpAddr) {
    append(headers, FOR, &text(address));
    if headers.contains_key(FORWARDED) {
        let node = match address {
            IpAddr::V4(v4) => format!("for={v4}"),
            IpAddr::V6(v6) => format!("for=\"[{v6}]\""),
        };
        append(headers, FORWARDED, &node);
    }
}

/// As its `Display` writes it, without formatting machinery for the usual ones.
fn text(address: IpAddr) -> String {
    let IpAddr::V4(v4) = address else { return address.to_string() };
    // Exact, so that a header takes it as it is.
    let digits = v4.octets().map(|octet| 1 + usize::from(octet > 9) + usize::from(octet > 99));
    let mut text = String::with_capacity(digits.iter().sum::<usize>() + 3);
    for octet in v4.octets() {
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(itoa::Buffer::new().format(octet));
    }
    text
}

/// Adds one item to a list, and makes one line of it.
fn append(headers: &mut HeaderMap, name: HeaderName, item: &str) {
    let mut line = Vec::new();
    for value in headers.get_all(&name) {
        line.extend_from_slice(value.as_bytes());
        line.extend_from_slice(b", ");
    }
    line.extend_from_slice(item.as_bytes());
    // Values that stood in a header, joined by what may stand in one.
    if let Ok(line) = HeaderValue::from_bytes(&line) {
        headers.insert(name, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Peer = Peer::Address(IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9)));

    fn told(peer: Peer, trust: Trust, lines: &[(&'static str, &str)]) -> Vec<(String, String)> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        let identity = [HeaderName::from_static("x-user")];
        tell(&mut headers, peer, Transport::Tls, trust, &identity);
        let text = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.to_string(), value.to_str().unwrap().to_owned())
        };
        let mut told: Vec<_> = headers.iter().map(text).collect();
        told.sort();
        told
    }

    fn pairs(told: &[(String, String)]) -> Vec<(&str, &str)> {
        told.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    #[test]
    fn what_an_unknown_peer_claims_is_replaced() {
        let told = told(
            PEER,
            Trust::Nobody,
            &[
                ("host", "shop.test"),
                ("x-forwarded-for", "6.6.6.6"),
                ("x-forwarded-proto", "http"),
                ("x-forwarded-host", "evil.test"),
                ("x-forwarded-prefix", "/admin"),
                ("forwarded", "for=6.6.6.6"),
                ("x-real-ip", "6.6.6.6"),
                ("client-ip", "6.6.6.6"),
                ("forwarded-for", "6.6.6.6"),
                ("x-forwarded", "6.6.6.6"),
                ("cf-connecting-ip", "6.6.6.6"),
                ("x-user", "root"),
                ("accept", "*/*"),
            ],
        );
        assert_eq!(
            pairs(&told),
            [
                ("accept", "*/*"),
                ("host", "shop.test"),
                ("x-forwarded-for", "203.0.113.9"),
                ("x-forwarded-host", "shop.test"),
                ("x-forwarded-proto", "https"),
            ]
        );
    }

    #[test]
    fn what_a_proxy_of_ours_says_is_kept_and_added_to() {
        let told = told(
            PEER,
            Trust::Proxy,
            &[
                ("host", "inner.test"),
                ("x-forwarded-for", "198.51.100.7"),
                ("x-forwarded-for", "10.0.0.1"),
                ("x-forwarded-proto", "https"),
                ("x-forwarded-host", "shop.test"),
                ("forwarded", "for=198.51.100.7;proto=https"),
                ("x-user", "ann"),
            ],
        );
        assert_eq!(
            pairs(&told),
            [
                ("forwarded", "for=198.51.100.7;proto=https, for=203.0.113.9"),
                ("host", "inner.test"),
                ("x-forwarded-for", "198.51.100.7, 10.0.0.1, 203.0.113.9"),
                ("x-forwarded-host", "shop.test"),
                ("x-forwarded-proto", "https"),
                ("x-user", "ann"),
            ]
        );
    }

    #[test]
    fn what_a_unix_socket_claims_is_dropped_as_anybodys_and_no_address_is_made_up() {
        let claims = [("x-forwarded-for", "6.6.6.6"), ("x-user", "root")];
        let by_nobody = told(Peer::Unix, Trust::Nobody, &claims);
        assert_eq!(pairs(&by_nobody), [("x-forwarded-proto", "https")]);
        let by_proxy = told(Peer::Unix, Trust::Proxy, &claims);
        let kept =
            [("x-forwarded-for", "6.6.6.6"), ("x-forwarded-proto", "https"), ("x-user", "root")];
        assert_eq!(pairs(&by_proxy), kept);
    }
}
