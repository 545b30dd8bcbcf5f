//! Asking a store, or several, for one call: all of it is charged or nothing.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tollgate_core::algorithm::Patience;
use tollgate_core::charge::KeptReceipt;
use tollgate_core::{Charge, Decision, Limiter, Mode, Span, Store, StoreError, Verdict};

use super::wish::Answer;
use crate::error::Kind;
use crate::key::OwnKey;
use crate::sync::Runtime;

/// Limits, and the key that each of them charges.
#[derive(Debug)]
pub(crate) struct Terms {
    parts: Vec<Part>,
    distance: Distance,
}

/// Where stores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    /// In this process: they answer at once.
    Here,
    /// Elsewhere, or one of them.
    Away,
}

impl Distance {
    pub(crate) fn of<'l>(limiters: impl IntoIterator<Item = &'l Limiter<dyn Store>>) -> Distance {
        match limiters.into_iter().all(|limiter| limiter.store().local().is_some()) {
            true => Distance::Here,
            false => Distance::Away,
        }
    }
}

/// The limits of one throttle, and the key they charge.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) limiter: Limiter<dyn Store>,
    pub(crate) key: Arc<OwnKey>,
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Part").field(&self.limiter.limits()).field(&self.key).finish()
    }
}

impl Terms {
    pub(crate) fn new(parts: impl IntoIterator<Item = Part>) -> Terms {
        let charges = |part: &Part| !part.limiter.limits().is_empty();
        let parts: Vec<Part> = parts.into_iter().filter(charges).collect();
        let distance = Distance::of(parts.iter().map(|part| &part.limiter));
        Terms { parts, distance }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn distance(&self) -> Distance {
        self.distance
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }
}

/// Asks stores in this process; nothing is asked of others.
pub(crate) fn ask_now(parts: &[Part], cost: u64, patience: Patience) -> Answer {
    let mut bill = Bill::default();
    for group in by_store(parts) {
        let Some(store) = group.first().and_then(|part| part.limiter.store().local()) else {
            continue;
        };
        let charges = charges(group.iter().copied(), cost, patience);
        let decide = || match &*charges {
            [charge] => store.decide_one(Mode::Charge, charge),
            charges => store.decide_now(Mode::Charge, charges),
        };
        let added = match catch_unwind(AssertUnwindSafe(decide)) {
            Ok(decision) => bill.add(&group, &charges, decision, None),
            Err(_) => Err(Answer::Failed(Kind::Store(panicked()))),
        };
        if let Err(refusal) = added {
            bill.paid.give_back(|| ());
            return refusal;
        }
    }
    Answer::Passes(bill.wait, bill.paid)
}

/// Asks any stores, one after another if they are several.
pub(crate) async fn ask(parts: &[Part], cost: u64, patience: Patience) -> Answer {
    let mut bill = Bill::default();
    for group in by_store(parts) {
        let Some(store) = group.first().map(|part| part.limiter.store()) else { continue };
        let charges = charges(group.iter().copied(), cost, patience);
        let mut reply = None;
        let decision = poll_fn(|context| {
            let polled = catch_unwind(AssertUnwindSafe(|| {
                let reply = reply.get_or_insert_with(|| store.decide(Mode::Charge, &charges));
                Pin::new(reply).poll(context)
            }));
            polled.unwrap_or_else(|_| Poll::Ready(Err(panicked())))
        });
        let refusal = match decision.await {
            Err(error) => Answer::Failed(Kind::Store(error)),
            Ok(decision) => match bill.add(&group, &charges, decision, Some(Runtime::here())) {
                Ok(()) => continue,
                Err(refusal) => refusal,
            },
        };
        // What is not given back here is told nobody: the call is refused either way.
        let _ = bill.paid.return_all().await;
        return refusal;
    }
    Answer::Passes(bill.wait, bill.paid)
}

/// The error of a store that panics: it costs the call that was asked for, and not its line.
fn panicked() -> StoreError {
    StoreError::timeout("it panicked")
}

/// What is charged so far.
#[derive(Default)]
struct Bill {
    paid: Paid,
    wait: Span,
}

impl Bill {
    fn add(
        &mut self,
        group: &[&Part],
        charges: &[Charge<'_, '_>],
        mut decision: Decision<'_>,
        runtime: Option<Runtime>,
    ) -> Result<(), Answer> {
        match decision.verdict() {
            Verdict::Allow => {}
            Verdict::Wait(span) => self.wait = self.wait.max(span),
            // A store that says "at once" would else be asked without a pause, and nobody else run.
            Verdict::Deny(span) => return Err(Answer::Denied(span.max(Span::from_micros(1)))),
            Verdict::Never => return Err(Answer::Failed(Kind::Never)),
        }
        let Some(part) = group.first() else { return Ok(()) };
        for (answer, charge) in decision.answers_mut().zip(charges) {
            let receipt = answer.take_receipt(charge.key).map(|receipt| receipt.keep());
            self.paid.receipts.extend(
                receipt
                    .map(|receipt| Receipted { store: Arc::clone(part.limiter.store()), receipt }),
            );
        }
        self.paid.runtime = runtime.or(self.paid.runtime.take());
        Ok(())
    }
}

fn charges<'p>(
    parts: impl Iterator<Item = &'p Part>,
    cost: u64,
    patience: Patience,
) -> Vec<Charge<'p, 'p>> {
    parts
        .flat_map(|part| part.limiter.limits().iter().map(|limit| (limit, part.key.lent())))
        .map(|(limit, key)| Charge { patience, ..Charge::new(limit, key).cost(cost) })
        .collect()
}

