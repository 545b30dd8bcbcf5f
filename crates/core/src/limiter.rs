//! The face that users call: limits and the store that keeps them.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::charge::{Charge, Mode, Receipt};
use crate::decision::Decision;
use crate::few::Few;
use crate::key::Key;
use crate::limit::{Limit, LimitError};
use crate::quota::Quota;
use crate::store::{LocalStore, Store, StoreError};

/// One or more limits over a store; every check is charged on all of them or on none.
///
/// Clones share the store and the counts. Over a store in this process the calls answer at once;
/// over any other (`Limiter<dyn Store>`) they have the same names and are awaited.
///
/// Limits of one name, algorithm, period and tick are one count, which each of them charges: a limit
/// given twice is used up twice as fast. Give limits of one store names of their own, none empty,
/// since the names are told in headers and metrics.
///
/// Each call is shown at work on `tollgate::Limiter`, which is this over a store in memory.
#[derive(Debug)]
pub struct Limiter<S: ?Sized> {
    limits: Arc<[Limit]>,
    store: Arc<S>,
}

impl<S: ?Sized> Clone for Limiter<S> {
    fn clone(&self) -> Self {
        Limiter { limits: self.limits.clone(), store: self.store.clone() }
    }
}

impl<S: ?Sized> Limiter<S> {
    /// A limiter of these limits, over a store that may serve others too.
    #[must_use]
    pub fn over(store: Arc<S>, limits: impl IntoIterator<Item = Limit>) -> Limiter<S> {
        Limiter { limits: limits.into_iter().collect(), store }
    }

    /// Its limits, in the order they were given.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// Its store.
    #[must_use]
    pub fn store(&self) -> &Arc<S> {
        &self.store
    }

    /// The same limiter under other quotas, such as those of the caller's plan: `quota_of` says what a
    /// limit's is now, or nothing for one that stays. The counts are the same, so that a client whose
    /// plan changes keeps what it has used.
    ///
    /// Made for one call or kept for many: it costs an allocation or two for each limit that changes,
    /// and none if all stay as they are.
    ///
    /// # Errors
    /// When a quota is of another period, since it would be another count, or cannot be counted
    /// exactly. Nothing is charged then.
    pub fn with_quotas(
        &self,
        mut quota_of: impl FnMut(&Limit) -> Option<Quota>,
    ) -> Result<Limiter<S>, LimitError> {
        let quota_of = |limit| quota_of(limit).filter(|quota| *quota != limit.quota());
        let quotas: Few<Option<Quota>> = self.limits.iter().map(quota_of).collect();
        if quotas.iter().all(Option::is_none) {
            return Ok(self.clone());
        }
        let limits = self.limits.iter().zip(quotas).map(|(limit, quota)| match quota {
            Some(quota) => limit.with_quota(quota),
            None => Ok(limit.clone()),
        });
        Ok(Limiter { limits: limits.collect::<Result<_, _>>()?, store: self.store.clone() })
    }

    fn charges<'l, 'k>(&'l self, key: Key<'k>, cost: u64) -> Vec<Charge<'l, 'k>> {
        self.limits.iter().map(|limit| Charge::new(limit, key).cost(cost)).collect()
    }
}

impl<S: Store + 'static> From<Limiter<S>> for Limiter<dyn Store> {
    /// The same limits over the same store, whatever it is.
    fn from(limiter: Limiter<S>) -> Limiter<dyn Store> {
        Limiter { limits: limiter.limits, store: limiter.store }
    }
}

impl<S: LocalStore + Default> Limiter<S> {
    /// A limiter of these limits with a store of its own.
    #[must_use]
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> Limiter<S> {
        Limiter::over(Arc::default(), limits)
    }
}

impl<S: LocalStore> Limiter<S> {
    /// Charges 1 to `key`.
    #[inline]
    pub fn check<'k>(&self, key: impl Into<Key<'k>>) -> Decision<'_> {
        self.decide(Mode::Charge, key, 1)
    }

    /// Charges `cost` to `key`; 0 always passes, more than the capacity never does.
    #[inline]
    pub fn check_n<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Decision<'_> {
        self.decide(Mode::Charge, key, cost)
    }

    /// What charging `cost` would be told; nothing is written.
    #[inline]
    pub fn peek<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Decision<'_> {
        self.decide(Mode::Peek, key, cost)
    }

    /// Charges as much of `most` as is left; [`Decision::granted`] says how much that was.
    #[inline]
    pub fn take_up_to<'k>(&self, key: impl Into<Key<'k>>, most: u64) -> Decision<'_> {
        self.decide(Mode::UpTo, key, most)
    }

    /// Charges `cost` and keeps the receipts, to give the charge back or settle it later.
    #[inline]
    pub fn charge<'k>(
        &'k self,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> (Decision<'k>, Receipts<'k>) {
        let key = key.into();
        Receipts::split(self.decide(Mode::Charge, key, cost), key)
    }

    /// Gives a whole charge back.
    pub fn refund(&self, receipts: Receipts<'_>) {
        self.settle(receipts, 0);
    }

    /// Replaces an estimated cost by the actual one, which may be higher.
    pub fn settle(&self, receipts: Receipts<'_>, actual: u64) {
        for receipt in receipts.0 {
            self.store.give_now(receipt, actual);
        }
    }

    /// Charges `cost` under another limit, such as the caller's plan. Limits of one name and period
    /// share a count, so a client whose plan changes keeps what it has used.
    #[inline]
    pub fn check_under<'l, 'k>(
        &self,
        limit: &'l Limit,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> Decision<'l> {
        self.store.decide_one(Mode::Charge, &Charge::new(limit, key).cost(cost))
    }

    // Always: what is known of a call, such as its mode, spares most of a decision's work.
    #[inline(always)]
    fn decide<'k>(&self, mode: Mode, key: impl Into<Key<'k>>, cost: u64) -> Decision<'_> {
        match &*self.limits {
            [limit] => self.store.decide_one(mode, &Charge::new(limit, key).cost(cost)),
            _ => self.decide_several(mode, key, cost),
        }
    }

    // The key as the caller has it, and each charge made where it stands: what is copied as a whole
    // soon after its parts were written makes the processor wait.
    #[inline(never)]
    fn decide_several<'k>(&self, mode: Mode, key: impl Into<Key<'k>>, cost: u64) -> Decision<'_> {
        let key = key.into();
        let charge = |limit| Charge::new(limit, key).cost(cost);
        // Up to four limits are charged without an allocation.
        match &*self.limits {
            [a, b] => self.store.decide_now(mode, &[charge(a), charge(b)]),
            [a, b, c] => self.store.decide_now(mode, &[charge(a), charge(b), charge(c)]),
            [a, b, c, d] => {
                self.store.decide_now(mode, &[charge(a), charge(b), charge(c), charge(d)])
            }
            _ => self.store.decide_now(mode, &self.charges(key, cost)),
        }
    }
}

