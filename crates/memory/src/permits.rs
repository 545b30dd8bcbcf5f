//! Permits in use, counted in this process.

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;

use tollgate_core::{Clock, Held, Hold, Holders, Permits, Reply};

use crate::clock::SystemClock;
use crate::sync::{Mutex, RandomState, whole};

/// The most keys of any names with holders.
const MOST_KEYS: usize = 65_536;

/// Permits counted in this process, for several holders in it, and for tests of what shares them.
///
/// It holds 65,536 keys; a further one is granted nothing until one of them has no holder any more. A
/// key's text is not kept: 64 bits of keyed hash stand for it.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_core::{Hold, ManualClock, Permits, Span};
/// use tollgate_memory::LocalPermits;
/// let clock = ManualClock::default();
/// let permits = LocalPermits::by(clock.clone());
/// let lease = Span::from_secs(10);
/// let crawl = Hold {
///     name: "crawl", key: "example.com".into(), limit: 2, holder: 1, turn: 1, held: 0, wanted: 2, lease,
/// };
/// assert_eq!(permits.hold_now(&crawl).granted, 2);
/// let other = Hold { holder: 2, ..crawl };
/// assert_eq!(permits.hold_now(&other).granted, 0);
/// clock.advance(lease);
/// assert_eq!(permits.hold_now(&Hold { turn: 2, ..other }).granted, 2);
/// ```
pub struct LocalPermits {
    holders: Mutex<HashMap<u64, Holders>>,
    seed: RandomState,
    clock: Box<dyn Clock>,
}

impl LocalPermits {
    /// Permits whose leases end by the machine's clock.
    #[must_use]
    pub fn new() -> LocalPermits {
        LocalPermits::by(SystemClock::new())
    }

    /// Permits whose leases end by this clock.
    #[must_use]
    pub fn by(clock: impl Clock + 'static) -> LocalPermits {
        let (holders, seed) = (Mutex::new(HashMap::new()), RandomState::default());
        LocalPermits { holders, seed, clock: Box::new(clock) }
    }

    /// [`Permits::hold`] without a future: nobody has to be asked.
    pub fn hold_now(&self, hold: &Hold<'_>) -> Held {
        let key = self.seed.hash_one((hold.name, hold.key));
        let (mut holders, now) = (whole(self.holders.lock()), self.clock.now());
        if holders.len() >= MOST_KEYS && !holders.contains_key(&key) {
            holders.retain(|_, known| !known.is_idle(now));
            if holders.len() >= MOST_KEYS {
                return Held::default();
            }
        }
        let known = holders.entry(key).or_default();
        let held = known.hold(now, hold);
        if known.is_idle(now) {
            holders.remove(&key);
        }
        held
    }
}

impl Default for LocalPermits {
    fn default() -> LocalPermits {
        LocalPermits::new()
    }
}

impl Permits for LocalPermits {
    fn hold<'a>(&'a self, hold: Hold<'a>) -> Reply<'a, Held> {
        Reply::ready(Ok(self.hold_now(&hold)))
    }
}

impl fmt::Debug for LocalPermits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = whole(self.holders.lock()).len();
        f.debug_struct("LocalPermits").field("keys", &keys).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::{ManualClock, Span};

    use super::*;

    fn hold(key: u64, holder: u64, turn: u64) -> Hold<'static> {
        let lease = Span::from_secs(1);
        Hold { name: "n", key: key.into(), limit: 1, holder, turn, held: 0, wanted: 1, lease }
    }

    #[test]
    fn a_full_place_grants_newcomers_nothing_until_a_lease_ends() {
        let clock = ManualClock::default();
        let permits = LocalPermits::by(clock.clone());
        let most = u64::try_from(MOST_KEYS).unwrap();
        for key in 0..most {
            assert_eq!(permits.hold_now(&hold(key, 1, 1)).granted, 1);
        }
        assert_eq!(permits.hold_now(&hold(most, 1, 1)), Held::default());
        clock.advance(Span::from_secs(1));
        assert_eq!(permits.hold_now(&hold(most, 1, 1)).granted, 1);
        assert_eq!(whole(permits.holders.lock()).len(), 1, "the others are forgotten");
    }

    #[test]
    fn a_key_that_nobody_holds_is_not_kept() {
        let permits = LocalPermits::new();
        permits.hold_now(&hold(1, 1, 1));
        permits.hold_now(&Hold { wanted: 0, ..hold(1, 1, 2) });
        assert!(whole(permits.holders.lock()).is_empty());
    }

    #[test]
    fn names_keys_and_kinds_of_keys_are_counted_apart() {
        let permits = LocalPermits::new();
        let first = hold(1, 1, 1);
        let others =
            [Hold { name: "m", ..first }, hold(2, 1, 1), Hold { key: "1".into(), ..first }];
        for (holder, hold) in others.into_iter().chain([first]).enumerate() {
            let holder = u64::try_from(holder).unwrap();
            assert_eq!(permits.hold_now(&Hold { holder, ..hold }).granted, 1);
        }
        assert_eq!(permits.hold_now(&hold(1, 9, 1)).granted, 0);
    }
}
