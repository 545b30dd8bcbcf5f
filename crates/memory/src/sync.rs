//! Whose atomics and locks the store uses: the standard library's, or shuttle's when every
//! interleaving is explored (`scripts/shuttle`). Nothing else in the crate knows which.

#[cfg(shuttle)]
pub(crate) use shuttle::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering, fence},
    sync::{Mutex, MutexGuard, RwLock, TryLockError},
    thread::yield_now,
};
#[cfg(not(shuttle))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering, fence},
    sync::{Mutex, MutexGuard, RwLock, TryLockError},
    thread::yield_now,
};

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
    const SPINS: u32 = 64;

    pub(crate) fn pause(&mut self) {
        if self.0 < Patience::SPINS && !cfg!(shuttle) {
            self.0 += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}
