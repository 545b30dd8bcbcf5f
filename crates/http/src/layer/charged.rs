//! What a request was charged, until it is known what stays of it.

use std::mem;
use std::sync::Arc;

use http::HeaderMap;
use tollgate_core::Decision;
use tollgate_core::charge::KeptReceipt;
use tollgate_policy::{Count, LimitSpec, Matches, Settlement};

use super::line::Place;
use super::meter::{Meter, Metered, Reading};
use super::rules::{Nesting, Rules};
use super::settling::{Settled, Settler};
use super::told::{Spent, told_in_head};
use super::{Outcome, Untold};

/// A request that waits for its turn. Dropped before that it gives its charges back: it never reached
/// the service.
pub(super) struct Turn {
    place: Place,
    charged: Charged,
}

/// The charges of one request that may be given back or settled. Dropped while the service has the
/// request they stay: nobody knows what it has done by then.
pub(super) struct Charged {
    settler: Settler,
    /// In the order of the limits that apply.
    slots: Vec<Slot>,
    stage: Stage,
}

#[derive(Default)]
struct Slot {
    receipt: Option<KeptReceipt>,
    settlement: Option<Settlement>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It waits for its turn.
    Waiting,
    /// The service has it.
    Serving,
}

impl Turn {
    /// The turn of a request that passes; `None` when that is now.
    pub(super) fn of(
        rules: &Arc<Rules>,
        matches: Matches<'_, '_>,
        decision: &mut Decision<'_>,
    ) -> Option<Turn> {
        let place = rules.place(decision)?;
        let charged = Charged::taken(rules, matches, decision, Stage::Waiting, |_| true);
        rules.observe(&Outcome::Held);
        Some(Turn { place, charged })
    }

    /// Waits for it.
    pub(super) async fn await_it(self) -> Charged {
        let Turn { place, mut charged } = self;
        place.await;
        charged.stage = Stage::Serving;
        charged.settler.rules().observe(&Outcome::Released);
        charged
    }
}

impl Charged {
    /// The charges that may not stay as they are; `None` when all will.
    pub(super) fn of(
        rules: &Arc<Rules>,
        matches: Matches<'_, '_>,
        decision: &mut Decision<'_>,
    ) -> Option<Charged> {
        if rules.keeps_all() {
            return None;
        }
        let nested = rules.nesting == Nesting::Refunded;
        let may_change = |spec: &LimitSpec| {
            nested || spec.settlement().is_some() || spec.counted() != Count::All
        };
        Some(Charged::taken(rules, matches, decision, Stage::Serving, may_change))
    }

    fn taken(
        rules: &Arc<Rules>,
        matches: Matches<'_, '_>,
        decision: &mut Decision<'_>,
        stage: Stage,
        of: impl Fn(&LimitSpec) -> bool,
    ) -> Charged {
        let slots = matches.iter().zip(decision.answers_mut()).map(|(matched, answer)| {
            if !of(matched.spec) {
                return Slot::default();
            }
            let receipt = answer.take_receipt(matched.key);
            let receipt = receipt.map(|receipt| receipt.beside(matched.home).keep());
            Slot { receipt, settlement: matched.spec.settlement().cloned() }
        });
        Charged { settler: Settler::new(rules.clone()), slots: slots.collect(), stage }
    }

    /// Gives the charges back to these of the limits.
    pub(super) async fn give_back(
        &mut self,
        matches: Matches<'_, '_>,
        of: impl Fn(&LimitSpec) -> bool,
    ) {
        for (matched, slot) in matches.iter().zip(&mut self.slots) {
            if of(matched.spec)
                && let Some(receipt) = slot.receipt.take()
            {
                self.settler.rules().settle(receipt, Settled::GivenBack).await;
            }
        }
    }

    /// Settles what the head of the answer tells; what its body will tell is for the meter.
    pub(super) async fn settle(
        mut self,
        spent: Option<Spent>,
        head: &HeaderMap,
    ) -> Option<Box<Meter>> {
        let (mut due, mut metered) = (Vec::new(), Vec::new());
        for slot in mem::take(&mut self.slots) {
            let (Some(receipt), Some(settlement)) = (slot.receipt, slot.settlement) else {
                continue;
            };
            match told_in_head(&settlement, spent, head) {
                Some(Ok(cost)) => due.push((receipt, Settled::Cost(cost))),
                Some(Err(why)) => self.untold(&receipt, why),
                None => match Reading::of(&settlement, head) {
                    Ok(reading) => metered.push(Metered::new(receipt, settlement, reading)),
                    Err(why) => self.untold(&receipt, why),
                },
            }
        }
        if !due.is_empty()
            && let Some(task) = self.settler.detached(due)
        {
            // Awaited, so that the client's next request finds it done; if that is not awaited any
            // more, it is done nevertheless.
            let _ = task.await;
        }
        let meter = Meter::new(self.settler.clone(), metered);
        meter.map(Box::new)
    }

    fn untold(&self, receipt: &KeptReceipt, why: Untold) {
        self.settler.rules().observe(&Outcome::Estimated(receipt.limit(), why));
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        match self.stage {
            Stage::Waiting => {
                self.settler.rules().observe(&Outcome::Left);
                let receipts = self.slots.iter_mut().filter_map(|slot| slot.receipt.take());
                let back = receipts.map(|receipt| (receipt, Settled::GivenBack)).collect();
                // Nobody is there to wait for it.
                drop(self.settler.detached(back));
            }
            Stage::Serving => {
                for slot in &self.slots {
                    if let (Some(receipt), Some(_)) = (&slot.receipt, &slot.settlement) {
                        self.untold(receipt, Untold::Cut);
                    }
                }
            }
        }
    }
}
