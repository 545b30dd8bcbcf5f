//! Who holds the other end of the connection.

use std::net::{IpAddr, SocketAddr};

/// Who holds the other end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// Whoever connected over TCP or QUIC.
    Address(IpAddr),
    /// A process on this machine that connected through a Unix socket: it has no address.
    Unix,
}

impl Peer {
    /// The same peer with its address in one form: IPv4 written as IPv6 is IPv4.
    pub(super) fn canonical(self) -> Peer {
        match self {
            Peer::Address(IpAddr::V6(address)) => Peer::Address(address.to_canonical()),
            Peer::Address(IpAddr::V4(_)) | Peer::Unix => self,
        }
    }
}

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Peer {
        Peer::Address(address)
    }
}

impl From<SocketAddr> for Peer {
    fn from(socket: SocketAddr) -> Peer {
        Peer::Address(socket.ip())
    }
}
