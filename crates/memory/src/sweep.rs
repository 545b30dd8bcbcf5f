//! Forgetting: what has recovered, a little at a time; at the cap, what is least missed.

use tollgate_core::Tick;
use tollgate_core::algorithm::State;

use crate::bucket::Lock;
use crate::fingerprint::Fingerprint;
use crate::logs::Logs;
use crate::memory::Memory;
use crate::shapes::weight;
use crate::sync::Ordering;
use crate::table::{Entry, View};
use crate::tally::Place;
use crate::unlisted;

/// Buckets per due step: 8 KiB to look through, some microseconds.
const STEP: u64 = 64;
/// Steps that one call takes at most, after a gap in which so many came due.
const STEPS: u64 = 8;
/// Shards of logs that one call looks through at most, likewise.
const SHARDS: u64 = 16;
/// Buckets that are compared when an entry has to give way: some 30 entries.
pub(crate) const CANDIDATES: u64 = 8;
/// Candidate sets looked through before an entry is admitted beyond the cap. Only a table nearly
/// empty beside its logs, or more threads than entries, needs more than one.
const TRIES: u64 = 16;

impl Memory {
    /// Pays what sweeping is due: bounded, and nothing nearly always.
    #[inline]
    pub(crate) fn trickle(&self, now: Tick) {
        if self.pace.is_due(now) {
            self.sweep_due(now);
        }
    }

    #[cold]
    fn sweep_due(&self, now: Tick) {
        let count = self.table.count();
        let steps = self.pace.claim(now, count.div_ceil(STEP), STEPS);
        let buckets = steps.saturating_mul(STEP).min(count);
        let from = self.hand.fetch_add(buckets, Ordering::Relaxed);
        for offset in 0..buckets {
            self.sweep(from.wrapping_add(offset).checked_rem(count).unwrap_or(0), now);
        }
        self.trickle_logs(now, SHARDS);
    }

    /// The same for the shards of logs, `most` of them.
    pub(crate) fn trickle_logs(&self, now: Tick, most: u64) {
        if self.logs_pace.is_due(now) {
            let shards = self.logs_pace.claim(now, Logs::SHARDS, most);
            (0..shards).for_each(|_| self.logs.sweep(&self.tally, now));
        }
    }

    /// What every new entry does for the others: grows the table by a bucket if it is too full, and
    /// sweeps one.
    pub(crate) fn tend(&self, now: Tick) {
        let lost = self.table.grow(self.tally.entries());
        (0..lost).for_each(|_| self.tally.forgot_in_debt(0));
        let count = self.table.count();
        let index = self.hand.fetch_add(1, Ordering::Relaxed).checked_rem(count).unwrap_or(0);
        self.sweep(index, now);
        // Also when none is due: a clock set back far has left the next step in a time that never
        // comes, and only a claim finds that out.
        self.sweep_due(now);
    }

    /// A place for the entry of a new key when all are taken. Holds no lock of the table.
    ///
    /// What gives way is looked for in the key's own bucket first and in those around it, so that
    /// every part of the table loses as many entries as it gains: chains stay short, and each keeps
    /// its share of cheap entries to lose.
    #[cold]
    pub(crate) fn make_room(&self, key: Fingerprint, now: Tick) -> Place<'_> {
        let mut from = self.table.home(key);
        for _ in 0..TRIES {
            if !self.evict(from, now) {
                self.logs.evict(&self.tally, now);
            }
            if let Some(place) = self.tally.place() {
                return place;
            }
            from = from.wrapping_add(CANDIDATES);
        }
        self.tally.place_beyond()
    }

    /// Forgets the recovered entries of a few buckets, else the one entry among them that would grant
    /// least, the first bucket's of equals; whether any was forgotten.
    fn evict(&self, from: u64, now: Tick) -> bool {
        let count = self.table.count();
        let mut least: Option<(u64, u64, View<'_>)> = None;
        let mut recovered = 0;
        // The eight of an aligned group, this one first. None outside it: a group that also lost for
        // others would be drained of what it can spare.
        let group = (0..CANDIDATES).map(|offset| from.checked_rem(count).unwrap_or(0) ^ offset);
        for home in group.filter(|home| *home < count) {
            let Some(view) = self.table.seen(home) else { continue };
            for (tag, entry) in self.table.entries(&view) {
                let weight = self.weight(entry, now);
                if weight == 0 {
                    recovered += self.sweep(home, now);
                    break;
                }
                if least.is_none_or(|(so_far, ..)| weight < so_far) {
                    least = Some((weight, tag, view));
                }
            }
        }
        recovered > 0 || least.is_some_and(|(_, tag, view)| self.forget(tag, &view, now))
    }

    /// Forgets one entry in debt, if its bucket is still as it was seen.
    fn forget(&self, tag: u64, view: &View<'_>, now: Tick) -> bool {
        let entry = self.table.entries(view).find(|(found, _)| *found == tag);
        let debt = entry.and_then(|(_, Entry { state, shape, .. })| {
            self.shapes.get(shape).map(|shape| shape.debt(state, now))
        });
        let Some(mut lock) = view.lock() else { return false };
        let removed = self.table.remove(&mut lock, |found, _, _| found == tag);
        if removed > 0 {
            self.tally.forgot_in_debt(debt.unwrap_or(0));
        }
        removed > 0
    }

    /// Forgets the entry of a locked chain that would grant least.
    #[cold]
    pub(crate) fn evict_within(&self, lock: &mut Lock<'_>, now: Tick) {
        let entries = || self.table.entries_in(lock);
        let Some((tag, entry)) = entries().min_by_key(|(_, entry)| self.weight(*entry, now)) else {
            return;
        };
        let debt = self.shapes.get(entry.shape).map_or(0, |shape| shape.debt(entry.state, now));
        self.table.remove(lock, |found, _, _| found == tag);
        self.tally.forgot_in_debt(debt);
    }

    /// Forgets the recovered entries of a bucket; how many. A bucket that is being written is left
    /// for the next time.
    fn sweep(&self, home: u64, now: Tick) -> u64 {
        let Some(view) = self.table.seen(home) else { return 0 };
        let recovered = |shape, state| self.micros_to_reset(shape, state, now) == 0;
        let any = self.table.entries(&view).any(|(_, entry)| recovered(entry.shape, entry.state));
        if !any {
            return 0;
        }
        let Some(mut lock) = view.lock() else { return 0 };
        let gone = self.table.remove(&mut lock, |_, state, shape| recovered(shape, state));
        self.tally.forgot_recovered(gone);
        gone
    }

    /// How much forgetting an entry would grant; all of it if nobody knows what is used.
    fn weight(&self, entry: Entry<'_>, now: Tick) -> u64 {
        match self.shapes.get(entry.shape) {
            Some(shape) => shape.weight(entry.state, now),
            None => weight(self.micros_to_reset(entry.shape, entry.state, now), 1, 1),
        }
    }

    fn micros_to_reset(&self, shape: u64, state: State, now: Tick) -> u64 {
        match self.shapes.get(shape) {
            Some(known) => known.micros_to_reset(state, now),
            None => unlisted::micros_to_reset(shape, now).unwrap_or(u64::MAX),
        }
    }
}
