//! The machine's time: the one file that reads it.

use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_core::{Clock, Span, Tick};

/// The machine's clock: wall time, read once, and monotonic time since.
///
/// An NTP step or a changed date does not move it, so no client gains or waits by one. Two clocks
/// made at different times may differ by what the wall clock was set meanwhile. Reading it costs
/// about as much as reading the processor's time stamp counter; making it costs some 20 µs.
///
/// It never steps back, and runs as evenly as the counter: to the calibration of that, rounding adds
/// an error of at most 1 in 10^11 (0.3 ms a year).
#[derive(Debug)]
pub struct SystemClock {
    counter: quanta::Clock,
    /// Microseconds per count, in units of 2^-64: a product's upper half is whole microseconds.
    scale: u64,
    /// Microseconds since the epoch when the counter stood at 0, modulo 2^64.
    zero: u64,
}

impl SystemClock {
    /// A clock that starts at the present wall time.
    #[must_use]
    pub fn new() -> SystemClock {
        #[expect(clippy::disallowed_methods, reason = "this is time's one owner")]
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let counter = quanta::Clock::new();
        let scale = scale(&counter);
        let since_zero = micros(counter.raw(), scale);
        let wall = Tick::EPOCH.after(Span::from(wall)).as_micros();
        SystemClock { counter, scale, zero: wall.wrapping_sub(since_zero) }
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Tick {
        // Far below 2^63: a counter would overflow before.
        Tick::from_micros(self.zero.wrapping_add(micros(self.counter.raw(), self.scale)))
    }
}

/// Whole microseconds in so many counts.
#[inline]
fn micros(counts: u64, scale: u64) -> u64 {
    let (_, micros) = counts.carrying_mul(scale, 0);
    micros
}

/// Microseconds per count × 2^64, rounded down: from what 2^40 counts, minutes at least, last in
/// nanoseconds.
fn scale(counter: &quanta::Clock) -> u64 {
    let nanos = u128::from(counter.delta_as_nanos(0, 1 << 40));
    // No counter is slower than one count per microsecond.
    u64::try_from((nanos << 24) / 1_000).unwrap_or(u64::MAX)
}