impl Limiter<dyn Store> {
    /// Charges 1 to `key`.
    ///
    /// # Errors
    /// When the store could not be asked; so in every method here.
    pub async fn check<'k>(&self, key: impl Into<Key<'k>>) -> Result<Decision<'_>, StoreError> {
        self.decide(Mode::Charge, key.into(), 1).await
    }

    /// Charges `cost` to `key`; 0 always passes, more than the capacity never does.
    ///
    /// # Errors
    /// When the store could not be asked.
    pub async fn check_n<'k>(
        &self,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> Result<Decision<'_>, StoreError> {
        self.decide(Mode::Charge, key.into(), cost).await
    }

    /// What charging `cost` would be told; nothing is written.
    ///
    /// # Errors
    /// When the store could not be asked.
    pub async fn peek<'k>(
        &self,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> Result<Decision<'_>, StoreError> {
        self.decide(Mode::Peek, key.into(), cost).await
    }

    /// Charges as much of `most` as is left; [`Decision::granted`] says how much that was.
    ///
    /// # Errors
    /// When the store could not be asked.
    pub async fn take_up_to<'k>(
        &self,
        key: impl Into<Key<'k>>,
        most: u64,
    ) -> Result<Decision<'_>, StoreError> {
        self.decide(Mode::UpTo, key.into(), most).await
    }

    /// Charges `cost` and keeps the receipts, to give the charge back or settle it later.
    ///
    /// # Errors
    /// When the store could not be asked.
    pub async fn charge<'k>(
        &'k self,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> Result<(Decision<'k>, Receipts<'k>), StoreError> {
        let key = key.into();
        Ok(Receipts::split(self.decide(Mode::Charge, key, cost).await?, key))
    }

    /// Gives a whole charge back.
    ///
    /// # Errors
    /// When the store could not be asked.
    pub async fn refund(&self, receipts: Receipts<'_>) -> Result<(), StoreError> {
        self.settle(receipts, 0).await
    }

    /// Replaces an estimated cost by the actual one, which may be higher.
    ///
    /// # Errors
    /// When the store could not be asked; receipts not yet settled stay charged as they were.
    pub async fn settle(&self, receipts: Receipts<'_>, actual: u64) -> Result<(), StoreError> {
        for receipt in receipts.0 {
            self.store.give(receipt, actual).await?;
        }
        Ok(())
    }

    /// Charges `cost` under another limit, such as the caller's plan. Limits of one name and period
    /// share a count, so a client whose plan changes keeps what it has used.
    ///
    /// # Errors
    /// When the store could not be asked.
    pub async fn check_under<'l, 'k>(
        &self,
        limit: &'l Limit,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> Result<Decision<'l>, StoreError> {
        let charge = Charge::new(limit, key).cost(cost);
        self.store.decide(Mode::Charge, &[charge]).await
    }

    async fn decide(
        &self,
        mode: Mode,
        key: Key<'_>,
        cost: u64,
    ) -> Result<Decision<'_>, StoreError> {
        self.store.decide(mode, &self.charges(key, cost)).await
    }
}

/// The proof of one request's charges, one receipt per limit; empty after a refusal.
#[derive(Debug)]
#[must_use = "receipts that are dropped leave the charges as they are"]
pub struct Receipts<'k>(Few<Receipt<'k>>);

impl<'k> Receipts<'k> {
    /// Takes the receipts of a decision, for faces like this one; `key` must be the key that was
    /// charged.
    #[inline]
    pub fn split(mut decision: Decision<'k>, key: Key<'k>) -> (Decision<'k>, Receipts<'k>) {
        let receipts = decision.answers_mut().filter_map(|a| a.take_receipt(key)).collect();
        (decision, Receipts(receipts))
    }
}

impl<'k> IntoIterator for Receipts<'k> {
    type Item = Receipt<'k>;
    type IntoIter = <Few<Receipt<'k>> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
