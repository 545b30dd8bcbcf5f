//! Where a key of a limit lives: `tollgate:{client}limit`, at most 200 bytes.
//!
//! The client stands in braces, so that all limits of one client lie in one slot of a Cluster; what
//! a client may choose never closes or opens them. Text that is short and plain stands as it is;
//! anything else is its SHA-256, cut to 128 bits: not fewer, since a client that finds two values of
//! one hash would share, and could burn, the budget of another.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use tollgate_core::{Key, Limit, Net};

/// The longest text that stands as it is.
const PLAIN: usize = 48;

/// The longest prefix.
const LONGEST_PREFIX: usize = 64;

/// What every key begins with, so that the store can share a server with others.
///
/// ```
/// use tollgate_redis::Prefix;
/// assert_eq!(Prefix::default().as_str(), "tollgate:");
/// assert!(Prefix::new("shop:limits:").is_ok());
/// assert!(Prefix::new("a{b}").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// A prefix of at most 64 characters of visible ASCII.
    ///
    /// # Errors
    /// When it is longer, or holds spaces, braces or anything that is not visible ASCII: braces would
    /// choose the slot.
    pub fn new(text: &str) -> Result<Prefix, PrefixError> {
        let fits = text.len() <= LONGEST_PREFIX && text.bytes().all(is_plain);
        if fits { Ok(Prefix(text.to_owned())) } else { Err(PrefixError) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Prefix {
    fn default() -> Prefix {
        Prefix("tollgate:".to_owned())
    }
}

/// A prefix that cannot stand before keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixError;

impl std::fmt::Display for PrefixError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("expected a prefix of at most 64 visible ASCII characters without braces")
    }
}

impl std::error::Error for PrefixError {}

/// The name under which `limit` keeps the budget of `key`, in the slot of `home`.
pub(crate) fn name(prefix: &Prefix, limit: &Limit, key: Key<'_>, home: Key<'_>) -> String {
    let mut name = String::with_capacity(96);
    name.push_str(prefix.as_str());
    name.push('{');
    write_key(&mut name, home);
    name.push('}');
    // 36 of the identity's 64 bits: any two of a hundred limits meet once in 13 million.
    let id = URL_SAFE_NO_PAD.encode(limit.id().to_be_bytes());
    name.push_str(id.get(..6).unwrap_or(&id));
    if key != home {
        name.push('.');
        write_key(&mut name, key);
    }
    name
}

/// The name under which the permits of `key` are counted. No limit's is like it: behind six characters
/// theirs end, or go on with a dot.
pub(crate) fn permits(prefix: &Prefix, of: &str, key: Key<'_>) -> String {
    let mut name = format!("{}{{", prefix.as_str());
    write_key(&mut name, key);
    name.push_str("}permits.");
    write_key(&mut name, of.into());
    name
}

/// What tells kinds of keys apart: text has a mark only where it could be taken for something else.
const MARKS: [char; 4] = [':', '#', '+', '@'];

/// A mark of the kind, then the key itself or its hash.
fn write_key(name: &mut String, key: Key<'_>) {
    // Writing to a string cannot fail.
    let _ = match key {
        Key::Bytes(bytes) => match plain(bytes) {
            Some(text) if text.starts_with(MARKS) || text.is_empty() => write!(name, ":{text}"),
            Some(text) => write!(name, "{text}"),
            None => {
                name.push('#');
                let hash: [u8; 32] = Sha256::digest(bytes).into();
                let [half, _] = hash.as_chunks().0 else { return };
                URL_SAFE_NO_PAD.encode_string::<[u8; 16]>(*half, name);
                Ok(())
            }
        },
        Key::Int(number) => write!(name, "+{number}"),
        Key::Net(net) => write_net(name, net),
    };
}

/// An address in hexadecimal digits, IPv6 only as far as its prefix reaches.
fn write_net(name: &mut String, net: Net) -> std::fmt::Result {
    if net.prefix() == u8::MAX {
        return write!(name, "@{:08x}", net.bits());
    }
    let digits = format!("{:032x}", net.bits());
    let known = usize::from(net.prefix()).div_ceil(4);
    write!(name, "@{}/{}", digits.get(..known).unwrap_or(&digits), net.prefix())
}

fn plain(bytes: &[u8]) -> Option<&str> {
    let fits = bytes.len() <= PLAIN && bytes.iter().copied().all(is_plain);
    if fits { std::str::from_utf8(bytes).ok() } else { None }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'{' && byte != b'}'
}
