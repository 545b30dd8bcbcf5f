//! What happens in each second of the run, and how much is asked in which.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// How long the run is.
pub(crate) const SECONDS: usize = 30;
pub(crate) const END: Duration = Duration::from_secs(30);

/// While A is asked for twice what B can do.
pub(crate) const SURGE: Range<Duration> = Duration::from_secs(5)..Duration::from_secs(22);

/// While B takes calls and does nothing.
pub(crate) const STANDSTILL: Range<Duration> = Duration::from_secs(10)..Duration::from_secs(13);

/// The time between two calls that A is asked for: 400 a second, and 1,000 in the surge.
pub(crate) fn pause(now: Duration) -> Duration {
    Duration::from_micros(if SURGE.contains(&now) { 1_000 } else { 2_500 })
}

/// Counts by the second since it was made.
pub(crate) struct Seconds {
    begun: Instant,
    asked: [AtomicU32; SECONDS],
    reached: [AtomicU32; SECONDS],
    useful: [AtomicU32; SECONDS],
}

/// What was counted: in each second calls that A was asked for, tries that reached B, and answers that
/// were of use to who asked.
pub(crate) struct Counts {
    pub(crate) asked: [u32; SECONDS],
    pub(crate) reached: [u32; SECONDS],
    pub(crate) useful: [u32; SECONDS],
}

impl Seconds {
    pub(crate) fn begin() -> Seconds {
        let none = || std::array::from_fn(|_| AtomicU32::new(0));
        Seconds { begun: Instant::now(), asked: none(), reached: none(), useful: none() }
    }

    pub(crate) fn passed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(crate) fn at(&self, passed: Duration) -> Instant {
        self.begun + passed
    }

    pub(crate) fn asked(&self) {
        self.count(&self.asked);
    }

    pub(crate) fn reached(&self) {
        self.count(&self.reached);
    }

    pub(crate) fn useful(&self) {
        self.count(&self.useful);
    }

    pub(crate) fn counts(&self) -> Counts {
        let read = |counts: &[AtomicU32; SECONDS]| {
            std::array::from_fn(|second| {
                counts.get(second).map_or(0, |count| count.load(Ordering::Relaxed))
            })
        };
        let [asked, reached, useful] = [&self.asked, &self.reached, &self.useful].map(read);
        Counts { asked, reached, useful }
    }

    fn count(&self, counts: &[AtomicU32; SECONDS]) {
        let second = usize::try_from(self.passed().as_secs()).unwrap_or(SECONDS);
        // What ends after the run is not counted.
        if let Some(count) = counts.get(second) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}
