//! A request of a log, as limits see it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use percent_encoding::percent_decode;
use tollgate_core::Tick;
use tollgate_policy::{Case, Given, KeyPart, PathError, Request, RequestPath};

use crate::entry::{Client, Entry, cut};

/// The address of all clients that a log does not name, as the HTTP layer has it.
const UNKNOWN: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// A request of a log, as limits see it.
pub(crate) struct Seen<'e, 'l> {
    entry: &'e Entry<'l>,
    method: &'e str,
    raw_path: &'e str,
    query: &'e [u8],
    path: Cow<'e, str>,
    client: IpAddr,
    wanted: &'e [KeyPart],
    /// The host as it was written.
    written: Option<&'e [u8]>,
    host: OnceCell<Option<Cow<'e, str>>>,
}

/// Whether limits look at paths. If not, a path that can be read in two ways is the service's affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paths {
    Matter(Case),
    Ignored,
}

impl<'e, 'l> Seen<'e, 'l> {
    /// The request of an entry, and what is wrong with its path.
    pub(crate) fn of(
        entry: &'e Entry<'l>,
        (method, target): (&'e str, &'e [u8]),
        client: IpAddr,
        paths: Paths,
        wanted: &'e [KeyPart],
    ) -> (Seen<'e, 'l>, Option<PathError>) {
        let (authority, target) = in_origin_form(target);
        let (raw_path, query) = match memchr::memchr(b'?', target) {
            Some(at) => cut(target, at),
            None => (target, &b""[..]),
        };
        let (path, fault) = match paths {
            // A target without a path, of CONNECT and of OPTIONS, is matched as `/`.
            Paths::Matter(case) if target.starts_with(b"/") => match RequestPath::parse(target) {
                Ok(parsed) => (matched(&parsed, case, target), None),
                Err(error) => (Cow::Borrowed("/"), Some(error)),
            },
            Paths::Matter(_) | Paths::Ignored => (Cow::Borrowed("/"), None),
        };
        let raw_path = std::str::from_utf8(raw_path).unwrap_or_default();
        // What a target names goes before a header.
        let written = authority.or(entry.host);
        let host = OnceCell::new();
        (Seen { entry, method, raw_path, query, path, client, wanted, written, host }, fault)
    }

    /// Whether this header tells that the request is a browser's question, which nearly all of OPTIONS
    /// are. Hardly a log has these headers.
    fn is_preflight_of(&self, header: &str) -> bool {
        self.method == "OPTIONS" && matches!(header, "origin" | "access-control-request-method")
    }

    /// A further part of the request.
    fn other(&self, is: impl Fn(&KeyPart) -> bool) -> Given<'_> {
        let Some(nth) = self.wanted.iter().position(is) else { return Given::Nothing };
        let values = self.entry.others.iter().filter(|(other, _)| usize::from(*other) == nth);
        Given::of(values.map(|(_, value)| value.trim_ascii()))
    }
}

/// The path in the form that limits match; most are matched as they came, and then nothing is copied.
fn matched<'e>(path: &RequestPath<'e>, case: Case, target: &'e [u8]) -> Cow<'e, str> {
    let matched = path.matched(case);
    match target.get(..matched.len()).and_then(|start| std::str::from_utf8(start).ok()) {
        Some(start) if *start == *matched => Cow::Borrowed(start),
        _ => Cow::Owned(matched.into_owned()),
    }
}

/// The host that a target names, and its path and query: a proxy is sent both.
fn in_origin_form(target: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if target.starts_with(b"/") {
        return (None, target);
    }
    let Some(scheme) = memchr::memmem::find(target, b"://") else { return (None, target) };
    let behind = target.get(scheme + 3..).unwrap_or_default();
    let end = behind.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(behind.len());
    let (authority, path) = behind.split_at(end);
    let host = authority.rsplit(|byte| *byte == b'@').next();
    (host, if path.starts_with(b"/") { path } else { b"/" })
}

