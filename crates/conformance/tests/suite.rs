//! The suite passes over the store that it compares with, and not over one that errs.

#![allow(clippy::indexing_slicing, reason = "a test ends by a panic")]

use tollgate_conformance::{Reference, Subject, cases, suite, suite_of};
use tollgate_core::{Charge, Decision, Effect, LocalStore, ManualClock, Mode, Receipt};

#[test]
fn the_reference_passes_its_own_suite() {
    suite(Reference::new);
}

#[test]
fn the_reference_passes_all_cases() {
    cases(Reference::new);
}

/// A store with one fault.
struct Faulty {
    right: Reference,
    fault: Fault,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// A peek is a charge.
    PeeksWrite,
    /// What watches blocks.
    ShadowsBlock,
    /// What watches is not charged.
    ShadowsAreFree,
    /// Only the first of two charges of one limit and key counts.
    DuplicatesAreDropped,
    /// Each limit takes what it has, whatever the others have.
    UpToTheFirst,
    /// A settlement gives all back.
    SettlesAtNothing,
    /// Nothing is ever given back.
    KeepsAll,
    /// Nobody waits.
    NobodyWaits,
    /// The earlier charges stay when a later one is refused.
    ChargesInTurn,
}

impl Subject for Faulty {
    fn decide<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        let mut charges = charges.to_vec();
        let mode = match (self.fault, mode) {
            (Fault::PeeksWrite, Mode::Peek) => Mode::Charge,
            (Fault::UpToTheFirst, Mode::UpTo) => {
                charges.iter_mut().skip(1).for_each(|charge| charge.cost = 1);
                mode
            }
            _ => mode,
        };
        match self.fault {
            Fault::ShadowsBlock => charges.iter_mut().for_each(|c| c.effect = Effect::Enforce),
            Fault::ShadowsAreFree => charges.iter_mut().for_each(|charge| {
                if charge.effect == Effect::Shadow {
                    charge.cost = 0;
                }
            }),
            Fault::NobodyWaits => charges.iter_mut().for_each(|charge| *charge = charge.at_once()),
            Fault::DuplicatesAreDropped => (1..charges.len()).for_each(|later| {
                let (before, after) = charges.split_at_mut(later);
                let same = |c: &Charge<'_, '_>| {
                    c.limit.id() == after[0].limit.id() && c.key == after[0].key
                };
                if before.iter().any(same) {
                    after[0].cost = 0;
                }
            }),
            Fault::ChargesInTurn if mode == Mode::Charge => {
                charges.iter().take(1).for_each(|one| {
                    if self.right.decide_now(Mode::Peek, &charges).is_denied() {
                        self.right.decide_one(mode, one);
                    }
                });
            }
            _ => {}
        }
        self.right.decide_now(mode, &charges)
    }

    fn give(&self, receipt: Receipt<'_>, actual: u64) {
        match self.fault {
            Fault::KeepsAll => {}
            Fault::SettlesAtNothing => self.right.give_now(receipt, 0),
            _ => self.right.give_now(receipt, actual),
        }
    }
}

fn with(fault: Fault) {
    suite_of(|clock: ManualClock| Faulty { right: Reference::new(clock), fault });
}

macro_rules! caught {
    ($($name:ident: $fault:ident;)*) => {$(
        #[test]
        #[should_panic(expected = "left: the store, right: the reference; seed")]
        fn $name() {
            with(Fault::$fault);
        }
    )*};
}

caught! {
    a_peek_that_writes_is_caught: PeeksWrite;
    a_shadow_that_blocks_is_caught: ShadowsBlock;
    a_shadow_that_is_free_is_caught: ShadowsAreFree;
    a_duplicate_that_is_dropped_is_caught: DuplicatesAreDropped;
    up_to_what_the_first_has_is_caught: UpToTheFirst;
    a_settlement_at_nothing_is_caught: SettlesAtNothing;
    a_store_that_keeps_all_is_caught: KeepsAll;
    a_queue_that_lets_nobody_wait_is_caught: NobodyWaits;
    charges_made_in_turn_are_caught: ChargesInTurn;
}
