//! One charge, one decision: read, ask the rule, and swap the answer in if nothing has changed.

use std::iter;

use tollgate_core::algorithm::{Patience, Rule, Ruling, SlidingLog, State, Step, WordRule};
use tollgate_core::charge::Outcome;
use tollgate_core::{Answer, Charge, Decision, Effect, Limit, Mode, Receipt, Span, Tick, Verdict};

use crate::fingerprint::Fingerprint;
use crate::memory::Memory;
use crate::sync;
use crate::table::View;

/// A charge as the rules see it: its key's fingerprint and phase stand for the key.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'l> {
    pub(crate) limit: &'l Limit,
    pub(crate) key: Fingerprint,
    pub(crate) phase: u64,
    pub(crate) cost: u64,
    pub(crate) effect: Effect,
    pub(crate) patience: Patience,
}

impl<'l> Asked<'l> {
    #[inline(always)]
    pub(crate) fn new(charge: &Charge<'l, '_>, key: Fingerprint) -> Asked<'l> {
        let Charge { limit, cost, effect, patience, .. } = *charge;
        Asked { limit, key, phase: limit.phase(&charge.key), cost, effect, patience }
    }
}

impl Memory {
    /// Decides one charge, whatever it is.
    #[cold]
    #[inline(never)]
    pub(crate) fn decide_with_care<'l>(
        &self,
        now: Tick,
        mode: Mode,
        asked: Asked<'l>,
    ) -> Decision<'l> {
        let Asked { limit, key, effect, patience, .. } = asked;
        let Rule::Words(rule) = limit.rule() else {
            return self.decide_asked(now, mode, &mut [asked.into()]);
        };
        let blocked = self.blocks.left(key, now);
        let at = limit.moment_of(now, asked.phase);
        let mut contention = sync::Patience::default();
        loop {
            let view = self.table.view(key);
            let state = view.state();
            let cost = match mode {
                Mode::UpTo if asked.cost > 0 && effect == Effect::Enforce => {
                    asked.cost.min(rule.room(state, at, patience)).max(1)
                }
                _ => asked.cost,
            };
            let step = refuse_if(blocked, rule.ask(state, at, cost, patience), state, cost);
            // Alone, a shadow charge is charged like any other: if it passes.
            let outcome = Outcome::of(Mode::Charge, step.ruling.passes(), cost, state, &step);
            let writes = mode != Mode::Peek && outcome != Outcome::Kept;
            if writes {
                let shape = self.shapes.number(limit, rule, view.shape(), step.next, now);
                if !self.commit(&view, key, step.next, shape, now) {
                    contention.give_way();
                    continue;
                }
            }
            let left = if outcome == Outcome::Kept { state } else { step.next };
            let charged = if writes && outcome == Outcome::Charged { cost } else { 0 };
            let verdict = told(limit.verdict(step.ruling, now), blocked);
            let answer = Answer::new(limit, effect, verdict, charged, left, (now, at));
            return Decision::of_one(answer, cost);
        }
    }

    /// Decides many charges, each by itself and all at one instant, and tells the decisions in order.
    ///
    /// It looks at the buckets of 16 charges before it decides the first of them, so that the
    /// machine fetches them at once: on tables larger than its caches several times as fast as
    /// single calls. Allocates nothing.
    ///
    /// ```
    /// use tollgate_core::{Charge, Limit, Mode};
    /// let memory = tollgate_memory::Memory::new();
    /// let limit = Limit::new("per-client", "1/minute".parse()?)?;
    /// let charges = ["a", "b", "a"].map(|key| Charge::new(&limit, key));
    /// let mut allowed = Vec::new();
    /// memory.decide_each(Mode::Charge, &charges, |decision| allowed.push(decision.is_allowed()));
    /// assert_eq!(allowed, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decide_each<'l>(
        &self,
        mode: Mode,
        charges: &[Charge<'l, '_>],
        mut tell: impl FnMut(Decision<'l>),
    ) {
        let now = self.time.now();
        self.trickle(now);
        for batch in charges.chunks(16) {
            let nowhere = (Fingerprint(0), self.table.bucket(Fingerprint(0)));
            let mut found = [nowhere; 16];
            self.find(batch, &mut found);
            for ((key, bucket), charge) in found.iter().zip(batch) {
                tell(self.decide_in(bucket, now, mode, Asked::new(charge, *key)));
            }
        }
    }

    /// Writes a state decided on a view, if that still stands; else the caller looks again.
    fn commit(
        &self,
        view: &View<'_>,
        key: Fingerprint,
        next: State,
        shape: u64,
        now: Tick,
    ) -> bool {
        let Some(entry) = view.entry else { return self.commit_new(view, key, next, shape, now) };
        let Some(mut lock) = view.lock() else { return false };
        lock.write(entry.cell, next, shape);
        true
    }

    /// The first charge of a key.
    fn commit_new(
        &self,
        view: &View<'_>,
        key: Fingerprint,
        next: State,
        shape: u64,
        now: Tick,
    ) -> bool {
        // Taken before the lock, since making room may need the lock of any bucket.
        let place = self.tally.place().unwrap_or_else(|| self.make_room(key, now));
        let Some(mut lock) = view.lock() else { return false };
        self.add(&mut lock, key, next, shape, place, now);
        drop(lock);
        self.tend(now);
        true
    }

    /// Settles a charge of a rule that keeps two words. What stands in the entry was written under
    /// the limit as it is now; the receipt knows the one it was charged under.
    pub(crate) fn give_words(
        &self,
        now: Tick,
        receipt: &Receipt<'_>,
        rule: &WordRule,
        actual: u64,
    ) {
        let (limit, key) = (receipt.limit(), receipt.key());
        let (fingerprint, at) = (self.fingerprint(limit, &key), limit.moment(now, &key));
        loop {
            let view = self.table.view(fingerprint);
            let state = view.state();
            let standing = self.shapes.get(view.shape());
            let rule = standing.map_or(rule, |shape| &shape.rule);
            let next = rule.give(state, at, &receipt.charged(), actual);
            let shape = match standing {
                Some(_) => view.shape(),
                None => self.shapes.number(limit, rule, 0, next, now),
            };
            if next == state || self.commit(&view, fingerprint, next, shape, now) {
                return;
            }
        }
    }

    /// Settles a charge of a sliding log.
    pub(crate) fn give_log(
        &self,
        now: Tick,
        receipt: &Receipt<'_>,
        rule: &SlidingLog,
        actual: u64,
    ) {
        let at = receipt.limit().moment(now, &receipt.key());
        let key = self.fingerprint(receipt.limit(), &receipt.key());
        let mut locked = self.logs.lock(iter::once(key));
        if let Some(shard) = locked.shard(key) {
            self.logs.change(shard, key, &self.tally, now, |log| {
                rule.give(log, at, &receipt.charged(), actual);
            });
        }
    }

    /// Takes an entry out.
    pub(crate) fn forget_words(&self, key: Fingerprint) {
        loop {
            let view = self.table.view(key);
            if view.entry.is_none() {
                return;
            }
            if let Some(mut lock) = view.lock() {
                let removed = self.table.remove(&mut lock, |tag, _, _| tag == key.0);
                return self.tally.removed(removed);
            }
        }
    }
}

/// A blocked key's step: refused, and nothing changes. Cost 0 asks for nothing and always passes.
pub(crate) fn refuse_if(blocked: Option<Span>, step: Step, state: State, cost: u64) -> Step {
    match (blocked, step.ruling) {
        (Some(_), Ruling::Allow | Ruling::Wait(_)) if cost > 0 => {
            Step { ruling: Ruling::Deny(0), next: state }
        }
        _ => step,
    }
}

/// A refusal lasts at least as long as the block.
pub(crate) fn told(verdict: Verdict, blocked: Option<Span>) -> Verdict {
    match (verdict, blocked) {
        (Verdict::Deny(span), Some(block)) => Verdict::Deny(span.max(block)),
        _ => verdict,
    }
}
