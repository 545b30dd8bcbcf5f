//! A charge of a known key: what nearly every decision is, admitted or refused.
//!
//! One look at its entry, one question to its rule. What passes at once is written by one
//! compare-and-swap. A refusal and a peek write nothing and look nothing up again: refusals are what
//! attackers cause, and are to cost little more than what is admitted.

use tollgate_core::algorithm::{Moment, Rule, State, WordRule};
use tollgate_core::{Answer, Decision, Mode, Tick, Verdict};

use crate::bucket::{Bucket, Lock};
use crate::decide::Asked;
use crate::memory::Memory;
use crate::table::{Entry, Hit};

/// A known key's entry, and the rule that is asked about it.
#[derive(Clone, Copy)]
pub(crate) struct Known<'t, 'l> {
    hit: Hit<'t>,
    rule: &'l WordRule,
    at: Moment,
}

impl<'t> Known<'t, '_> {
    /// Whether a charge passes at once; nothing is written.
    #[inline(always)]
    pub(crate) fn admit(&self, cost: u64) -> Option<Admitted<'t>> {
        let mut hit = self.hit;
        hit.entry.state = self.rule.admit(hit.entry.state, self.at, cost)?;
        Some(Admitted(hit))
    }
}

/// An entry as a charge that passes at once leaves it, if its bucket is still as it was seen.
#[derive(Clone, Copy)]
pub(crate) struct Admitted<'t>(Hit<'t>);

impl<'t> Admitted<'t> {
    /// Locks the bucket if it is still as it was seen; waits for nobody.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Option<Lock<'t>> {
        self.0.lock()
    }

    /// Writes the charge and lets the bucket go; the state it leaves.
    #[inline(always)]
    pub(crate) fn charge(&self, mut lock: Lock<'t>) -> State {
        let Entry { cell, state, shape } = self.0.entry;
        lock.write(cell, state, shape);
        state
    }
}

impl Memory {
    /// Decides one charge. What passes at once of a known key is decided here; all else elsewhere,
    /// so that the registers are for this.
    #[inline(always)]
    pub(crate) fn decide_alone<'l>(&self, now: Tick, mode: Mode, asked: Asked<'l>) -> Decision<'l> {
        self.decide_in(self.table.bucket(asked.key), now, mode, asked)
    }

    /// The same for a key whose bucket has been found.
    #[inline(always)]
    pub(crate) fn decide_in<'l>(
        &self,
        bucket: &Bucket,
        now: Tick,
        mode: Mode,
        asked: Asked<'l>,
    ) -> Decision<'l> {
        if mode == Mode::UpTo || !self.blocks.is_empty() {
            return self.decide_with_care(now, mode, asked);
        }
        let Some(known) = self.known(bucket, now, &asked) else {
            return self.decide_with_care(now, mode, asked);
        };
        if mode == Mode::Charge
            && let Some(admitted) = known.admit(asked.cost)
        {
            return match admitted.lock() {
                Some(lock) => charged(now, asked, admitted.charge(lock)),
                None => self.decide_again(now, asked),
            };
        }
        self.tell(now, mode, known.hit.entry.state, asked)
    }

    /// A single look at a known key, to ask a rule that keeps two words; nothing is written.
    #[inline(always)]
    pub(crate) fn known<'t, 'l>(
        &'t self,
        bucket: &'t Bucket,
        now: Tick,
        asked: &Asked<'l>,
    ) -> Option<Known<'t, 'l>> {
        let hit = self.table.glance(bucket, asked.key)?;
        if !self.shapes.fits(hit.entry.shape, asked.limit) {
            return None;
        }
        let at = asked.limit.moment_of(now, asked.phase);
        let Rule::Words(rule) = asked.limit.rule() else { return None };
        Some(Known { hit, rule, at })
    }

    /// Tells what does not pass at once, or is only asked, of a known key's state.
    #[inline(never)]
    fn tell<'l>(&self, now: Tick, mode: Mode, state: State, asked: Asked<'l>) -> Decision<'l> {
        let Asked { limit, cost, effect, patience, .. } = asked;
        let at = limit.moment_of(now, asked.phase);
        if let Rule::Words(rule) = limit.rule()
            && let step = rule.ask(state, at, cost, patience)
            && (mode == Mode::Peek || step.next == state)
        {
            // As of the look that read the state: its second reading of the version, after an
            // acquire fence, proved that both words were one writer's and stood at that moment. The
            // rule needs nothing else, and where nothing is written there is nothing that a third
            // reading could guard.
            let verdict = limit.verdict(step.ruling, now);
            let answer = Answer::new(limit, effect, verdict, 0, step.next, (now, at));
            return Decision::of_one(answer, cost);
        }
        self.decide_with_care(now, mode, asked)
    }

    /// Decides a charge whose bucket was changed before it could be locked: most likely by a charge
    /// of the same key, so that one more look, once that is written, mostly does.
    #[cold]
    #[inline(never)]
    fn decide_again<'l>(&self, now: Tick, asked: Asked<'l>) -> Decision<'l> {
        loop {
            self.table.wait(asked.key);
            let bucket = self.table.bucket(asked.key);
            let Some(known) = self.known(bucket, now, &asked) else {
                return self.decide_with_care(now, Mode::Charge, asked);
            };
            let Some(admitted) = known.admit(asked.cost) else {
                return self.tell(now, Mode::Charge, known.hit.entry.state, asked);
            };
            if let Some(lock) = admitted.lock() {
                return charged(now, asked, admitted.charge(lock));
            }
        }
    }
}

/// The decision of a charge that passed at once and left this state.
#[inline(always)]
fn charged(now: Tick, asked: Asked<'_>, left: State) -> Decision<'_> {
    let Asked { limit, phase, cost, effect, .. } = asked;
    let at = limit.moment_of(now, phase);
    Decision::of_one(Answer::new(limit, effect, Verdict::Allow, cost, left, (now, at)), cost)
}
