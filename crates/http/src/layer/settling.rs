//! Giving charges back and settling them when nobody waits for it any more.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tollgate_core::charge::KeptReceipt;
use tollgate_core::{Receipt, StoreError};

use super::Outcome;
use super::rules::Rules;

/// What becomes of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// It is given back.
    GivenBack,
    /// It turned out to be so much.
    Cost(u64),
}

/// Settles charges, whatever becomes of the request they were made for.
#[derive(Clone)]
pub(super) struct Settler {
    rules: Arc<Rules>,
    runtime: Option<Handle>,
}

impl Settler {
    /// One that works in the runtime of the caller, if it is in one.
    pub(super) fn new(rules: Arc<Rules>) -> Settler {
        Settler { rules, runtime: Handle::try_current().ok() }
    }

    pub(super) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// Settles these at once if the store is in this process, else in a task, which ends also when
    /// nobody awaits it.
    pub(super) fn detached(&self, charges: Vec<(KeptReceipt, Settled)>) -> Option<JoinHandle<()>> {
        let rules = self.rules.clone();
        if let Some(store) = rules.store.local() {
            for (mut kept, settled) in charges {
                if let Some(receipt) = changed(&mut kept, settled) {
                    store.give_now(receipt, settled.cost());
                }
                rules.tell(&kept, settled, Ok(&()));
            }
            return None;
        }
        let Some(runtime) = &self.runtime else {
            let error = StoreError::unavailable("there is no runtime to ask it from");
            for (kept, settled) in charges {
                rules.tell(&kept, settled, Err(&error));
            }
            return None;
        };
        Some(runtime.spawn(async move {
            for (kept, settled) in charges {
                rules.settle(kept, settled).await;
            }
        }))
    }
}

impl Settled {
    fn cost(self) -> u64 {
        match self {
            Settled::GivenBack => 0,
            Settled::Cost(cost) => cost,
        }
    }
}

impl Rules {
    /// Settles a charge, and tells.
    pub(super) async fn settle(&self, mut kept: KeptReceipt, settled: Settled) {
        let result = match changed(&mut kept, settled) {
            Some(receipt) => self.store.give(receipt, settled.cost()).await,
            None => Ok(()),
        };
        self.tell(&kept, settled, result.as_ref());
    }

    fn tell(&self, kept: &KeptReceipt, settled: Settled, result: Result<&(), &StoreError>) {
        let limit = kept.limit();
        self.observe(&match (result, settled) {
            (Err(error), _) => Outcome::Kept(limit, error),
            (Ok(&()), Settled::GivenBack) => Outcome::GivenBack(limit),
            (Ok(&()), Settled::Cost(cost)) => {
                Outcome::Settled { limit, estimate: kept.cost(), cost }
            }
        });
    }
}

/// The receipt, if there is anything to change.
fn changed(kept: &mut KeptReceipt, settled: Settled) -> Option<Receipt<'_>> {
    if kept.cost() == settled.cost() { None } else { kept.take() }
}
