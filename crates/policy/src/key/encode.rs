//! How the parts of a key become one key: no two tuples of values become the same.

#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};
use smallvec::SmallVec;
use std::ops::Range;
use tollgate_core::Key;

use super::KeyPart;

/// The most bytes a key has. What would be longer is replaced by its SHA-256.
pub(crate) const MOST: usize = 128;

/// Before the hash of a long key; no kind of part has this number.
const HASHED: u8 = 0xff;

/// Added to the kind of a part that stands in for a missing one.
const STAND_IN: u8 = 0x40;

/// The bytes of a request's keys: four of them fit without an allocation.
pub(crate) type KeyBytes = SmallVec<[u8; 4 * MOST]>;

/// Where a key is kept.
#[derive(Clone, Debug)]
pub(crate) enum Encoded {
    /// In itself: a network or a number.
    Whole(Key<'static>),
    /// In these bytes of the buffer.
    Bytes(Range<usize>),
}

/// A key in the making, at the end of a buffer.
///
/// Each part is its kind, its length and its bytes, so parts cannot run into each other whatever
/// they hold. SHA-256 and nothing weaker, since a client that finds two values of one hash would
/// share, and could burn, the budget of another.
pub(crate) struct KeyBuffer<'b> {
    bytes: &'b mut KeyBytes,
    start: usize,
    hash: Option<Sha256>,
}

impl<'b> KeyBuffer<'b> {
    pub(crate) fn new(bytes: &'b mut KeyBytes) -> KeyBuffer<'b> {
        let start = bytes.len();
        KeyBuffer { bytes, start, hash: None }
    }

    /// Adds a part; `stands_in` when it replaces a missing one. Gives where it stands, if the key is
    /// not hashed: that is what a key of this part alone consists of.
    pub(crate) fn part(
        &mut self,
        part: &KeyPart,
        stands_in: bool,
        value: &[u8],
    ) -> Option<Range<usize>> {
        let start = self.bytes.len();
        let kind = part.kind() | if stands_in { STAND_IN } else { 0 };
        match u8::try_from(value.len()) {
            Ok(length @ ..=0x7f) => self.put(&[kind, length]),
            _ => {
                self.put(&[kind]);
                self.put_length(value.len());
            }
        }
        self.put(value);
        self.hash.is_none().then(|| start..self.bytes.len())
    }

    /// Whether its parts stand no longer where they were put.
    pub(crate) fn is_hashed(&self) -> bool {
        self.hash.is_some()
    }

    /// The finished key's place.
    pub(crate) fn finish(self) -> Encoded {
        if let Some(hash) = self.hash {
            self.bytes.push(HASHED);
            self.bytes.extend_from_slice(&hash.finalize());
        }
        Encoded::Bytes(self.start..self.bytes.len())
    }

    /// Forgets what was put.
    pub(crate) fn abandon(self) {
        self.bytes.truncate(self.start);
    }

    fn put(&mut self, more: &[u8]) {
        if let Some(hash) = &mut self.hash {
            hash.update(more);
        } else if self.bytes.len() - self.start + more.len() <= MOST {
            self.bytes.extend_from_slice(more);
        } else {
            let mut hash = Sha256::new();
            hash.update(self.bytes.get(self.start..).unwrap_or_default());
            hash.update(more);
            self.bytes.truncate(self.start);
            self.hash = Some(hash);
        }
    }

    /// Seven bits a byte, the lowest first, the last byte below 128.
    fn put_length(&mut self, mut length: usize) {
        while length > 0x7f {
            self.put(&[u8::try_from(length & 0x7f).unwrap_or(0) | 0x80]);
            length >>= 7;
        }
        self.put(&[u8::try_from(length).unwrap_or(0)]);
    }
}