/// Finds the address that a client is limited by. One that the log has a name of has an address by the
/// hash of its name, in a network that no client comes from (`fd00::/8`).
#[derive(Debug, Default)]
pub(crate) struct Addresses(RandomState);

impl Addresses {
    pub(crate) fn of(&self, client: &Client<'_>) -> IpAddr {
        match client {
            Client::Address(address) => *address,
            Client::Name(name) => {
                // In the upper half, since networks of 64 bits are one client.
                let hash = u128::from(self.0.hash_one(name) >> 8);
                IpAddr::V6(Ipv6Addr::from_bits((0xfd << 120) | (hash << 64)))
            }
            Client::Absent => UNKNOWN,
        }
    }
}

impl Request for Seen<'_, '_> {
    fn method(&self) -> &str {
        self.method
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn raw_path(&self) -> &str {
        self.raw_path
    }

    fn host(&self) -> Option<&str> {
        self.host.get_or_init(|| host(self.written?)).as_deref()
    }

    fn client(&self) -> Option<IpAddr> {
        Some(self.client)
    }

    /// What a log tells is believed: whoever keeps it has written it.
    fn is_peer_trusted(&self) -> bool {
        true
    }

    fn user(&self) -> Option<&[u8]> {
        self.entry.user
    }

    fn header(&self, name: &str) -> Given<'_> {
        fn one(value: Option<&[u8]>) -> Given<'_> {
            Given::of(value.map(<[u8]>::trim_ascii))
        }
        match name {
            "user-agent" => one(self.entry.agent),
            "referer" => one(self.entry.referer),
            "host" => one(self.entry.host),
            _ => {
                let is =
                    |part: &KeyPart| matches!(part, KeyPart::Header(known) if **known == *name);
                match self.is_preflight_of(name) && !self.wanted.iter().any(is) {
                    true => Given::One(b"of a preflight".into()),
                    false => self.other(is),
                }
            }
        }
    }

    fn query(&self, name: &str) -> Given<'_> {
        let pairs = self.query.split(|byte| *byte == b'&');
        let named = pairs.filter_map(|pair| {
            let (key, value) = match memchr::memchr(b'=', pair) {
                Some(at) => cut(pair, at),
                None => (pair, &b""[..]),
            };
            (*decoded(key) == *name.as_bytes()).then(|| decoded(value))
        });
        Given::of(named)
    }

    fn cookie(&self, name: &str) -> Given<'_> {
        self.other(|part| matches!(part, KeyPart::Cookie(known) if **known == *name))
    }

    fn certificate(&self) -> Option<&[u8]> {
        let nth = self.wanted.iter().position(|part| *part == KeyPart::Certificate)?;
        let mut values = self.entry.others.iter().filter(|(other, _)| usize::from(*other) == nth);
        values.next().map(|(_, value)| *value)
    }

    fn claim(&self, name: &str) -> Given<'_> {
        self.other(|part| matches!(part, KeyPart::Claim(known) if **known == *name))
    }

    fn now(&self) -> Option<Tick> {
        Some(self.entry.at)
    }

    fn length(&self) -> Option<u64> {
        self.entry.length
    }
}

/// A host in small letters, without a default port and a trailing dot.
fn host(written: &[u8]) -> Option<Cow<'_, str>> {
    let host = std::str::from_utf8(written).ok()?;
    let host = host.strip_suffix(":80").or_else(|| host.strip_suffix(":443")).unwrap_or(host);
    let host = host.strip_suffix('.').unwrap_or(host);
    match host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Some(Cow::Owned(host.to_ascii_lowercase())),
        false => Some(Cow::Borrowed(host)),
    }
}

/// A piece of a query with `+` and escapes undone.
fn decoded(piece: &[u8]) -> Cow<'_, [u8]> {
    if piece.contains(&b'+') {
        let spaced: Vec<u8> = piece.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect();
        return Cow::Owned(percent_decode(&spaced).collect());
    }
    percent_decode(piece).into()
}
