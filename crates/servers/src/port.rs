//! Ports that no other test takes, in this process or another.

use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Below the range from which Linux takes the ports of outgoing connections (32768 and up): a server
/// that is down for a moment finds its port free when it comes back.
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// A loopback port held for this value's life, listened on by nobody yet.
///
/// It is held by an abstract Unix socket of the port's name, which the kernel frees when this process
/// ends, however it ends.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _held: UnixListener,
}

impl Port {
    /// Takes a free port.
    ///
    /// # Panics
    ///
    /// When all 12,000 are taken.
    #[must_use]
    pub fn take() -> Self {
        // Processes begin at different places, which spares them most of the search.
        let skipped = usize::try_from(std::process::id()).unwrap_or(0) % RANGE.len();
        match RANGE.cycle().skip(skipped).take(RANGE.len()).find_map(Self::hold) {
            Some(port) => port,
            None => crate::give_up("no loopback port between 20000 and 31999 is free"),
        }
    }

    /// The port's number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    fn hold(number: u16) -> Option<Self> {
        let name = SocketAddr::from_abstract_name(format!("tollgate-port-{number}")).ok()?;
        let held = UnixListener::bind_addr(&name).ok()?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        Some(Self { number, _held: held })
    }
}
