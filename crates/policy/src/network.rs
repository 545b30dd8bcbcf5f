//! Networks and what is said of them, the narrowest first.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// An address or a network in CIDR form, IPv4-mapped IPv6 folded to IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Network(IpNet);

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    /// Reads `203.0.113.9`, `10.0.0.0/8`, `2001:db8::/32`. Bits beyond the prefix do not matter.
    fn from_str(text: &str) -> Result<Network, NetworkError> {
        let net = match text.parse::<IpAddr>() {
            Ok(address) => IpNet::from(address),
            Err(_) => text.parse().map_err(|_| NetworkError)?,
        };
        let folded = match net.addr().to_canonical() {
            IpAddr::V4(v4) if net.addr().is_ipv6() => {
                let prefix = net.prefix_len().checked_sub(96).ok_or(NetworkError)?;
                IpNet::new(v4.into(), prefix).map_err(|_| NetworkError)?
            }
            _ => net,
        };
        Ok(Network(folded.trunc()))
    }
}

/// Why a text is neither an address nor a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NetworkError;

impl NetworkError {
    pub(crate) const EXPECTED: &'static str =
        "an address or a network, such as `203.0.113.9`, `10.0.0.0/8` or `2001:db8::/32`";
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("neither an address nor a network")
    }
}

impl Error for NetworkError {}

/// What is said of networks.
///
/// A look-up costs one probe for each prefix length in use, however many networks there are.
#[derive(Clone, Debug)]
pub(crate) struct Networks<T> {
    lengths: BTreeSet<u8>,
    entries: HashMap<IpNet, T>,
}

impl<T> Default for Networks<T> {
    fn default() -> Networks<T> {
        Networks { lengths: BTreeSet::new(), entries: HashMap::new() }
    }
}

impl<T> Networks<T> {
    /// Says `about` of `network`; gives back what was said before.
    pub(crate) fn insert(&mut self, network: Network, about: T) -> Option<T> {
        self.lengths.insert(network.0.prefix_len());
        self.entries.insert(network.0, about)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What is said of the narrowest network that holds `address`.
    #[inline]
    pub(crate) fn find(&self, address: IpAddr) -> Option<&T> {
        if self.is_empty() { None } else { self.find_narrowest(address) }
    }

    fn find_narrowest(&self, address: IpAddr) -> Option<&T> {
        self.holding(address).next()
    }

    /// What is said of each network that holds `address`, the narrowest first.
    pub(crate) fn holding(&self, address: IpAddr) -> impl Iterator<Item = &T> {
        let address = address.to_canonical();
        self.lengths.iter().rev().filter_map(move |&length| {
            let net = IpNet::new(address, length).ok()?.trunc();
            self.entries.get(&net)
        })
    }

    /// What is said of `network`, to be changed.
    pub(crate) fn entry(&mut self, network: Network) -> &mut T
    where
        T: Default,
    {
        self.lengths.insert(network.0.prefix_len());
        self.entries.entry(network.0).or_default()
    }
}
