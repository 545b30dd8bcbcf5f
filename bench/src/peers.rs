//! The other limiters, each in its fastest documented form.
//!
//! All keep one token bucket (limitador: a fixed window) of 1 per minute and a burst that no run
//! uses up, so that every call is allowed and leaves debt; [`Burst::One`] makes them refuse.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use governor::clock::DefaultClock;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::{DashMapStateStore, DefaultHasher};
use governor::state::{InMemoryState, NotKeyed};

use crate::Keyed;

/// How much may be taken at once, refilled by 1 per minute.
#[derive(Clone, Copy, Debug)]
pub enum Burst {
    /// More than any run uses.
    Endless,
    /// So little that a warmed-up key is refused.
    One,
}

impl Burst {
    /// The burst as a number.
    pub fn amount(self) -> u32 {
        match self {
            // About the most that Tollgate counts exactly in ticks of 1 µs per minute.
            Burst::Endless => 50_000_000,
            Burst::One => 1,
        }
    }

    fn nonzero(self) -> NonZeroU32 {
        NonZeroU32::new(self.amount()).expect("no burst is 0")
    }

    fn governor(self) -> governor::Quota {
        governor::Quota::per_minute(NonZeroU32::MIN).allow_burst(self.nonzero())
    }
}

/// governor, keyed, over its default DashMap.
pub struct Governor<K: Hash + Eq + Clone, H: BuildHasher + Clone = DefaultHasher>(
    pub governor::RateLimiter<K, DashMapStateStore<K, H>, DefaultClock>,
);

impl<K: Hash + Eq + Clone> Governor<K> {
    /// As its guide shows it.
    pub fn new(burst: Burst) -> Governor<K> {
        Governor(governor::RateLimiter::keyed(burst.governor()))
    }
}

impl<K: Hash + Eq + Clone> Governor<K, ahash::RandomState> {
    /// With a faster hash.
    pub fn with_ahash(burst: Burst) -> Governor<K, ahash::RandomState> {
        let hasher = ahash::RandomState::new();
        let clock = DefaultClock::default();
        Governor(governor::RateLimiter::dashmap_with_clock_and_hasher(
            burst.governor(),
            clock,
            hasher,
        ))
    }
}

impl<K: Hash + Eq + Clone + Send + Sync, H: BuildHasher + Clone + Send + Sync> Keyed<K>
    for Governor<K, H>
{
    #[inline]
    fn decide(&self, key: &K) -> bool {
        self.0.check_key(key).is_ok()
    }
}

/// governor without keys.
pub struct GovernorDirect(
    governor::RateLimiter<
        NotKeyed,
        InMemoryState,
        DefaultClock,
        NoOpMiddleware<governor::clock::QuantaInstant>,
    >,
);

impl GovernorDirect {
    /// As its guide shows it.
    pub fn new(burst: Burst) -> GovernorDirect {
        GovernorDirect(governor::RateLimiter::direct(burst.governor()))
    }
}

impl Keyed<()> for GovernorDirect {
    #[inline]
    fn decide(&self, (): &()) -> bool {
        self.0.check().is_ok()
    }
}

/// leaky-bucket, without keys and without waiting.
pub struct LeakyBucket(leaky_bucket::RateLimiter);

impl LeakyBucket {
    /// Full at the start.
    pub fn new(burst: Burst) -> LeakyBucket {
        let full = burst.amount() as usize;
        LeakyBucket(
            leaky_bucket::RateLimiter::builder()
                .max(full)
                .initial(full)
                .refill(1)
                .interval(Duration::from_secs(60))
                .build(),
        )
    }
}

impl Keyed<()> for LeakyBucket {
    #[inline]
    fn decide(&self, (): &()) -> bool {
        self.0.try_acquire(1)
    }
}

/// ratelimit, without keys.
pub struct RateLimit(ratelimit::Ratelimiter);

impl RateLimit {
    /// Full at the start.
    pub fn new(burst: Burst) -> RateLimit {
        let full = u64::from(burst.amount());
        RateLimit(
            ratelimit::Ratelimiter::builder(1)
                .period(Duration::from_secs(60))
                .max_tokens(full)
                .initial_available(full)
                .build()
                .expect("the tokens at the start are no more than the most"),
        )
    }
}

impl Keyed<()> for RateLimit {
    #[inline]
    fn decide(&self, (): &()) -> bool {
        self.0.try_wait().is_ok()
    }
}

/// The library under throttlecrab, over its default store, behind the lock it asks its callers for.
pub struct Throttlecrab {
    limiter: Mutex<throttlecrab::RateLimiter<throttlecrab::PeriodicStore>>,
    burst: i64,
}

impl Throttlecrab {
    /// A limiter that grows as keys come. (Its adaptive store scans all keys on every call while its
    /// table is more than three quarters full.)
    pub fn new(burst: Burst) -> Throttlecrab {
        let store = throttlecrab::PeriodicStore::new();
        // With a burst of 1 it never refuses: its entries live for no time.
        let burst = i64::from(burst.amount().max(2));
        Throttlecrab { limiter: Mutex::new(throttlecrab::RateLimiter::new(store)), burst }
    }
}

impl<K: AsRef<str> + Sync> Keyed<K> for Throttlecrab {
    #[inline]
    fn decide(&self, key: &K) -> bool {
        let mut limiter = self.limiter.lock().expect("no call panics");
        #[expect(clippy::disallowed_methods, reason = "its callers read the time themselves")]
        let now = SystemTime::now();
        limiter
            .rate_limit(key.as_ref(), self.burst, 1, 60, 1, now)
            .is_ok_and(|(allowed, _)| allowed)
    }
}

/// limitador with its counters in memory.
pub struct Limitador {
    limiter: limitador::RateLimiter,
    namespace: limitador::limit::Namespace,
}

impl Limitador {
    /// A limiter with room for `keys` counters.
    pub fn new(keys: u64, burst: Burst) -> Limitador {
        let limiter = limitador::RateLimiter::new(keys);
        let user = "user_id".try_into().expect("a name is an expression");
        let most = u64::from(burst.amount());
        limiter.add_limit(limitador::limit::Limit::new("bench", most, 3600, vec![], vec![user]));
        Limitador { limiter, namespace: "bench".into() }
    }
}

impl<K: AsRef<str> + Sync> Keyed<K> for Limitador {
    #[inline]
    fn decide(&self, key: &K) -> bool {
        let values = HashMap::from([("user_id".to_owned(), key.as_ref().to_owned())]);
        self.limiter
            .check_rate_limited_and_update(&self.namespace, &values.into(), 1)
            .is_ok_and(|result| !result.limited)
    }
}
