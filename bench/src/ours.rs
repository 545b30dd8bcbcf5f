//! Tollgate, called as its users call it.

use std::hint::black_box;

use tollgate_core::{Algorithm, Charge, Key, Limit, Limiter, Mode, Quota, Span};
use tollgate_memory::{Memory, Single};

use crate::Keyed;
use crate::peers::Burst;

/// A limiter over a store of its own.
pub struct Tollgate(pub Limiter<Memory>);

impl Tollgate {
    /// One token bucket, with room for `keys`.
    pub fn new(keys: u64, burst: Burst) -> Tollgate {
        Tollgate::with(keys, [bucket("per-minute", Span::MINUTE, burst)])
    }

    /// One token bucket whose keys recover at once.
    pub fn brief(keys: u64) -> Tollgate {
        Tollgate::with(keys, [bucket("per-millisecond", Span::from_millis(1), Burst::Endless)])
    }

    /// Three token buckets of different periods, charged as one.
    pub fn three(keys: u64, burst: Burst) -> Tollgate {
        let millis = Span::from_millis;
        Tollgate::with(
            keys * 3,
            [
                bucket("per-minute", Span::MINUTE, burst),
                bucket("per-half-minute", millis(30_000), burst),
                bucket("per-quarter-minute", millis(15_000), burst),
            ],
        )
    }

    /// One sliding window counter.
    pub fn sliding(keys: u64, burst: Burst) -> Tollgate {
        // Half a minute, since a window counts less far than a bucket.
        let quota = Quota::new(burst.amount().into(), Span::from_millis(30_000));
        let limit = Limit::builder("per-half-minute", quota.expect("the numbers are below 2^53"))
            .algorithm(Algorithm::SlidingWindow);
        Tollgate::with(keys, [limit.build().expect("the numbers are below 2^53")])
    }

    fn with(keys: u64, limits: impl IntoIterator<Item = Limit>) -> Tollgate {
        // Twice the room, so that nothing is evicted.
        let store = Memory::builder().max_entries(2 * keys).build().expect("room for a few keys");
        Tollgate(Limiter::over(store.into(), limits))
    }
}

fn bucket(name: &str, period: Span, burst: Burst) -> Limit {
    let quota = Quota::new(1, period).and_then(|quota| quota.with_burst(burst.amount().into()));
    Limit::new(name, quota.expect("the numbers are below 2^53")).expect("they fit the tick")
}

/// A key as Tollgate takes it.
pub trait AsKey {
    /// The key, not copied.
    fn as_key(&self) -> Key<'_>;
}

impl AsKey for String {
    #[inline]
    fn as_key(&self) -> Key<'_> {
        self.into()
    }
}

impl AsKey for u64 {
    #[inline]
    fn as_key(&self) -> Key<'_> {
        (*self).into()
    }
}

impl AsKey for std::net::Ipv6Addr {
    #[inline]
    fn as_key(&self) -> Key<'_> {
        (*self).into()
    }
}

impl<K: AsKey> Keyed<K> for Tollgate {
    #[inline]
    fn decide(&self, key: &K) -> bool {
        self.0.check(key.as_key()).is_allowed()
    }
}

/// A limit for all callers together.
pub struct Unkeyed(Single);

impl Unkeyed {
    /// One token bucket.
    pub fn new(burst: Burst) -> Unkeyed {
        Unkeyed(Single::new(bucket("per-minute", Span::MINUTE, burst)))
    }
}

impl Keyed<()> for Unkeyed {
    #[inline]
    fn decide(&self, (): &()) -> bool {
        self.0.check().is_allowed()
    }
}

/// The same, asked about sixteen keys at a time.
pub struct Batched(pub Tollgate);

impl Batched {
    const BATCH: usize = 16;
}

impl<K: AsKey> Keyed<K> for Batched {
    fn decide(&self, key: &K) -> bool {
        self.0.decide(key)
    }

    fn lap(&self, keys: &[K]) -> usize {
        let Batched(Tollgate(limiter)) = self;
        let [limit] = limiter.limits() else { unreachable!("it was built with one limit") };
        let (batches, rest) = keys.as_chunks::<{ Batched::BATCH }>();
        let mut passed = self.0.lap(rest);
        for batch in batches {
            let charges = black_box(batch).each_ref().map(|key| Charge::new(limit, key.as_key()));
            limiter.store().decide_each(Mode::Charge, &charges, |decision| {
                passed += usize::from(black_box(decision.is_allowed()));
            });
        }
        passed
    }
}
