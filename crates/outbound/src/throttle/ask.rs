//! Asking a store, or several, for one call: all of it is charged or nothing.

use smallvec::SmallVec;
use tollgate_core::algorithm::Patience;
use tollgate_core::{Charge, Decision, Key, Limit, Mode, Receipt, Span, Verdict};

use super::paid::{Paid, Proofs};
use super::part::{Distance, OwnPart, Part};
use super::stage::Stage;
use super::wish::Answer;
use super::{again, caught};
use crate::error::Kind;
use crate::sync::Runtime;

/// The limits of several throttles, and the keys that they charge.
#[derive(Debug)]
pub(crate) struct Terms {
    /// Those of one store side by side.
    parts: Vec<OwnPart>,
    distance: Distance,
    /// Where the call has its turn already.
    passed: Vec<Stage>,
}

impl Terms {
    /// Those of the throttles that a call has passed when it comes to its last one.
    pub(super) fn new(passed: Vec<Stage>, last: &Stage) -> Terms {
        let stages = passed.iter().chain([last]);
        let parts = stages.filter_map(|stage| stage.shared.part(&stage.key));
        let mut sorted: Vec<OwnPart> = Vec::new();
        for part in parts.filter(|part| !part.limiter.limits().is_empty()) {
            let beside = sorted.iter().rposition(|other| other.lent().is_with(&part.lent()));
            sorted.insert(beside.map_or(sorted.len(), |at| at + 1), part);
        }
        let distance = Distance::of(sorted.iter().map(|part| &part.limiter));
        Terms { parts: sorted, distance, passed }
    }

    /// Has those look again who were refused because of a charge where the call had passed before.
    pub(crate) fn forgive(&self) {
        self.passed.iter().for_each(Stage::forgive);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn distance(&self) -> Distance {
        self.distance
    }

    pub(crate) fn parts(&self) -> SmallVec<[Part<'_>; 4]> {
        self.parts.iter().map(OwnPart::lent).collect()
    }
}

/// Asks stores in this process; nothing is asked of others. Parts of one store stand side by side.
pub(crate) fn ask_now(parts: &[Part<'_>], cost: u64, patience: Patience) -> Answer {
    let mut bill = Bill::default();
    for group in parts.chunk_by(Part::is_with) {
        let Some(store) = group.first().and_then(|part| part.limiter.store().local()) else {
            continue;
        };
        let decide = || match only_limit(group) {
            Some((limit, key)) => {
                store.decide_one(Mode::Charge, &charge(limit, key, cost, patience))
            }
            None => store.decide_now(Mode::Charge, &charges(group, cost, patience)),
        };
        let refusal = match caught::at_once(decide) {
            Ok(decision) => bill.add(group, decision, None),
            Err(error) => Some(Answer::Failed(Kind::Store(error))),
        };
        if let Some(refusal) = refusal {
            bill.paid.give_back(|| ());
            return refusal;
        }
    }
    bill.passes()
}

/// Asks any stores, one after another if they are several. Parts of one store stand side by side.
pub(crate) async fn ask(parts: &[Part<'_>], cost: u64, patience: Patience) -> Answer {
    let mut bill = Bill::default();
    for group in parts.chunk_by(Part::is_with) {
        let Some(store) = group.first().map(|part| part.limiter.store()) else { continue };
        let charges = charges(group, cost, patience);
        let decision = caught::reply(|| store.decide(Mode::Charge, &charges));
        let refusal = match decision.await {
            Err(error) => Answer::Failed(Kind::Store(error)),
            Ok(decision) => {
                bill.again = bill.again.max(again::after(&decision, group, cost, patience));
                match bill.add(group, decision, Some(Runtime::here())) {
                    None => continue,
                    Some(refusal) => refusal,
                }
            }
        };
        // What is not given back here is told nobody: the call is refused either way.
        let _ = bill.paid.return_all().await;
        return refusal;
    }
    bill.passes()
}

/// What is charged so far.
#[derive(Default)]
struct Bill {
    paid: Paid,
    wait: Span,
    /// How long the same is refused from now on.
    again: Span,
}

impl Bill {
    fn passes(self) -> Answer {
        Answer::Passes { wait: self.wait, paid: self.paid, again: self.again }
    }

    /// Adds what a store has charged for a group; the answer, if that refuses the call.
    fn add(
        &mut self,
        group: &[Part<'_>],
        mut decision: Decision<'_>,
        runtime: Option<Runtime>,
    ) -> Option<Answer> {
        match decision.verdict() {
            Verdict::Allow => {}
            Verdict::Wait(span) => self.wait = self.wait.max(span),
            // A store that says "at once" would else be asked without a pause, and nobody else run.
            Verdict::Deny(span) => return Some(Answer::Denied(span.max(Span::from_micros(1)))),
            Verdict::Never => return Some(Answer::Failed(Kind::Never)),
        }
        let mut answers = decision.answers_mut();
        for part in group {
            let own = answers.by_ref().take(part.limiter.limits().len());
            let receipts = own.map(|answer| answer.take_receipt(part.key.lent()));
            let proofs: Proofs = receipts.map(|receipt| receipt.map(Receipt::into_proof)).collect();
            if proofs.iter().any(Option::is_some) {
                self.paid.add(part.keep(), proofs);
            }
        }
        self.paid.run_on(runtime);
        None
    }
}

/// The limit of a throttle that has one, and its key, so that most calls need no list.
fn only_limit<'p>(parts: &[Part<'p>]) -> Option<(&'p Limit, Key<'p>)> {
    let [part] = parts else { return None };
    let [limit] = part.limiter.limits() else { return None };
    Some((limit, part.key.lent()))
}

fn charge<'p>(limit: &'p Limit, key: Key<'p>, cost: u64, patience: Patience) -> Charge<'p, 'p> {
    Charge { patience, ..Charge::new(limit, key).cost(cost) }
}

fn charges<'p>(parts: &[Part<'p>], cost: u64, patience: Patience) -> SmallVec<[Charge<'p, 'p>; 4]> {
    parts
        .iter()
        .flat_map(|part| part.limiter.limits().iter().map(|limit| (limit, part.key.lent())))
        .map(|(limit, key)| charge(limit, key, cost, patience))
        .collect()
}
