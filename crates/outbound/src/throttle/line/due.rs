//! When a call goes, as far as that is known.

use tokio::time::Instant;
use tollgate_core::Span;
use tollgate_core::algorithm::Patience;

use super::Line;
use super::asking::Asking;
use crate::error::Kind;
use crate::throttle::books::Books;
use crate::throttle::forecast;
use crate::throttle::rules::Rules;
use crate::throttle::wish::{Place, Wish};

impl Line {
    /// The earliest instant at which the call of this place goes, as the line stands.
    pub(crate) fn due(&self, place: Place, rules: &Rules, books: &Books) -> Option<Instant> {
        match &self.asking {
            Asking::Charged(question, _, due) if question.place == place => Some(*due),
            _ => self.earliest(self.queue.cost_up_to(place), rules, books),
        }
    }

    /// When at the earliest the last of calls goes that cost so much, the first in the line among
    /// them. Nobody knows where nobody was refused, or a permit is missing.
    pub(super) fn earliest(&self, cost: u128, rules: &Rules, books: &Books) -> Option<Instant> {
        let (refused, until) = self.refused.as_ref().filter(|(_, until)| *until > books.now)?;
        let (_, first) = self.queue.first()?;
        if !refused.covers(first) {
            return None;
        }
        let behind = cost.saturating_sub(first.cost.into());
        until.checked_add(forecast::later(rules.limits(), first.cost.into(), behind).into())
    }

    pub(super) fn refused_for(&self, books: &Books) -> Option<Span> {
        let until = self.refused.as_ref()?.1;
        until.checked_duration_since(books.now).filter(|left| !left.is_zero()).map(Span::from)
    }
}

/// Why a call does not wait until `due`, if it does not.
pub(super) fn too_late(wish: &Wish, due: Instant, now: Instant) -> Option<Kind> {
    if due <= now {
        None
    } else if wish.patience == Patience::Now {
        Some(Kind::Busy(Some(due.saturating_duration_since(now).into())))
    } else {
        wish.deadline.filter(|deadline| *deadline < due).map(|_| Kind::Late)
    }
}
