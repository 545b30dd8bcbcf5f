//! Sliding logs: the one state that does not fit an entry of the table.
//!
//! They live beside the table, in 256 small maps, each behind its lock, so that no map that grows
//! keeps anyone waiting for long.

use std::collections::HashMap;

use tollgate_core::algorithm::{Log, Moment, SlidingLog};
use tollgate_core::{Resolution, Tick};

use crate::fingerprint::Fingerprint;
use crate::shapes::weight;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, TryLockError, whole};
use crate::tally::Tally;

/// Every log, within a budget of bytes.
#[derive(Debug)]
pub(crate) struct Logs {
    shards: Box<[Mutex<Shard>]>,
    bytes: AtomicU64,
    budget: u64,
    hand: AtomicU64,
}

pub(crate) type Shard = HashMap<Fingerprint, Kept>;

/// A log and the rule that wrote it last.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) log: Log,
    pub(crate) rule: SlidingLog,
    pub(crate) resolution: Resolution,
}

/// The shards a decision needs, locked in order of their index.
#[derive(Debug, Default)]
pub(crate) struct Locked<'t>(Vec<(usize, MutexGuard<'t, Shard>)>);

/// Bytes of a log beside its charges, with its share of the map.
const OVERHEAD: u64 = 192;
/// Logs compared when one has to give way, as many of one shard, and shards looked at for them. A shard
/// alone may have lost all it can spare.
const CANDIDATES: usize = 32;
const OF_A_SHARD: usize = 8;
const SHARDS_LOOKED_AT: usize = 64;
/// Logs that give way to one that has grown, at most.
const GIVING_WAY: usize = 4;

impl Kept {
    pub(crate) fn new(rule: SlidingLog, resolution: Resolution) -> Kept {
        Kept { log: Log::default(), rule, resolution }
    }

    fn micros_to_reset(&self, now: Tick) -> u64 {
        self.rule.reset_after(&self.log, self.moment(now)).saturating_mul(self.resolution.micros())
    }

    /// How much forgetting it would grant.
    fn weight(&self, now: Tick) -> u64 {
        let capacity = self.rule.room(&Log::default(), self.moment(now));
        weight(self.micros_to_reset(now), self.debt(now), capacity)
    }

    fn debt(&self, now: Tick) -> u64 {
        let room = |log| self.rule.room(log, self.moment(now));
        room(&Log::default()).saturating_sub(room(&self.log))
    }

    fn moment(&self, now: Tick) -> Moment {
        let ticks = now.as_micros().checked_div(self.resolution.micros()).unwrap_or(0);
        Moment { now: ticks, phase: 0 }
    }

    fn bytes(&self) -> u64 {
        u64::try_from(self.log.heap_bytes()).unwrap_or(u64::MAX).saturating_add(OVERHEAD)
    }
}

impl Logs {
    pub(crate) const SHARDS: u64 = 256;

    pub(crate) fn new(budget: u64) -> Logs {
        let shards = (0..Logs::SHARDS).map(|_| Mutex::default()).collect();
        Logs { shards, bytes: AtomicU64::new(0), budget, hand: AtomicU64::new(0) }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Locks the shards of these keys, each once, in order of their index.
    pub(crate) fn lock(&self, keys: impl Iterator<Item = Fingerprint>) -> Locked<'_> {
        let mut indices: Vec<usize> = keys.map(shard_of).collect();
        indices.sort_unstable();
        indices.dedup();
        let lock = |index: usize| Some((index, whole(self.shards.get(index)?.lock())));
        Locked(indices.into_iter().filter_map(lock).collect())
    }

    /// Changes the log of a key in a locked shard; what it grew is taken from the budget, and if
    /// that is spent logs of other shards give way.
    pub(crate) fn change(
        &self,
        shard: &mut Shard,
        key: Fingerprint,
        tally: &Tally,
        now: Tick,
        change: impl FnOnce(&mut Log),
    ) {
        let Some(kept) = shard.get_mut(&key) else { return };
        let before = kept.bytes();
        change(&mut kept.log);
        let after = kept.bytes();
        self.bytes.fetch_add(after, Ordering::Relaxed);
        self.bytes.fetch_sub(before, Ordering::Relaxed);
        for _ in 0..GIVING_WAY {
            if self.bytes() <= self.budget || !self.evict(tally, now) {
                return;
            }
        }
    }

