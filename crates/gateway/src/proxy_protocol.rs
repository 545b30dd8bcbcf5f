//! The PROXY protocol, versions 1 and 2: a balancer's word about whose connection it passes on, in
//! front of everything else.
//!
//! It is read from configured peers only, and they must send it: whoever guessed would believe any
//! client that begins like one. <https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt>

mod checksum;
mod text;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt};

/// What version 2 begins with.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// The signature, the version and command, the family, and the length of what follows.
const FIXED: usize = 16;
/// The type of the field that holds a checksum of the whole header.
const CRC32C: u8 = 3;

/// A header that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The connection that is passed on; `None` when the peer speaks for itself, or does not know.
    pub(crate) passed_on: Option<PassedOn>,
    /// The header's bytes.
    pub(crate) length: usize,
}

/// The two ends of the connection that is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PassedOn {
    /// The client.
    pub(crate) source: SocketAddr,
    /// Where it connected to.
    pub(crate) destination: SocketAddr,
}

/// What bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Whole(Header),
    /// A part of a header, of which at least so many bytes are missing.
    Part(usize),
}

/// What `bytes` begin with.
///
/// # Errors
/// When it is no header, whatever may follow.
pub(crate) fn parse(bytes: &[u8]) -> Result<Parsed, Malformed> {
    match bytes.get(..SIGNATURE.len()) {
        Some(start) if start == SIGNATURE => binary(bytes),
        None if !bytes.is_empty() && SIGNATURE.starts_with(bytes) => {
            Ok(Parsed::Part(FIXED - bytes.len()))
        }
        _ => text::parse(bytes),
    }
}

/// Reads a header and nothing behind it.
///
/// # Errors
/// When the peer sends something else or leaves.
pub(crate) async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<Header> {
    let mut bytes = Vec::new();
    loop {
        let parsed = parse(&bytes);
        match parsed.map_err(|malformed| io::Error::new(io::ErrorKind::InvalidData, malformed))? {
            Parsed::Whole(header) => return Ok(header),
            Parsed::Part(missing) => {
                let missing = u64::try_from(missing).unwrap_or(u64::MAX);
                if stream.take(missing).read_buf(&mut bytes).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
}

/// What a peer sent in place of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(&'static str);

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}

fn binary(bytes: &[u8]) -> Result<Parsed, Malformed> {
    let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED>() else {
        // A peer of another version need not be waited for.
        return match bytes.get(SIGNATURE.len()) {
            Some(0x20 | 0x21) | None => Ok(Parsed::Part(FIXED - bytes.len())),
            Some(_) => Err(VERSION),
        };
    };
    let [.., command, family, high, low] = *fixed;
    let length = usize::from(u16::from_be_bytes([high, low]));
    let family = Family::of(command, family)?;
    let Some(block) = rest.get(..length) else { return Ok(Parsed::Part(length - rest.len())) };
    let (passed_on, fields) = family.split(block).ok_or(SHORT)?;
    let whole = bytes.get(..FIXED + length).unwrap_or_default();
    check_fields(whole, fields)?;
    Ok(Parsed::Whole(Header { passed_on, length: FIXED + length }))
}

/// What stands behind the fixed part.
#[derive(Clone, Copy)]
enum Family {
    /// Whatever it is, the peer speaks for itself.
    Ignored,
    Unspecified,
    V4,
    V6,
    /// Two paths on the peer's machine: it is the peer that is known by an address.
    Unix,
}

impl Family {
    fn of(command: u8, family: u8) -> Result<Family, Malformed> {
        match (command, family) {
            (0x20, _) => Ok(Family::Ignored),
            (0x21, 0x00) => Ok(Family::Unspecified),
            (0x21, 0x11) => Ok(Family::V4),
            (0x21, 0x21) => Ok(Family::V6),
            (0x21, 0x31) => Ok(Family::Unix),
            (0x21, _) => Err(Malformed("expected a stream over IPv4, IPv6 or a Unix socket")),
            _ => Err(VERSION),
        }
    }

    /// The addresses and the fields behind them; `None` when the block is too short.
    fn split(self, block: &[u8]) -> Option<(Option<PassedOn>, &[u8])> {
        match self {
            Family::Ignored => Some((None, &[])),
            Family::Unspecified => Some((None, block)),
            Family::V4 => {
                let (source, block) = block.split_first_chunk::<4>()?;
                let (destination, block) = block.split_first_chunk::<4>()?;
                let (ports, fields) = block.split_first_chunk::<4>()?;
                let [source, destination] = [source, destination].map(|at| Ipv4Addr::from(*at));
                Some((Some(between(source.into(), destination.into(), *ports)), fields))
            }
            Family::V6 => {
                let (source, block) = block.split_first_chunk::<16>()?;
                let (destination, block) = block.split_first_chunk::<16>()?;
                let (ports, fields) = block.split_first_chunk::<4>()?;
                let [source, destination] = [source, destination].map(|at| Ipv6Addr::from(*at));
                Some((Some(between(source.into(), destination.into(), *ports)), fields))
            }
            Family::Unix => Some((None, block.split_at_checked(216)?.1)),
        }
    }
}

const VERSION: Malformed = Malformed("expected version 2 and the command LOCAL or PROXY");
const SHORT: Malformed = Malformed("expected addresses as long as their family's");

fn between(source: IpAddr, destination: IpAddr, ports: [u8; 4]) -> PassedOn {
    let [a, b, c, d] = ports;
    PassedOn {
        source: SocketAddr::new(source, u16::from_be_bytes([a, b])),
        destination: SocketAddr::new(destination, u16::from_be_bytes([c, d])),
    }
}

/// Walks through the fields behind the addresses, and checks the checksum if there is one.
fn check_fields(whole: &[u8], mut fields: &[u8]) -> Result<(), Malformed> {
    const OVERRUN: Malformed = Malformed("expected fields that end with the header");
    while !fields.is_empty() {
        let ([kind, high, low], rest) = fields.split_first_chunk::<3>().ok_or(OVERRUN)?;
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (value, rest) = rest.split_at_checked(length).ok_or(OVERRUN)?;
        if *kind == CRC32C {
            let told = value.try_into().map(u32::from_be_bytes);
            let told = told.map_err(|_| Malformed("expected a checksum of four bytes"))?;
            let behind = rest.len();
            let before = whole.len() - behind - value.len();
            let (before, after) = (whole.get(..before), whole.get(whole.len() - behind..));
            let parts = [before.unwrap_or_default(), &[0; 4], after.unwrap_or_default()];
            if checksum::crc32c(&parts) != told {
                return Err(Malformed("expected the checksum to be the header's"));
            }
        }
        fields = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
