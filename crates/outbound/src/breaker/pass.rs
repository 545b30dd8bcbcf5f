//! A call that may be made, and owes what came of it.

use tollgate_core::breaker::{Permit, Report};

use super::adaptive::AdaptiveThrottle;
use super::circuits::Breakers;
use super::known::Slot;

/// A call that may be made. It ends by saying what came of it, once; dropped before, as when the call
/// is cancelled or panics, it is [`Report::Ignored`].
#[derive(Debug)]
#[must_use = "a pass that is dropped at once says nothing of the call"]
pub struct Pass(Option<Owed>);

#[derive(Debug)]
enum Owed {
    Circuit { breakers: Breakers, slot: Slot, permit: Permit },
    Share { throttle: AdaptiveThrottle, slot: Slot },
}

impl Pass {
    pub(super) fn of_circuit(breakers: Breakers, slot: Slot, permit: Permit) -> Pass {
        Pass(Some(Owed::Circuit { breakers, slot, permit }))
    }

    pub(super) fn of_share(throttle: AdaptiveThrottle, slot: Slot) -> Pass {
        Pass(Some(Owed::Share { throttle, slot }))
    }

    /// The place that was called works, whatever it answered.
    pub fn good(self) {
        self.end(Report::Good);
    }

    /// It does not.
    pub fn fault(self) {
        self.end(Report::Fault);
    }

    /// What came of the call.
    pub fn end(mut self, report: Report) {
        self.report(report);
    }

    /// Whether the call finds out if a circuit may close.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        matches!(&self.0, Some(Owed::Circuit { permit, .. }) if permit.is_probe())
    }

    fn report(&mut self, report: Report) {
        match self.0.take() {
            Some(Owed::Circuit { breakers, slot, permit }) => {
                breakers.report(&slot, permit, report)
            }
            Some(Owed::Share { throttle, slot }) => throttle.report(&slot, report),
            None => {}
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.report(Report::Ignored);
    }
}
