//! Whose atomics and locks the store uses: the standard library's, or shuttle's when orders of
//! events are explored (`scripts/shuttle`). Nothing else in the crate knows which.

#[cfg(not(shuttle))]
pub(crate) use std::{
    hash::RandomState,
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering, fence},
    sync::{Mutex, MutexGuard, RwLock, TryLockError},
    thread::yield_now,
};
#[cfg(shuttle)]
pub(crate) use {
    // One seed, so that a schedule that failed fails again.
    foldhash::fast::FixedState as RandomState,
    shuttle::{
        hint::spin_loop,
        sync::atomic::{AtomicU64, Ordering, fence},
        sync::{Mutex, MutexGuard, RwLock, TryLockError},
        thread::yield_now,
    },
};

/// Buckets per segment, and in an empty table: 64 KiB. Two when orders are explored, so that a
/// handful of keys splits a bucket.
pub(crate) const SEGMENT: usize = if cfg!(shuttle) { 2 } else { 512 };

use std::sync::{LockResult, PoisonError};

/// The value behind a lock. What these locks guard is whole after every statement, so that a panic
/// elsewhere in a holder leaves nothing half done.
pub(crate) fn whole<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

/// How a spinning thread passes the time: briefly at first, then it lets others run, since the
/// holder may have been descheduled.
#[derive(Default)]
pub(crate) struct Patience(u32);

impl Patience {
    const SPINS: u32 = if cfg!(shuttle) { 1 } else { 64 };

    /// After a lost exchange: long enough for the winner to write.
    #[cold]
    #[inline(never)]
    pub(crate) fn give_way(&mut self) {
        (0..Patience::SPINS.min(4)).for_each(|_| self.pause());
    }

    pub(crate) fn pause(&mut self) {
        if self.0 < Patience::SPINS {
            self.0 += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}
