//! A key that outlives the call it came with.

use tollgate_core::{Key, Net};

/// A key that holds its bytes itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OwnKey {
    Bytes(Box<[u8]>),
    Int(u64),
    Net(Net),
}

impl From<Key<'_>> for OwnKey {
    fn from(key: Key<'_>) -> OwnKey {
        match key {
            Key::Bytes(bytes) => OwnKey::Bytes(bytes.into()),
            Key::Int(number) => OwnKey::Int(number),
            Key::Net(net) => OwnKey::Net(net),
        }
    }
}

impl OwnKey {
    pub(crate) fn lent(&self) -> Key<'_> {
        match self {
            OwnKey::Bytes(bytes) => Key::Bytes(bytes),
            OwnKey::Int(number) => Key::Int(*number),
            OwnKey::Net(net) => Key::Net(*net),
        }
    }

    /// An order of all keys.
    pub(crate) fn order(&self) -> impl Ord + '_ {
        match self {
            OwnKey::Bytes(bytes) => (0u8, &**bytes, [0; 3]),
            OwnKey::Int(number) => (1, [].as_slice(), [*number, 0, 0]),
            OwnKey::Net(net) => (2, [].as_slice(), net.to_words()),
        }
    }
}
