//! One element of `Forwarded` (RFC 7239, 4).

use std::net::IpAddr;

use super::address;

/// The address of the element's one `for`; an element in bad form has none.
///
/// Space around `;` is let pass, since proxies write it.
pub(super) fn client(element: &[u8]) -> Option<IpAddr> {
    let mut node = None;
    let mut rest = element.trim_ascii();
    while !rest.is_empty() {
        if !rest.starts_with(b";") {
            let (name, value, after) = pair(rest)?;
            if name.eq_ignore_ascii_case(b"for") && node.replace(value).is_some() {
                return None;
            }
            rest = after.trim_ascii_start();
        }
        rest = match rest.split_first() {
            None => rest,
            Some((b';', after)) => after.trim_ascii_start(),
            Some(_) => return None,
        };
    }
    node?.address()
}

enum Value<'h> {
    Token(&'h [u8]),
    /// What stands between the quotes, with its backslashes.
    Quoted(&'h [u8]),
}

/// No node is longer: an IPv6 address is at most 45 bytes, an interface name 15, a port 5 or so.
const LONGEST_NODE: usize = 96;

impl Value<'_> {
    fn address(&self) -> Option<IpAddr> {
        match self {
            Value::Token(text) => address::node(text),
            Value::Quoted(text) if !text.contains(&b'\\') => address::node(text),
            Value::Quoted(text) => {
                let mut plain = [0; LONGEST_NODE];
                let mut length = 0;
                let mut bytes = text.iter();
                while let Some(&byte) = bytes.next() {
                    *plain.get_mut(length)? = if byte == b'\\' { *bytes.next()? } else { byte };
                    length += 1;
                }
                address::node(plain.get(..length)?)
            }
        }
    }
}

/// A `name=value` at the front: its name, its value and what follows.
fn pair(text: &[u8]) -> Option<(&[u8], Value<'_>, &[u8])> {
    let (name, rest) = token(text)?;
    let rest = rest.strip_prefix(b"=")?;
    let Some(inside) = rest.strip_prefix(b"\"") else {
        let (value, after) = token(rest)?;
        return Some((name, Value::Token(value), after));
    };
    let end = closing_quote(inside)?;
    Some((name, Value::Quoted(inside.get(..end)?), inside.get(end + 1..)?))
}

fn closing_quote(inside: &[u8]) -> Option<usize> {
    let mut escaped = false;
    inside.iter().position(|&byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// A token (RFC 9110, 5.6.2) at the front, and what follows.
fn token(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let may = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let length = text.iter().take_while(|&byte| may(byte)).count();
    (length > 0).then(|| text.split_at(length))
}
