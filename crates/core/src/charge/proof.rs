//! A receipt apart from what was charged.

use super::Receipt;
use crate::algorithm::State;
use crate::decision::Source;
use crate::key::Key;
use crate::limit::Limit;

/// What a receipt says besides its limit and its keys, for whoever has those anyway: it copies none of
/// them and costs no allocation.
///
/// ```
/// use tollgate_core::algorithm::State;
/// use tollgate_core::charge::Proof;
/// use tollgate_core::{Answer, Effect, Key, Limit, Quota, Tick, Verdict};
/// let limit = Limit::new("tokens", Quota::per_minute(100))?;
/// let (now, key) = (Tick::EPOCH, Key::from("ann"));
/// let at = (now, limit.moment(now, &key));
/// let mut answer = Answer::new(&limit, Effect::Enforce, Verdict::Allow, 80, State::FRESH, at);
/// let proof: Proof = answer.take_receipt(key).expect("80 were charged").into_proof();
/// assert_eq!(proof.of(&limit, key).charged().cost, 80);
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Debug)]
#[must_use = "a proof that is dropped leaves the charge as it is"]
pub struct Proof {
    cost: u64,
    left: State,
    source: Source,
}

impl Receipt<'_> {
    /// The same without its limit and its keys.
    pub fn into_proof(self) -> Proof {
        Proof { cost: self.cost, left: self.left, source: self.source }
    }
}

impl Proof {
    /// The receipt again. Limit and key must be those that were charged, and a charge that was made
    /// [`beside`](Receipt::beside) a wider key has to be told that again.
    pub fn of<'k>(self, limit: &'k Limit, key: Key<'k>) -> Receipt<'k> {
        Receipt::new(limit, key, self.cost, self.left, self.source)
    }
}
