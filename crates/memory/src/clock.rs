//! The machine's time: the one file that reads it.

use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_core::{Clock, Span, Tick};

/// The machine's clock: wall time, read once, and monotonic time since.
///
/// An NTP step or a changed date does not move it, so no client gains or waits by one. Two clocks
/// made at different times may differ by what the wall clock was set meanwhile. Reading it costs
/// about as much as reading the processor's time stamp counter; making it costs some 20 µs.
#[derive(Debug)]
pub struct SystemClock {
    counter: quanta::Clock,
    start: u64,
    wall: Tick,
}

impl SystemClock {
    /// A clock that starts at the present wall time.
    #[must_use]
    pub fn new() -> SystemClock {
        #[expect(clippy::disallowed_methods, reason = "this is time's one owner")]
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let counter = quanta::Clock::new();
        let start = counter.raw();
        SystemClock { counter, start, wall: Tick::EPOCH.after(Span::from(wall)) }
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
        let nanos = self.counter.delta_as_nanos(self.start, self.counter.raw());
        self.wall.after(Span::from_micros(nanos / 1_000))
    }
}
