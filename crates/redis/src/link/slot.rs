//! Which slot of a cluster a key lives in.

use crc16::{State, XMODEM};

/// The number of slots of every cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// The slot of a key: the hash of what stands in its first braces, or of all of it.
///
/// An empty tag is none, and a key without a closing brace has none.
#[must_use]
pub fn slot(key: &[u8]) -> u16 {
    State::<XMODEM>::calculate(tag(key)) % SLOTS
}

fn tag(key: &[u8]) -> &[u8] {
    let inside = |key: &'_ [u8]| -> Option<(usize, usize)> {
        let open = key.iter().position(|byte| *byte == b'{')? + 1;
        let length = key.get(open..)?.iter().position(|byte| *byte == b'}')?;
        (length > 0).then_some((open, open + length))
    };
    inside(key).and_then(|(from, to)| key.get(from..to)).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `CLUSTER KEYSLOT` of Redis 7.0.15 says.
    #[test]
    fn slots_are_those_of_the_server() {
        for (key, of) in [
            ("", 0),
            ("foo", 12_182),
            ("123456789", 12_739),
            ("{foo}bar", 12_182),
            ("x{foo}{bar}", 12_182),
        ] {
            assert_eq!(slot(key.as_bytes()), of, "{key}");
        }
    }

    #[test]
    fn an_empty_or_open_tag_is_none() {
        for key in ["a{}{foo}", "a{foo", "}a{", "{}"] {
            assert_eq!(tag(key.as_bytes()), key.as_bytes());
        }
        assert_eq!(tag(b"a{{foo}}"), b"{foo");
    }
}
