//! Requests over time, in as many bins as fit a picture.

use tollgate_core::{Span, Tick};

use crate::run::Fate;

/// Requests over time: up to 512 bins of equal width, which doubles when they do not suffice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    bins: Vec<Bin>,
    /// The first second, in whole widths.
    begin: u64,
    width: u64,
}

/// The requests of one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Those that pass at once, and those that reach no limit.
    pub passed: u64,
    /// Those that pass after a wait.
    pub delayed: u64,
    /// Those that are refused.
    pub refused: u64,
}

impl Bin {
    /// All of them.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.passed + self.delayed + self.refused
    }

    /// The requests of both.
    #[must_use]
    pub fn and(self, other: Bin) -> Bin {
        Bin {
            passed: self.passed + other.passed,
            delayed: self.delayed + other.delayed,
            refused: self.refused + other.refused,
        }
    }
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { bins: Vec::new(), begin: 0, width: 1 }
    }
}

impl Timeline {
    /// The most bins.
    pub const MOST: usize = 512;

    pub(super) fn count(&mut self, at: Tick, fate: Fate) {
        let second = at.as_micros() / 1_000_000;
        if self.bins.is_empty() {
            self.begin = second;
        }
        let place = loop {
            // Requests come in the order of time.
            let place = second.saturating_sub(self.begin).checked_div(self.width).unwrap_or(0);
            match usize::try_from(place) {
                Ok(place) if place < Timeline::MOST => break place,
                _ => self.widen(),
            }
        };
        if place >= self.bins.len() {
            self.bins.resize(place + 1, Bin::default());
        }
        let Some(bin) = self.bins.get_mut(place) else { return };
        match fate {
            Fate::Passed | Fate::Unasked => bin.passed += 1,
            Fate::Delayed(_) => bin.delayed += 1,
            Fate::Refused => bin.refused += 1,
        }
    }

    /// The bins in the order of time.
    #[must_use]
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// When the first one begins.
    #[must_use]
    pub fn begins(&self) -> Tick {
        Tick::EPOCH.after(Span::from_secs(self.begin))
    }

    /// How wide each is.
    #[must_use]
    pub fn width(&self) -> Span {
        Span::from_secs(self.width)
    }

    /// The same in at most so many bins, 1 at least, each as wide as some whole number of these.
    #[must_use]
    pub fn in_bins(&self, most: usize) -> Timeline {
        let joined = self.bins.len().div_ceil(most.max(1)).max(1);
        let bins = self.bins.chunks(joined);
        let bins = bins.map(|bins| bins.iter().copied().fold(Bin::default(), Bin::and)).collect();
        let width = self.width.saturating_mul(u64::try_from(joined).unwrap_or(1));
        Timeline { bins, begin: self.begin, width }
    }

    /// Makes each bin twice as wide.
    fn widen(&mut self) {
        let pairs = self.bins.chunks(2);
        self.bins = pairs.map(|pair| pair.iter().copied().fold(Bin::default(), Bin::and)).collect();
        self.width *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_fits_and_no_request_is_lost() {
        for step in [1, 7, 3_600, 86_400 * 30] {
            let mut timeline = Timeline::default();
            for nth in 0..3_000_u64 {
                let at = Tick::EPOCH.after(Span::from_secs(500 + nth * step));
                let fate = if nth % 3 == 0 { Fate::Refused } else { Fate::Passed };
                timeline.count(at, fate);
            }
            assert!(timeline.bins().len() <= Timeline::MOST);
            let small = timeline.in_bins(60);
            assert!(small.bins().len() <= 60);
            for timeline in [&timeline, &small] {
                let all = timeline.bins().iter().copied().fold(Bin::default(), Bin::and);
                assert_eq!((all.refused, all.requests()), (1_000, 3_000));
                let end = timeline.bins().len() as u64 * timeline.width().as_secs_ceil();
                assert!(end > 2_999 * step && end <= 2_999 * step * 2 + 120 * step);
            }
            assert_eq!(timeline.begins(), Tick::EPOCH.after(Span::from_secs(500)));
        }
    }
}
