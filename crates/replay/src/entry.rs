//! One request, as a line of a log tells it.

use std::net::{IpAddr, Ipv4Addr};

use smallvec::SmallVec;
use tollgate_core::{Span, Tick};

/// One request, as a line of a log tells it, borrowed from the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'l> {
    /// When, as the log says: when it came, or, in some formats, when it was answered.
    pub at: Tick,
    /// Who asked.
    pub client: Client<'l>,
    /// The user that the server knew it by.
    pub user: Option<&'l [u8]>,
    /// What was asked for.
    pub request: Line<'l>,
    /// The host that was asked, as it was written.
    pub host: Option<&'l [u8]>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// How many bytes the answer's body had.
    pub bytes: Option<u64>,
    /// How many bytes the request's body had.
    pub length: Option<u64>,
    /// How long the answer took.
    pub took: Option<Span>,
    /// The header `referer`.
    pub referer: Option<&'l [u8]>,
    /// The header `user-agent`.
    pub agent: Option<&'l [u8]>,
    /// Further parts of the request that were asked for, by their number among those.
    pub others: Others<'l>,
}

#[cfg(test)]
impl<'l> Entry<'l> {
    /// What tells nothing but when and who.
    pub(crate) fn bare(at: Tick, client: Client<'l>) -> Entry<'l> {
        Entry {
            at,
            client,
            user: None,
            request: Line::Garbled(b""),
            host: None,
            status: None,
            bytes: None,
            length: None,
            took: None,
            referer: None,
            agent: None,
            others: Others::new(),
        }
    }
}

/// Further parts of a request: the number of the part, and a value. A number that stands there twice
/// is a part that was given twice.
pub type Others<'l> = SmallVec<[(u16, &'l [u8]); 2]>;

/// Who asked, as a log tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client<'l> {
    /// An address.
    Address(IpAddr),
    /// A name that a server has looked up, or whatever else stands there.
    Name(&'l [u8]),
    /// Nobody is named, as for a peer on a Unix socket.
    Absent,
}

/// What was asked for, as a log tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'l> {
    /// A request.
    Asked {
        /// The method.
        method: &'l str,
        /// The target: a path and a query.
        target: &'l [u8],
    },
    /// Something that is no HTTP, such as a TLS handshake at a port that speaks none. A server answers
    /// it with an error before any limit is asked.
    Garbled(&'l [u8]),
}

impl<'l> Client<'l> {
    /// Reads an address, with or without a port, the last one of a list; whatever else stands there is
    /// a name, and `-` is nobody.
    #[must_use]
    pub fn read(text: &'l [u8]) -> Client<'l> {
        let last = match memchr::memrchr(b',', text) {
            Some(at) => text.get(at + 1..).unwrap_or_default().trim_ascii(),
            None => text.trim_ascii(),
        };
        if matches!(last, b"" | b"-") {
            return Client::Absent;
        }
        if let Some(address) = ipv4(last) {
            return Client::Address(address.into());
        }
        let address = std::str::from_utf8(last).ok().and_then(address);
        address.map_or(Client::Name(last), |address| Client::Address(address.to_canonical()))
    }
}

/// An IPv4 address without a port, which nearly every line has: in half the time of the standard parser,
/// which reads all kinds of text.
fn ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    let (mut octets, mut nth, mut number, mut digits) = ([0; 4], 0, 0_u16, 0);
    for byte in text {
        match byte {
            b'0'..=b'9' if digits < 3 && (digits == 0 || number > 0) => {
                number = number * 10 + u16::from(byte - b'0');
                digits += 1;
            }
            b'.' if digits > 0 && nth < 3 => {
                *octets.get_mut(nth)? = u8::try_from(number).ok()?;
                (nth, number, digits) = (nth + 1, 0, 0);
            }
            _ => return None,
        }
    }
    *octets.get_mut(nth)? = u8::try_from(number).ok()?;
    (nth == 3 && digits > 0).then(|| Ipv4Addr::from(octets))
}

fn address(text: &str) -> Option<IpAddr> {
    let bare = |text: &str| text.parse::<IpAddr>().ok();
    bare(text).or_else(|| {
        if let Some(inner) = text.strip_prefix('[') {
            let (inner, port) = inner.split_once(']')?;
            return if is_port(port) { bare(inner) } else { None };
        }
        let (host, _) = text.rsplit_once(':').filter(|(_, port)| is_digits(port))?;
        bare(host)
    })
}

