//! A receipt that outlives the request it was made for.

use alloc::boxed::Box;

use super::Receipt;
use crate::algorithm::State;
use crate::decision::Source;
use crate::key::{Key, Net};
use crate::limit::Limit;

/// A receipt with a limit and keys of its own, for a charge that is given back or settled once the
/// request is gone: when its answer has been sent, or its client has left.
///
/// It costs an allocation for the limit's name and one for each key of bytes.
///
/// ```
/// use tollgate_core::algorithm::State;
/// use tollgate_core::charge::KeptReceipt;
/// use tollgate_core::{Answer, Effect, Key, Limit, Quota, Tick, Verdict};
/// let mut kept: KeptReceipt = {
///     let limit = Limit::new("tokens", Quota::per_minute(100))?;
///     let (now, key) = (Tick::EPOCH, Key::from("ann"));
///     let at = (now, limit.moment(now, &key));
///     let mut answer = Answer::new(&limit, Effect::Enforce, Verdict::Allow, 80, State::FRESH, at);
///     answer.take_receipt(key).expect("80 were charged").keep()
/// };
/// let receipt = kept.take().expect("it was not taken yet");
/// assert_eq!((receipt.limit().name(), receipt.key()), ("tokens", Key::from("ann")));
/// assert_eq!(receipt.charged().cost, 80);
/// assert!(kept.take().is_none());
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Debug)]
#[must_use = "a receipt that is dropped leaves the charge as it is"]
pub struct KeptReceipt {
    limit: Limit,
    key: OwnKey,
    home: OwnKey,
    cost: u64,
    left: State,
    source: Source,
    taken: Taken,
}

/// Whether the receipt has been used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    No,
    Yes,
}

#[derive(Debug)]
enum OwnKey {
    Bytes(Box<[u8]>),
    Int(u64),
    Net(Net),
}

impl Receipt<'_> {
    /// The same receipt, holding its limit and its keys itself.
    pub fn keep(self) -> KeptReceipt {
        KeptReceipt {
            limit: self.limit.clone(),
            key: self.key.into(),
            home: self.home.into(),
            cost: self.cost,
            left: self.left,
            source: self.source,
            taken: Taken::No,
        }
    }
}

impl KeptReceipt {
    /// The limit that was charged.
    #[must_use]
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// What was charged.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// The receipt, once.
    #[must_use]
    pub fn take(&mut self) -> Option<Receipt<'_>> {
        if core::mem::replace(&mut self.taken, Taken::Yes) == Taken::Yes {
            return None;
        }
        let receipt = Receipt::new(&self.limit, self.key.lent(), self.cost, self.left, self.source);
        Some(receipt.beside(self.home.lent()))
    }
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
    fn lent(&self) -> Key<'_> {
        match self {
            OwnKey::Bytes(bytes) => Key::Bytes(bytes),
            OwnKey::Int(number) => Key::Int(*number),
            OwnKey::Net(net) => Key::Net(*net),
        }
    }
}
