//! An address as proxies write it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An item of `X-Forwarded-For`: `v4`, `v4:port`, `v6`, `[v6]` or `[v6]:port`.
pub(super) fn item(text: &[u8]) -> Option<IpAddr> {
    host(text, is_number).or_else(|| canonical(v6(text)?.into()))
}

/// A node of `Forwarded` (RFC 7239, 6): IPv6 only in brackets, and a port may be hidden.
pub(super) fn node(text: &[u8]) -> Option<IpAddr> {
    host(text, |port| is_number(port) || is_hidden(port))
}

fn host(text: &[u8], is_port: impl Fn(&[u8]) -> bool) -> Option<IpAddr> {
    let (address, after) = match text.strip_prefix(b"[") {
        Some(inside) => {
            let end = inside.iter().position(|&byte| byte == b']')?;
            (IpAddr::V6(v6(inside.get(..end)?)?), inside.get(end + 1..)?)
        }
        None => {
            let end = text.iter().position(|&byte| byte == b':').unwrap_or(text.len());
            (IpAddr::V4(v4(text.get(..end)?)?), text.get(end..)?)
        }
    };
    match after.split_first() {
        None => canonical(address),
        Some((b':', port)) if is_port(port) => canonical(address),
        Some(_) => None,
    }
}

/// Leading zeros are no address: one text would be three (octal, decimal, none).
fn v4(text: &[u8]) -> Option<Ipv4Addr> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// The zone names an interface of whoever wrote it and says nothing here.
fn v6(text: &[u8]) -> Option<Ipv6Addr> {
    let end = text.iter().position(|&byte| byte == b'%').unwrap_or(text.len());
    let (address, zone) = (text.get(..end)?, text.get(end + 1..));
    if zone.is_some_and(|zone| !is_zone(zone)) {
        return None;
    }
    str::from_utf8(address).ok()?.parse().ok()
}

/// One form for one address; the unspecified one is nobody's.
fn canonical(address: IpAddr) -> Option<IpAddr> {
    Some(address.to_canonical()).filter(|address| !address.is_unspecified())
}

fn is_number(port: &[u8]) -> bool {
    (1..=5).contains(&port.len()) && port.iter().all(u8::is_ascii_digit)
}

fn is_hidden(port: &[u8]) -> bool {
    port.strip_prefix(b"_").is_some_and(is_name)
}

// RFC 6874 writes the `%` of a zone as `%25`.
fn is_zone(zone: &[u8]) -> bool {
    is_name(zone.strip_prefix(b"25").filter(|rest| !rest.is_empty()).unwrap_or(zone))
}

fn is_name(name: &[u8]) -> bool {
    let may = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name.iter().all(may)
}
