//! Who is asking: the address of the client, told from the peer and the headers of its proxies.
//!
#![doc = include_str!("../docs/client.md")]

mod address;
mod certificate;
mod claims;
mod error;
mod forwarded;
mod items;
mod peer;
mod source;
#[cfg(test)]
mod tests;
mod trust;

use std::net::IpAddr;
use std::num::NonZeroU8;

use http::HeaderMap;
use http::header::FORWARDED;

pub use self::certificate::Certificate;
pub use self::claims::Claims;
pub use self::error::{ClientRuleError, UnknownClient};
pub use self::peer::Peer;
pub use self::source::Source;
pub use self::trust::{Proxies, Proxy, Trust};

use self::error::Fault;
use self::items::{Item, Items, Separator};
use self::source::X_FORWARDED_FOR;

/// How the client behind a request is told: one header that trusted proxies write, read from the
/// right, or none.
///
/// Anyone may send any header, so by default a client is whoever connected. Behind proxies that is
/// always the same proxy, and the client is in a header to which each of them appends the address
/// it was asked from. What is appended last is therefore on the right, and whatever stands left of
/// the first address that is not a trusted proxy may be made up. In words:
///
/// * [`Trust::Proxies`]: if the peer is one of them, go through the items from right to left up to
///   the first address that is not; if all are, the leftmost it is.
/// * [`Trust::Hops`]: if that many proxies, the peer included, stand before every request, the
///   client is that many items from the right. With fewer items it is the peer.
/// * An item that is no address is never skipped, or a client could choose what stands behind it:
///   the last address read is the client ([`OnBad::Stop`]), or nobody is ([`OnBad::Deny`]).
///
/// Exactly one header is read, as a client can add any other; all its lines count, and at most the
/// last 64 items within the last 8 KiB are read. Nothing is allocated.
///
/// ```
/// use http::HeaderMap;
/// use tollgate_http::client::{ClientRule, Proxies, Source, Trust};
/// let proxies: Proxies = ["10.0.0.0/8".parse()?, "fd00::/8".parse()?].into_iter().collect();
/// let rule = ClientRule::new(Source::XForwardedFor, Trust::Proxies(proxies))?;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("x-forwarded-for", "6.6.6.6, 198.51.100.7, 10.0.0.2".parse()?);
/// let client = rule.client("10.0.0.1:55000".parse::<std::net::SocketAddr>()?.into(), &headers)?;
/// assert_eq!(client.address(), Some("198.51.100.7".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ClientRule {
    source: Source,
    trust: Trust,
    on_bad: OnBad,
}

impl ClientRule {
    /// Reads `source` as far as `trust` goes. `ClientRule::default()` reads and trusts nothing.
    ///
    /// # Errors
    /// When the two do not fit: a header that nobody is trusted to write, or everybody; hops
    /// without a list to count in, or more than 64 of them.
    pub fn new(source: Source, trust: Trust) -> Result<ClientRule, ClientRuleError> {
        let source = source.canonical();
        let fault = match (&source, &trust) {
            (_, Trust::Proxies(proxies)) if proxies.are_everyone() => Some(Fault::EveryoneTrusted),
            (Source::Peer, Trust::Hops(_)) => Some(Fault::NothingToCount),
            (Source::Peer, _) => None,
            (_, Trust::Nobody) => Some(Fault::NobodyTrusted),
            (_, Trust::Proxies(proxies)) if proxies.are_none() => Some(Fault::NobodyTrusted),
            (_, Trust::Hops(hops)) if usize::from(hops.get()) > items::MOST_ITEMS => {
                Some(Fault::TooManyHops)
            }
            (Source::Header(_), Trust::Hops(hops)) if hops.get() > 1 => Some(Fault::NothingToCount),
            _ => None,
        };
        match fault {
            Some(fault) => Err(fault.into()),
            None => Ok(ClientRule { source, trust, on_bad: OnBad::default() }),
        }
    }

    /// The same rule with another answer to an item that is no address.
    #[must_use]
    pub fn on_bad(self, on_bad: OnBad) -> ClientRule {
        ClientRule { on_bad, ..self }
    }

    /// Where the rule looks for the client.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether a peer may stand for many clients: it is a trusted proxy, or proxies are only counted
    /// and any peer is taken for one.
    #[must_use]
    pub fn takes_for_proxy(&self, peer: Peer) -> bool {
        match &self.trust {
            Trust::Nobody => false,
            Trust::Proxies(proxies) => proxies.contains(peer),
            Trust::Hops(_) => true,
        }
    }