/// The parts, those of one store together.
fn by_store(parts: &[Part]) -> Vec<Vec<&Part>> {
    let mut groups: Vec<Vec<&Part>> = Vec::new();
    for part in parts {
        let store = part.limiter.store();
        let is_of = |group: &&mut Vec<&Part>| {
            group.first().is_some_and(|first| Arc::ptr_eq(first.limiter.store(), store))
        };
        match groups.iter_mut().find(is_of) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    groups
}

/// What was charged for a call: given back or settled once, or kept as it is.
#[derive(Default)]
pub(crate) struct Paid {
    receipts: Vec<Receipted>,
    /// Where a task runs that gives back to a store that does not answer at once.
    runtime: Option<Runtime>,
}

struct Receipted {
    store: Arc<dyn Store>,
    receipt: KeptReceipt,
}

impl Paid {
    pub(crate) fn nothing() -> Paid {
        Paid::default()
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.receipts.is_empty()
    }

    /// Gives everything back, in a task where the store does not answer at once, and does something
    /// then: also when that task is lost with its runtime.
    pub(crate) fn give_back(mut self, then: impl FnOnce() + Send + 'static) {
        self.receipts.retain_mut(|paid| match paid.store.local() {
            Some(store) => {
                if let Some(receipt) = paid.receipt.take() {
                    store.give_now(receipt, 0);
                }
                false
            }
            None => true,
        });
        match self.runtime.clone() {
            Some(runtime) if !self.receipts.is_empty() => {
                let then = Finally(Some(then));
                runtime.spawn(async move {
                    // Nobody is left who could be told.
                    let _ = self.return_all().await;
                    drop(then);
                });
            }
            _ => then(),
        }
    }

    async fn return_all(self) -> Result<(), StoreError> {
        self.settle(0).await
    }

    /// Replaces what was charged by the actual cost.
    pub(crate) async fn settle(self, actual: u64) -> Result<(), StoreError> {
        for mut paid in self.receipts {
            if let Some(receipt) = paid.receipt.take() {
                paid.store.give(receipt, actual).await?;
            }
        }
        Ok(())
    }
}

/// Does something once, when it is dropped.
struct Finally<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Finally<F> {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            then();
        }
    }
}

impl fmt::Debug for Paid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.receipts.iter().map(|paid| &paid.receipt)).finish()
    }
}
