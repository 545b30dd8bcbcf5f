//! A charge of a known key: what nearly every decision is, admitted or refused.
//!
//! One look at its entry, one question to its rule. What passes at once is written by one
//! compare-and-swap. A refusal and a peek write nothing and look nothing up again: refusals are what
//! attackers cause, and are to cost no more than what is admitted.

use tollgate_core::algorithm::{Moment, Rule, Ruling, State, WordRule};
use tollgate_core::{Answer, Charge, Decision, Mode, Tick, Verdict};

use crate::bucket::Lock;
use crate::decide::Asked;
use crate::fingerprint::Fingerprint;
use crate::memory::Memory;
use crate::sync::Patience;
use crate::table::Hit;

/// A known key's entry, and the rule that is asked about it.
pub(crate) struct Known<'t, 'l> {
    hit: Hit<'t>,
    rule: &'l WordRule,
    at: Moment,
}

impl<'t> Known<'t, '_> {
    /// Whether a charge passes at once; nothing is written.
    #[inline(always)]
    pub(crate) fn admit(&self, cost: u64) -> Option<Admitted<'t>> {
        let next = self.rule.admit(self.hit.entry.state, self.at, cost)?;
        Some(Admitted { hit: self.hit, at: self.at, next })
    }
}

/// A charge of a known key that passes at once, if its bucket is still as it was seen.
#[derive(Clone, Copy)]
pub(crate) struct Admitted<'t> {
    hit: Hit<'t>,
    at: Moment,
    next: State,
}

impl<'t> Admitted<'t> {
    /// Locks the bucket if it is still as it was seen; waits for nobody.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Option<Lock<'t>> {
        self.hit.lock()
    }

    /// Writes the charge and lets the bucket go.
    #[inline(always)]
    pub(crate) fn charge<'l>(
        &self,
        mut lock: Lock<'t>,
        now: Tick,
        charge: &Charge<'l, '_>,
    ) -> Answer<'l> {
        let Admitted { hit: Hit { entry, .. }, at, next } = *self;
        let Charge { limit, cost, effect, .. } = *charge;
        lock.write(entry.cell, next, entry.shape);
        Answer::new(limit, effect, Verdict::Allow, cost, next, (now, at))
    }
}

impl Memory {
    /// Decides one charge. A known key is decided here; all else (a new key, a block, a log, a charge
    /// of what is left, a place in a queue, another writer at work) is left to [`Memory::decide_with_care`].
    #[inline(always)]
    pub(crate) fn decide_alone<'l>(
        &self,
        now: Tick,
        mode: Mode,
        charge: &Charge<'l, '_>,
        key: Fingerprint,
    ) -> Decision<'l> {
        if mode != Mode::UpTo
            && self.blocks.is_empty()
            && let Some(Known { hit, rule, at }) = self.known(now, charge, key)
        {
            let Charge { limit, cost, effect, patience, .. } = *charge;
            let state = hit.entry.state;
            let step = rule.ask(state, at, cost, patience);
            let answer = |verdict, charged| {
                let answer = Answer::new(limit, effect, verdict, charged, step.next, (now, at));
                Decision::of_one(answer, cost)
            };
            if mode == Mode::Charge && step.ruling == Ruling::Allow && cost > 0 {
                if let Some(mut lock) = hit.lock() {
                    lock.write(hit.entry.cell, step.next, hit.entry.shape);
                    drop(lock);
                    return answer(Verdict::Allow, cost);
                }
                // Looked at again at once, it would most likely still be locked.
                Patience::default().give_way();
            } else if mode == Mode::Peek || step.next == state {
                // As of the look that read the state: its second reading of the version, after an
                // acquire fence, proved that both words were one writer's and stood at that moment.
                // The rule needs nothing else, and where nothing is written there is nothing that a
                // third reading could guard.
                return answer(limit.verdict(step.ruling, now), 0);
            }
        }
        self.decide_with_care(now, mode, Asked::new(charge, key))
    }

    /// A single look at a known key, to ask a rule that keeps two words; nothing is written.
    #[inline(always)]
    pub(crate) fn known<'l>(
        &self,
        now: Tick,
        charge: &Charge<'l, '_>,
        key: Fingerprint,
    ) -> Option<Known<'_, 'l>> {
        let hit = self.table.glance(key)?;
        let Rule::Words(rule) = charge.limit.rule() else { return None };
        let fits = self.shapes.fits(hit.entry.shape, charge.limit);
        fits.then(|| Known { hit, rule, at: charge.limit.moment(now, &charge.key) })
    }
}
