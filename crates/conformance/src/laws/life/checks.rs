//! The laws themselves, at one moment of a life.

use tollgate_core::algorithm::{Charged, Moment, Patience, Step};
use tollgate_core::{Span, Tick};

use super::{LAST, Life};
use crate::laws::{Form, draw};
use crate::oracle::Oracle;

impl<O: Oracle> Life<'_, O> {
    /// A wait is exact: it ends at the first tick at which the charge may start.
    pub(super) fn check_start(&mut self, tick: u64, counts_at: i128, wait: u64) {
        if self.form != Form::LeakyBucket {
            assert_eq!(wait, 0, "only a queue makes a charge wait");
            return;
        }
        self.tally.waited += u64::from(wait > 0);
        // A wait is a length of time: while the clock is behind, it is measured from the stored time.
        let from = u64::try_from(counts_at).unwrap_or(tick);
        assert!(self.oracle.starts(from.saturating_add(wait)), "starts too early after {wait}");
        let earlier = wait == 0 || !self.oracle.starts(from.saturating_add(wait - 1));
        assert!(earlier, "starts a tick late after {wait}");
    }

    /// Allowed at the announced microsecond, refused one earlier.
    pub(super) fn check_announced(&self, cost: u64, patience: Patience, wait: u64, span: Span) {
        let then = self.now.saturating_add(span.as_micros());
        if then > LAST {
            return;
        }
        let passes = |micros| {
            self.held.ask(&self.limit, self.moment(micros), cost, patience).ruling.passes()
        };
        assert!(passes(then), "refused at the announced instant, {span}");
        assert!(wait == 0 || !passes(then - 1), "allowed before the announced instant, {span}");
        assert!(wait > 0 || span.is_zero(), "nothing to wait for, and still {span}");
    }

    pub(super) fn check_unchanged(&self, at: Moment, step: Step) {
        assert_eq!(step.next, self.held.summary(&self.limit, at), "a refusal changed a budget");
    }

    /// An earlier now never admits more.
    pub(super) fn check_earlier(&mut self, cost: u64, patience: Patience, step: Step) {
        let back = draw::back(&self.limit, &mut self.random);
        let earlier = self.moment(self.now.saturating_sub(back));
        let admits = self.held.ask(&self.limit, earlier, cost, patience).ruling.passes();
        assert!(step.ruling.passes() || !admits, "cost {cost} passes {back} us earlier, not now");
    }

    /// n at once are n singles.
    pub(super) fn check_singles(&mut self, cost: u64, patience: Patience, step: Step) {
        if cost > 8 {
            return;
        }
        let at = self.moment(self.now);
        let mut singles = self.held.clone();
        for nth in 0..cost {
            let one = singles.ask(&self.limit, at, 1, patience);
            assert!(one.ruling.passes(), "{cost} at once pass, single {nth} does not");
            singles.charge(&self.limit, at, 1, one);
        }
        assert_eq!(singles.summary(&self.limit, at), step.next, "{cost} at once, or one by one");
    }

    /// A refund and the same charge again change nothing.
    pub(super) fn check_refund_and_again(&self, cost: u64, patience: Patience, charged: &Charged) {
        let at = self.moment(self.now);
        let mut again = self.held.clone();
        again.give(&self.limit, at, charged, 0);
        let step = again.ask(&self.limit, at, cost, patience);
        assert!(step.ruling.passes(), "a cost given back no longer passes");
        again.charge(&self.limit, at, cost, step);
        let (ours, theirs) = (again.summary(&self.limit, at), self.held.summary(&self.limit, at));
        assert_eq!(ours, theirs, "given back and charged again");
    }

    /// What is told of where the key stands.
    pub(super) fn check_standing(&mut self) {
        let (at, tick) = (self.moment(self.now), self.tick());
        let patience = if self.random.once_in(8) { Patience::Now } else { Patience::Wait };
        let (room, most) = (self.held.room(&self.limit, at, patience), self.most(patience));
        assert!(u128::from(room) <= most, "{room} left of {most}");
        let allows = |cost| self.oracle.allows(tick, cost, patience);
        assert!(room == 0 || allows(room), "{room} is left, and does not pass: {:?}", self.limit);
        assert!(u128::from(room) == most || !allows(room + 1), "more than {room} is left");
        let reset = self.held.reset_after(&self.limit, at);
        let fresh_at = tick.saturating_add(reset);
        assert!(!self.oracle.owes(fresh_at), "still owes after {reset} ticks: {:?}", self.limit);
        assert!(reset == 0 || self.oracle.owes(fresh_at - 1), "{reset} ticks are one too many");
        let told = self.limit.span(reset, Tick::from_micros(self.now)).as_micros();
        let at = self.now.saturating_add(told);
        let exact = at == fresh_at.saturating_mul(self.limit.resolution().micros());
        assert!(reset == 0 || exact, "{told} us is not the start of tick {fresh_at}");
    }
}
