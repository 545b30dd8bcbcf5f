//! Requests over time, in as many bins as fit a picture.

use tollgate_core::{Span, Tick};

use crate::pictures::Grid;
use crate::run::Fate;

/// Requests over time: up to 512 bins of equal width, which grows when they do not suffice, from a second
/// by round steps to a day, and by doubling from there on. Bins begin where UTC counts anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    bins: Vec<Bin>,
    grid: Option<Grid>,
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
    /// Of those that pass, at once or after a wait: those that a limit would refuse which only watches.
    pub would_refuse: u64,
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
            would_refuse: self.would_refuse + other.would_refuse,
        }
    }
}

impl Timeline {
    /// The most bins.
    pub const MOST: usize = Grid::MOST;

    pub(super) fn count(&mut self, at: Tick, fate: Fate, would_refuse: bool) {
        let second = at.as_micros() / 1_000_000;
        let mut grid = self.grid.unwrap_or_else(|| Grid::at(second));
        let place = loop {
            // Requests come in the order of time.
            match grid.place(second) {
                Some(place) => break place,
                None => grid = self.widen(grid, grid.wider()),
            }
        };
        self.grid = Some(grid);
        if place >= self.bins.len() {
            self.bins.resize(place + 1, Bin::default());
        }
        let Some(bin) = self.bins.get_mut(place) else { return };
        match fate {
            Fate::Passed | Fate::Unasked => bin.passed += 1,
            Fate::Delayed(_) => bin.delayed += 1,
            Fate::Refused => bin.refused += 1,
        }
        bin.would_refuse += u64::from(would_refuse);
    }

    /// The bins in the order of time.
    #[must_use]
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// When the first one begins.
    #[must_use]
    pub fn begins(&self) -> Tick {
        Tick::EPOCH.after(Span::from_secs(self.grid().begins(0)))
    }

    /// How wide each is.
    #[must_use]
    pub fn width(&self) -> Span {
        Span::from_secs(self.grid().width())
    }

    /// The same in at most so many bins, 1 at least, each as wide as some whole number of these.
    #[must_use]
    pub fn in_bins(&self, most: usize) -> Timeline {
        let wider = self.grid().in_bins(self.bins.len(), most);
        let mut timeline = self.clone();
        timeline.grid = Some(timeline.widen(self.grid(), wider));
        timeline
    }

    pub(crate) fn grid(&self) -> Grid {
        self.grid.unwrap_or_else(|| Grid::at(0))
    }

    /// Puts bins together in wider ones.
    fn widen(&mut self, grid: Grid, wider: Grid) -> Grid {
        self.bins = grid.join(&self.bins, wider, Bin::default(), Bin::and);
        wider
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
                timeline.count(at, fate, nth % 3 == 1 && nth % 2 == 0);
            }
            assert!(timeline.bins().len() <= Timeline::MOST);
            let small = timeline.in_bins(60);
            assert!(small.bins().len() <= 60);
            for timeline in [&timeline, &small] {
                let all = timeline.bins().iter().copied().fold(Bin::default(), Bin::and);
                assert_eq!((all.refused, all.requests(), all.would_refuse), (1_000, 3_000, 500));
                // No wider than has to be, and from where UTC counts anew.
                let width = timeline.width().as_secs_ceil();
                let begins = timeline.begins().as_micros() / 1_000_000;
                assert!(begins <= 500 && begins % width == 0 && begins + width > 500);
                let bins = u64::try_from(timeline.bins().len()).unwrap();
                let end = begins + bins * width;
                assert!(end > 500 + 2_999 * step && end <= 500 + 2_999 * step + width);
            }
            assert!(timeline.bins().len() > Timeline::MOST / 6, "{step}");
        }
    }
}
