//! Version 1: one line of text.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Header, Malformed, Parsed, PassedOn};

/// The longest line, its end included.
const LONGEST: usize = 107;
/// `PROXY UNKNOWN` and the end.
const SHORTEST: usize = 15;
const START: &[u8] = b"PROXY ";
const FORM: Malformed = Malformed("expected `PROXY TCP4|TCP6 source destination port port`");

pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, Malformed> {
    if !bytes.starts_with(START) && !START.starts_with(bytes) {
        return Err(Malformed("expected a PROXY header"));
    }
    let seen = bytes.get(..LONGEST).unwrap_or(bytes);
    let Some(end) = seen.iter().position(|byte| *byte == b'\n') else {
        let end = if seen.ends_with(b"\r") { 1 } else { 2 };
        return match seen.len() {
            LONGEST => Err(Malformed("expected a line of at most 107 bytes")),
            length => Ok(Parsed::Part(end.max(SHORTEST.saturating_sub(length)))),
        };
    };
    let line = seen.get(..end).and_then(|line| line.strip_suffix(b"\r"));
    let line = line.ok_or(Malformed("expected a line that ends with CR LF"))?;
    let said = line.strip_prefix(START).ok_or(FORM)?;
    let passed_on = match said.strip_prefix(b"UNKNOWN") {
        Some(b"" | [b' ', ..]) => None,
        _ => Some(addresses(std::str::from_utf8(said).map_err(|_| FORM)?).ok_or(FORM)?),
    };
    Ok(Parsed::Whole(Header { passed_on, length: end + 1 }))
}

fn addresses(said: &str) -> Option<PassedOn> {
    let mut words = said.split(' ');
    let mut word = || words.next();
    let (family, source, destination) = (word()?, word()?, word()?);
    let (source_port, destination_port) = (port(word()?)?, port(word()?)?);
    if word().is_some() {
        return None;
    }
    let (source, destination) = match family {
        "TCP4" => {
            (source.parse::<Ipv4Addr>().ok()?.into(), destination.parse::<Ipv4Addr>().ok()?.into())
        }
        "TCP6" => {
            (source.parse::<Ipv6Addr>().ok()?.into(), destination.parse::<Ipv6Addr>().ok()?.into())
        }
        _ => return None,
    };
    Some(PassedOn {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
    })
}

/// A port in digits, without zeros in front.
fn port(text: &str) -> Option<u16> {
    let plain = text == "0" || text.starts_with(|first: char| matches!(first, '1'..='9'));
    text.parse().ok().filter(|_| plain)
}
