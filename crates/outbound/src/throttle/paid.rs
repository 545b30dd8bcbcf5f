//! What was charged for a call: given back or settled once, or kept as it is.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_core::charge::Proof;
use tollgate_core::{Receipt, StoreError};

use super::ask::Terms;
use super::caught;
use super::part::OwnPart;
use crate::sync::Runtime;

/// What was charged for a call. Neither one throttle nor few limits take an allocation.
#[derive(Default)]
pub(crate) struct Paid {
    parts: SmallVec<[PaidPart; 1]>,
    /// Where a task runs that gives back to a store that does not answer at once.
    runtime: Option<Runtime>,
    /// The limits of several throttles, if not of one alone.
    terms: Option<Arc<Terms>>,
}

/// What the limits of one throttle have charged.
struct PaidPart {
    part: OwnPart,
    /// One for each limit, if that charged anything.
    proofs: Proofs,
}

/// What is known of a charge by each limit of a throttle, in their order.
pub(crate) type Proofs = SmallVec<[Option<Proof>; 2]>;

impl Paid {
    pub(crate) fn nothing() -> Paid {
        Paid::default()
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.parts.is_empty()
    }

    /// Notes what the limits of a throttle have charged.
    pub(crate) fn add(&mut self, part: OwnPart, proofs: Proofs) {
        self.parts.push(PaidPart { part, proofs });
    }

    /// Gives back in tasks of this runtime, where a store does not answer at once.
    pub(crate) fn run_on(&mut self, runtime: Option<Runtime>) {
        self.runtime = runtime.or(self.runtime.take());
    }

    /// It was charged on these terms.
    pub(crate) fn on(self, terms: Option<Arc<Terms>>) -> Paid {
        Paid { terms, ..self }
    }

    /// Does something when it is dropped, and has those look again who were refused because of this by
    /// the throttles that the call had passed before.
    pub(crate) fn forgiving<F: FnOnce() + Send>(
        &self,
        then: F,
    ) -> Finally<impl FnOnce() + Send + use<F>> {
        let terms = self.terms.clone();
        Finally(Some(move || {
            then();
            if let Some(terms) = terms {
                terms.forgive();
            }
        }))
    }

    /// Gives everything back, in a task where the store does not answer at once, and does something
    /// then: also when that task is lost with its runtime.
    pub(crate) fn give_back(mut self, then: impl FnOnce() + Send + 'static) {
        let then = self.forgiving(then);
        self.parts.retain(|PaidPart { part, proofs }| match part.limiter.store().local() {
            Some(store) => {
                let receipts = receipts(part, std::mem::take(proofs));
                // Nobody is left who could be told of one that panics.
                receipts.for_each(|receipt| {
                    drop(caught::at_once(|| store.give_now(receipt, 0)));
                });
                false
            }
            None => true,
        });
        match self.runtime.clone() {
            Some(runtime) if !self.parts.is_empty() => {
                runtime.spawn(async move {
                    // Nobody is left who could be told.
                    let _ = self.return_all().await;
                    drop(then);
                });
            }
            _ => drop(then),
        }
    }

    pub(crate) async fn return_all(self) -> Result<(), StoreError> {
        self.settle(0).await
    }

    /// Replaces what was charged by the actual cost. A store that fails is not asked again for the same
    /// throttle; others are.
    pub(crate) async fn settle(self, actual: u64) -> Result<(), StoreError> {
        let mut settled = Ok(());
        for part in self.parts {
            settled = settled.and(part.settle(actual).await);
        }
        settled
    }
}

impl PaidPart {
    async fn settle(self, actual: u64) -> Result<(), StoreError> {
        let PaidPart { part, proofs } = self;
        for receipt in receipts(&part, proofs) {
            caught::reply(|| part.limiter.store().give(receipt, actual)).await?;
        }
        Ok(())
    }
}

/// The receipts of what the limits of a throttle have charged.
fn receipts(part: &OwnPart, proofs: Proofs) -> impl Iterator<Item = Receipt<'_>> {
    let (limits, key) = (part.limiter.limits(), part.key.lent());
    limits.iter().zip(proofs).filter_map(move |(limit, proof)| Some(proof?.of(limit, key)))
}

/// Does something once, when it is dropped.
pub(crate) struct Finally<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Finally<F> {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            then();
        }
    }
}

impl fmt::Debug for Paid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parts.iter().map(|paid| (&paid.part, &paid.proofs))).finish()
    }
}