/// Nothing, or a colon and digits.
fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(is_digits)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl<'l> Line<'l> {
    /// Reads a request line: method, target and version. A line without a version is a request when its
    /// target is a path, as HTTP/0.9 has it.
    #[must_use]
    pub fn read(text: &'l [u8]) -> Line<'l> {
        Line::split(text).unwrap_or(Line::Garbled(text))
    }

    /// A request of this method and target, if they can be those of one.
    #[must_use]
    pub fn of(method: &'l [u8], target: &'l [u8]) -> Option<Line<'l>> {
        let is_word = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
        let fits = !method.is_empty() && method.len() <= 32 && method.iter().all(is_word);
        let method = std::str::from_utf8(method).ok().filter(|_| fits && !target.is_empty())?;
        Some(Line::Asked { method, target })
    }

    fn split(text: &'l [u8]) -> Option<Line<'l>> {
        let (method, rest) = cut(text, memchr::memchr(b' ', text)?);
        let target = match memchr::memrchr(b' ', rest) {
            Some(at) if rest.get(at..)?.starts_with(b" HTTP/") => rest.get(..at)?,
            _ if rest.starts_with(b"/") => rest,
            _ => return None,
        };
        Line::of(method, target)
    }
}

/// What stands before a place, and what behind the byte there.
pub(crate) fn cut(text: &[u8], at: usize) -> (&[u8], &[u8]) {
    let (before, rest) = text.split_at(at.min(text.len()));
    (before, rest.get(1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_client_is_an_address_in_any_spelling_or_a_name() {
        let address = |text: &str| Client::Address(text.parse().unwrap());
        assert_eq!(Client::read(b"192.0.2.7"), address("192.0.2.7"));
        assert_eq!(Client::read(b"192.0.2.7:5000"), address("192.0.2.7"));
        assert_eq!(Client::read(b"2001:db8::1"), address("2001:db8::1"));
        assert_eq!(Client::read(b"[2001:db8::1]:443"), address("2001:db8::1"));
        assert_eq!(Client::read(b"[2001:db8::1]"), address("2001:db8::1"));
        assert_eq!(Client::read(b"::ffff:192.0.2.7"), address("192.0.2.7"));
        assert_eq!(Client::read(b"10.0.0.1, 192.0.2.7"), address("192.0.2.7"));
        assert_eq!(Client::read(b"crawl-7.example.com"), Client::Name(b"crawl-7.example.com"));
        assert_eq!(Client::read(b"[::1]:x"), Client::Name(b"[::1]:x"));
        assert_eq!((Client::read(b"-"), Client::read(b"")), (Client::Absent, Client::Absent));
    }

    proptest! {
        #[test]
        fn an_ipv4_address_is_read_as_the_standard_library_reads_it(
            text in "[0-9.]{0,12}|[0-9]{1,3}(\\.[0-9]{1,3}){2,4}[ .:a]?",
        ) {
            prop_assert_eq!(ipv4(text.as_bytes()), text.parse().ok(), "{}", text);
        }
    }

    #[test]
    fn a_request_line_without_a_version_is_one_of_http_0_9() {
        let asked =
            |method, target: &'static str| Line::Asked { method, target: target.as_bytes() };
        assert_eq!(Line::read(b"GET /a HTTP/1.1"), asked("GET", "/a"));
        assert_eq!(Line::read(b"GET /a b HTTP/1.0"), asked("GET", "/a b"));
        assert_eq!(Line::read(b"GET /old"), asked("GET", "/old"));
        assert_eq!(Line::read(b"OPTIONS * HTTP/1.1"), asked("OPTIONS", "*"));
        assert_eq!(Line::read(b"M-SEARCH / HTTP/1.1"), asked("M-SEARCH", "/"));
    }

    #[test]
    fn what_is_no_http_is_garbled() {
        for text in [&b"\x16\x03\x01\x02 /"[..], b"-", b"", b"GET", b"GET  HTTP/1.1", b"\\x16\\x03"]
        {
            assert_eq!(Line::read(text), Line::Garbled(text), "{text:?}");
        }
    }
}
