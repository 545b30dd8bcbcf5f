//! What a call that waits asks for, and what becomes of it.

use std::sync::Arc;

use tokio::time::Instant;
use tollgate_core::Span;
use tollgate_core::algorithm::Patience;

use super::ask::Terms;
use super::paid::Paid;
use super::priority::Priority;
use crate::error::Kind;

/// A place in a line; the lesser goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// When it came less the head start of its priority, in microseconds since the throttle was made.
    pub(crate) turn: i64,
    /// How many calls came before it: its own number, and an order for those of one instant.
    pub(crate) number: u64,
}

/// What a call asks for.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) cost: u64,
    pub(crate) priority: Priority,
    pub(crate) patience: Patience,
    pub(crate) deadline: Option<Instant>,
    pub(crate) wants: Wants,
}

/// What a call waits for in one line.
#[derive(Clone, Debug)]
pub(crate) enum Wants {
    /// A permit, and to be charged by the limits of this throttle.
    Own,
    /// A permit, and to be charged by the limits of several throttles as one.
    All(Arc<Terms>),
    /// A permit, and that nobody goes before it has gone on: it is to wait in other lines yet.
    Turn,
}

/// What a store is asked for a line.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) place: Place,
    pub(crate) cost: u64,
    pub(crate) patience: Patience,
    /// The limits of several throttles, if not of this one alone.
    pub(crate) terms: Option<Arc<Terms>>,
}

impl Question {
    pub(crate) fn of(place: Place, wish: &Wish) -> Question {
        let terms = match &wish.wants {
            Wants::All(terms) => Some(Arc::clone(terms)),
            Wants::Own | Wants::Turn => None,
        };
        Question { place, cost: wish.cost, patience: wish.patience, terms }
    }

    /// Whether the call is charged by the same limits.
    fn is_of(&self, wish: &Wish) -> bool {
        match (&self.terms, &wish.wants) {
            (None, Wants::Own) => true,
            (Some(mine), Wants::All(terms)) => Arc::ptr_eq(mine, terms),
            _ => false,
        }
    }

    /// Whether what was charged for one fits the other to the last unit.
    pub(crate) fn fits(&self, wish: &Wish) -> bool {
        self.cost == wish.cost && self.is_of(wish)
    }

    /// Whether the refusal of this is a refusal of that: it costs no less.
    pub(crate) fn covers(&self, wish: &Wish) -> bool {
        self.cost <= wish.cost && self.is_of(wish)
    }
}

/// What the store answered.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It is charged, and may go after `wait`.
    Passes {
        wait: Span,
        paid: Paid,
        /// How long the same is refused after it, if nobody else charges; zero if that is not known.
        again: Span,
    },
    /// It may be asked again after this span.
    Denied(Span),
    /// It is of no use to ask again for the one call that was asked for.
    Failed(Kind),
}

/// What became of a call.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It has a permit, and this is charged.
    Goes(Paid),
    /// It does not go.
    Ends(Kind),
}