    /// Counts the bytes of a log just added to a shard.
    pub(crate) fn added(&self) {
        self.bytes.fetch_add(OVERHEAD, Ordering::Relaxed);
    }

    /// Forgets what has recovered in the next shard, if nobody holds it.
    pub(crate) fn sweep(&self, tally: &Tally, now: Tick) {
        let index = self.hand.fetch_add(1, Ordering::Relaxed) % Logs::SHARDS;
        if let Some(mut shard) = self.try_lock(index) {
            self.forget_recovered(&mut shard, tally, now);
        }
    }

    /// Of some logs in a few shards that nobody holds, forgets the one that would grant least, and all
    /// of its shard that would grant nothing; whether any was found.
    pub(crate) fn evict(&self, tally: &Tally, now: Tick) -> bool {
        let mut least: Option<(u64, Fingerprint, MutexGuard<'_, Shard>)> = None;
        let mut compared = 0;
        for _ in 0..SHARDS_LOOKED_AT {
            let index = self.hand.fetch_add(1, Ordering::Relaxed) % Logs::SHARDS;
            let Some(shard) = self.try_lock(index) else { continue };
            let some = shard.iter().take(OF_A_SHARD).map(|(key, kept)| (kept.weight(now), *key));
            let Some((weight, key)) = some.min_by_key(|(weight, _)| *weight) else { continue };
            compared += shard.len().min(OF_A_SHARD);
            if least.as_ref().is_none_or(|(so_far, ..)| weight < *so_far) {
                least = Some((weight, key, shard));
            }
            if compared >= CANDIDATES {
                break;
            }
        }
        match least {
            Some((0, _, mut shard)) => self.forget_recovered(&mut shard, tally, now),
            Some((_, key, mut shard)) => self.forget(&mut shard, key, tally, now),
            None => return false,
        }
        true
    }

    /// Takes a key's log out.
    pub(crate) fn remove(&self, key: Fingerprint, tally: &Tally) {
        let Some(shard) = self.shards.get(shard_of(key)) else { return };
        if let Some(kept) = whole(shard.lock()).remove(&key) {
            self.bytes.fetch_sub(kept.bytes(), Ordering::Relaxed);
            tally.removed(1);
        }
    }

    fn forget(&self, shard: &mut Shard, key: Fingerprint, tally: &Tally, now: Tick) {
        if let Some(kept) = shard.remove(&key) {
            self.bytes.fetch_sub(kept.bytes(), Ordering::Relaxed);
            tally.forgot_in_debt(kept.debt(now));
        }
    }

    fn forget_recovered(&self, shard: &mut Shard, tally: &Tally, now: Tick) {
        let (mut count, mut bytes) = (0u64, 0u64);
        shard.retain(|_, kept| {
            let stays = kept.micros_to_reset(now) > 0;
            if !stays {
                count = count.saturating_add(1);
                bytes = bytes.saturating_add(kept.bytes());
            }
            stays
        });
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        tally.forgot_recovered(count);
    }

    fn try_lock(&self, index: u64) -> Option<MutexGuard<'_, Shard>> {
        match self.shards.get(usize::try_from(index).ok()?)?.try_lock() {
            Ok(shard) => Some(shard),
            Err(TryLockError::Poisoned(shard)) => Some(shard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl<'t> Locked<'t> {
    pub(crate) fn get(&self, key: Fingerprint) -> Option<&Log> {
        let (_, shard) = self.0.iter().find(|(index, _)| *index == shard_of(key))?;
        shard.get(&key).map(|kept| &kept.log)
    }

    pub(crate) fn shard(&mut self, key: Fingerprint) -> Option<&mut Shard> {
        let (_, shard) = self.0.iter_mut().find(|(index, _)| *index == shard_of(key))?;
        Some(shard)
    }
}

fn shard_of(key: Fingerprint) -> usize {
    let [.., highest] = key.0.to_le_bytes();
    usize::from(highest)
}
