//! Whose word about a client is taken.

use std::net::IpAddr;
use std::num::NonZeroU8;
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::Peer;
use super::error::{ClientRuleError, Fault};

/// Whose word about a client is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Nobody's: headers are not read.
    #[default]
    Nobody,
    /// That of these proxies. The safe choice: it holds however a request comes in.
    Proxies(Proxies),
    /// That of so many proxies, 1 to 64 and the peer included, whatever their addresses.
    ///
    /// Only for a server that cannot be reached past them, since who can reach it may name any
    /// client; and wrong as soon as one more proxy joins in, when all clients become one.
    Hops(NonZeroU8),
}

/// A set of trusted proxies: networks and, if it says so, the peers of Unix sockets.
///
/// Finding an address takes two comparisons for one network and eight for a hundred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    // Both are sorted and disjoint.
    v4: Vec<Ipv4Net>,
    v6: Vec<Ipv6Net>,
    unix: bool,
}

impl Proxies {
    /// Whether `peer` is one of them, in whatever form its address is written.
    ///
    /// ```
    /// use std::net::IpAddr;
    /// use tollgate_http::client::{Peer, Proxies, Proxy};
    /// let proxies: Proxies = ["10.0.0.0/8".parse::<Proxy>()?].into_iter().collect();
    /// assert!(proxies.contains(Peer::Address("::ffff:10.1.2.3".parse::<IpAddr>()?)));
    /// assert!(!proxies.contains(Peer::Unix));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn contains(&self, peer: Peer) -> bool {
        self.contain(peer.canonical())
    }

    /// Whether `peer` is one of them; its address is in canonical form.
    pub(super) fn contain(&self, peer: Peer) -> bool {
        match peer {
            Peer::Unix => self.unix,
            Peer::Address(IpAddr::V4(address)) => last_from(&self.v4, |net| net.addr() <= address)
                .is_some_and(|net| net.contains(&address)),
            Peer::Address(IpAddr::V6(address)) => last_from(&self.v6, |net| net.addr() <= address)
                .is_some_and(|net| net.contains(&address)),
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty() && !self.unix
    }

    /// Whether all addresses of IPv4 or of IPv6 are proxies, so that none of them is a client.
    pub(super) fn are_everyone(&self) -> bool {
        self.v4.iter().any(|net| net.prefix_len() == 0)
            || self.v6.iter().any(|net| net.prefix_len() == 0)
    }
}

impl FromIterator<Proxy> for Proxies {
    fn from_iter<I: IntoIterator<Item = Proxy>>(proxies: I) -> Proxies {
        let (mut v4, mut v6, mut unix) = (Vec::new(), Vec::new(), false);
        for proxy in proxies {
            match proxy {
                Proxy::Unix => unix = true,
                Proxy::Network(IpNet::V4(net)) => v4.push(net),
                Proxy::Network(IpNet::V6(net)) => match unmapped(net) {
                    Some(net) => v4.push(net),
                    None => v6.push(net),
                },
            }
        }
        Proxies { v4: Ipv4Net::aggregate(&v4), v6: Ipv6Net::aggregate(&v6), unix }
    }
}

/// A trusted proxy, or many in one network.
///
/// ```
/// use tollgate_http::client::Proxy;
/// assert!("10.0.0.0/8".parse::<Proxy>().is_ok());
/// assert!("10.1.2.3".parse::<Proxy>().is_ok());
/// assert_eq!("unix".parse(), Ok(Proxy::Unix));
/// assert!("10.1.2.3/8".parse::<Proxy>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// The addresses of a network; bits beyond its prefix mean nothing. IPv6 networks hold no IPv4
    /// addresses, but for those inside `::ffff:0:0/96`, which are taken as IPv4.
    Network(IpNet),
    /// Whoever connects through a Unix socket.
    Unix,
}

impl From<IpNet> for Proxy {
    fn from(network: IpNet) -> Proxy {
        Proxy::Network(network)
    }
}

impl From<IpAddr> for Proxy {
    fn from(address: IpAddr) -> Proxy {
        Proxy::Network(address.into())
    }
}

impl FromStr for Proxy {
    type Err = ClientRuleError;

    /// Reads `10.0.0.0/8`, `fd00::1` or `unix`.
    ///
    /// # Errors
    /// When it is none of these, or the address has bits beyond the prefix: `10.1.2.3/8` may be
    /// meant as one address or as 16 million.
    fn from_str(text: &str) -> Result<Proxy, ClientRuleError> {
        if text == "unix" {
            return Ok(Proxy::Unix);
        }
        let bad = || Fault::NotAProxy(text.to_owned());
        let Some((address, prefix)) = text.split_once('/') else {
            return Ok(text.parse::<IpAddr>().map_err(|_| bad())?.into());
        };
        // Address and number are read apart: ipnet takes leading zeros, which mean octal elsewhere.
        let digits = prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = prefix.parse().ok().filter(|_| digits).ok_or_else(bad)?;
        let network = IpNet::new(address.parse().map_err(|_| bad())?, prefix).map_err(|_| bad())?;
        if network.addr() != network.network() {
            return Err(Fault::BitsBeyondPrefix(network).into());
        }
        Ok(network.into())
    }
}

/// The IPv4 network that this one writes as IPv6, since addresses are compared in canonical form.
fn unmapped(net: Ipv6Net) -> Option<Ipv4Net> {
    let prefix = net.prefix_len().checked_sub(96)?;
    Ipv4Net::new(net.addr().to_ipv4_mapped()?, prefix).ok()
}

/// The last of `sorted` that is not behind what is looked for.
fn last_from<T>(sorted: &[T], not_behind: impl Fn(&T) -> bool) -> Option<&T> {
    sorted.get(sorted.partition_point(not_behind).checked_sub(1)?)
}
