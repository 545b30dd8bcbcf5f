//! The longest single call, beside the longest gap of a loop that does nothing.
//!
//! On a shared machine every loop is stopped now and then, for milliseconds, by what else runs. So
//! the contender and an empty loop take turns of equal length, and the longest call of the one is
//! held against the longest gap of the other.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::thread;
use std::time::Duration;

use crate::Keyed;
use crate::ours::Tollgate;
use crate::peers::Governor;
use crate::workload::Kind;

/// What a watched run saw.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    /// The longest call of the contender.
    pub call: Duration,
    /// The longest gap of the empty loop in as much time.
    pub gap: Duration,
}

impl Pause {
    fn or(self, other: Pause) -> Pause {
        Pause { call: self.call.max(other.call), gap: self.gap.max(other.gap) }
    }
}

/// How many calls make a turn.
const TURN: u64 = 50_000;

/// Asks about keys `from` up to `to` once each, watching every call.
pub fn watch<K: Kind>(limiter: &dyn Keyed<K>, from: u64, to: u64) -> Pause {
    let clock = quanta::Clock::new();
    let mut pause = Pause { call: Duration::ZERO, gap: Duration::ZERO };
    let mut next = from;
    while next < to {
        let until = to.min(next + TURN);
        // The keys are made before the turn, so that only the contender allocates in it.
        let keys: Vec<K> = (next..until).map(K::key).collect();
        let mut last = clock.raw();
        let start = last;
        for key in &keys {
            black_box(limiter.decide(key));
            let now = clock.raw();
            pause.call = pause.call.max(clock.delta(last, now));
            last = now;
        }
        let turn = last - start;
        let start = clock.raw();
        last = start;
        while last - start < turn {
            let now = clock.raw();
            pause.gap = pause.gap.max(clock.delta(last, now));
            last = now;
        }
        next = until;
    }
    pause
}

/// governor's way to forget: `retain_recent` over `keys` recovered keys on one thread, while another
/// asks about one key.
pub fn retaining(keys: u64) -> Pause {
    let quota =
        governor::Quota::per_second(NonZeroU32::new(1_000_000).expect("a million is not 0"));
    let limiter = Governor::<String>(governor::RateLimiter::keyed(quota));
    for n in 0..keys {
        limiter.decide(&String::key(n));
    }
    thread::scope(|scope| {
        let sweep = scope.spawn(|| limiter.0.retain_recent());
        let mut pause = Pause { call: Duration::ZERO, gap: Duration::ZERO };
        while !sweep.is_finished() {
            pause = pause.or(watch::<String>(&limiter, 0, TURN));
        }
        pause
    })
}

/// Tollgate's way to forget: `keys` keys have recovered, and calls about other keys sweep them.
pub fn sweeping(keys: u64) -> Pause {
    let limiter = Tollgate::brief(2 * keys);
    for n in 0..keys {
        limiter.decide(&String::key(n));
    }
    watch::<String>(&limiter, keys, 2 * keys)
}
