//! When to try again: at once, then ever later, each instance at another moment.

use core::time::Duration;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(250);
/// What only an operator can heal is asked about at this pace.
const CONFIGURATION: Duration = Duration::from_secs(1);

/// The delays between attempts to connect to one server.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The delay before the next attempt: none for the first, then anything up to 20 ms, 40 ms ...
    /// 250 ms, so that a fleet that lost its server does not come back as one.
    pub(crate) fn next(&mut self) -> Duration {
        let doublings = self.failures.checked_sub(1);
        self.failures = self.failures.saturating_add(1);
        doublings
            .map_or(Duration::ZERO, |n| jitter(FIRST.saturating_mul(1 << n.min(8)).min(LONGEST)))
    }

    /// A delay after a mistake in the settings: a second and up to a quarter more.
    pub(crate) fn configuration(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        CONFIGURATION + jitter(CONFIGURATION / 4)
    }

    /// The server was there for a while: the next attempt is a first one.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// Anything from zero to `most`, in microseconds.
pub(crate) fn jitter(most: Duration) -> Duration {
    // Every `RandomState` has keys of its own, so that its hash of nothing is a random number.
    let random = RandomState::new().build_hasher().finish();
    let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(random % most.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_attempt_is_at_once_and_none_is_later_than_the_longest() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.next(), Duration::ZERO);
        assert!(backoff.next() <= FIRST);
        assert!(backoff.next() <= FIRST * 2);
        assert!((0..100).all(|_| backoff.next() <= LONGEST));
        assert!(backoff.configuration() >= CONFIGURATION);
        backoff.reset();
        assert_eq!(backoff.next(), Duration::ZERO);
    }

    #[test]
    fn fifty_instances_come_back_at_fifty_moments() {
        let mut tenths = [0; 11];
        for _ in 0..5_000 {
            let micros = jitter(LONGEST).as_micros();
            tenths[usize::try_from(micros / 25_000).unwrap()] += 1;
        }
        assert!(tenths[..10].iter().all(|n| (350..650).contains(n)), "{tenths:?}");
    }
}