    /// The client that asked `peer`'s connection for something with these headers.
    ///
    /// # Errors
    /// When an item that had to be read is no address and the rule says [`OnBad::Deny`].
    pub fn client(&self, peer: Peer, headers: &HeaderMap) -> Result<Client, UnknownClient> {
        let peer = peer.canonical();
        match &self.source {
            Source::Peer => Ok(self.at_peer(peer, headers)),
            Source::XForwardedFor => {
                let items = Items::new(headers.get_all(&X_FORWARDED_FOR), Separator::Comma);
                self.behind(peer, items, address::item)
            }
            Source::Forwarded => {
                let items = Items::new(headers.get_all(FORWARDED), Separator::UnquotedComma);
                self.behind(peer, items, forwarded::client)
            }
            // By convention a proxy sets this header; where it was added, the last line is its.
            Source::Header(name) => {
                let line = headers.get_all(name).into_iter().next_back();
                let value = line.map(|line| line.as_bytes().trim_ascii());
                let item = value.filter(|value| !value.is_empty()).map(Ok);
                self.behind(peer, item.into_iter(), address::item)
            }
        }
    }

    fn at_peer(&self, peer: Peer, headers: &HeaderMap) -> Client {
        let trusted = matches!(&self.trust, Trust::Proxies(proxies) if proxies.contain(peer));
        let ignored = || headers.contains_key(FORWARDED) || headers.contains_key(&X_FORWARDED_FOR);
        let trail = if !trusted && ignored() { Trail::Ignored } else { Trail::Absent };
        Client { who: peer, trusted, trail }
    }

    fn behind<'h>(
        &self,
        peer: Peer,
        items: impl Iterator<Item = Item<'h>>,
        read: fn(&[u8]) -> Option<IpAddr>,
    ) -> Result<Client, UnknownClient> {
        let client = match &self.trust {
            Trust::Proxies(proxies) if proxies.contain(peer) => walk(proxies, peer, items, read),
            Trust::Hops(hops) => count(*hops, peer, items, read),
            Trust::Proxies(_) | Trust::Nobody => untrusted(peer, items),
        };
        match (client.trail, self.on_bad) {
            (Trail::Stopped, OnBad::Deny) => Err(UnknownClient),
            _ => Ok(client),
        }
    }
}

/// What to do about an item that had to be read and is no address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBad {
    /// The client is the last address read before it, at worst the peer.
    #[default]
    Stop,
    /// There is no telling: [`ClientRule::client`] is an error, which calls for a 400.
    Deny,
}

/// The client of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    who: Peer,
    trusted: bool,
    trail: Trail,
}

impl Client {
    /// The exact address, in one form: no zone, and IPv4 written as IPv6 folded to IPv4.
    ///
    /// `None` when all that is known is a Unix socket.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.who {
            Peer::Address(address) => Some(address),
            Peer::Unix => None,
        }
    }

    /// Whether the peer is a proxy whose headers may be believed, such as those naming a user.
    #[must_use]
    pub fn peer_is_trusted(&self) -> bool {
        self.trusted
    }

    /// What became of the headers that name a client.
    #[must_use]
    pub fn trail(&self) -> Trail {
        self.trail
    }
}

/// What became of the headers that name a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trail {
    /// There was none that the rule reads: the client is the peer.
    Absent,
    /// It led to the client.
    Followed,
    /// It came from a peer that is not trusted and was not read: a forgery or, if it comes with
    /// every request, a proxy that should be named in the configuration.
    Ignored,
    /// Reading ended at an item that is no address, or at more than 64 items or 8 KiB: the client
    /// is the last address before that, which is a proxy.
    Stopped,
    /// There were fewer items than [`Trust::Hops`] says: the client is the peer, which did not
    /// come through all the proxies, or their number is wrong.
    Short,
}

/// From right to left up to the first address that is no proxy.
fn walk<'h>(
    proxies: &Proxies,
    peer: Peer,
    items: impl Iterator<Item = Item<'h>>,
    read: fn(&[u8]) -> Option<IpAddr>,
) -> Client {
    let mut client = Client { who: peer, trusted: true, trail: Trail::Absent };
    for item in items {
        let Some(address) = item.ok().and_then(read) else {
            return Client { trail: Trail::Stopped, ..client };
        };
        client = Client { who: Peer::Address(address), trail: Trail::Followed, ..client };
        if !proxies.contain(client.who) {
            break;
        }
    }
    client
}

/// The item that the outermost proxy wrote; what nearer ones wrote is counted, not read.
fn count<'h>(
    hops: NonZeroU8,
    peer: Peer,
    mut items: impl Iterator<Item = Item<'h>>,
    read: fn(&[u8]) -> Option<IpAddr>,
) -> Client {
    match items.nth(usize::from(hops.get() - 1)) {
        // A peer that came past the proxies is none of them.
        None => Client { who: peer, trusted: false, trail: Trail::Short },
        Some(item) => match item.ok().and_then(read) {
            None => Client { who: peer, trusted: true, trail: Trail::Stopped },
            Some(address) => {
                Client { who: Peer::Address(address), trusted: true, trail: Trail::Followed }
            }
        },
    }
}

fn untrusted<'h>(peer: Peer, mut items: impl Iterator<Item = Item<'h>>) -> Client {
    let trail = if items.next().is_some() { Trail::Ignored } else { Trail::Absent };
    Client { who: peer, trusted: false, trail }
}
