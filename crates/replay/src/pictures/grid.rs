//! Bins of one round width over time.

/// Bins of one round width over time, as many as fit a picture.
///
/// A width divides the next one, and bins begin where UTC counts anew, so that whole bins are put
/// together when a wider one is needed, and each begins at an hour or a day that people read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// In seconds since the epoch, a multiple of the width.
    begin: u64,
    /// In seconds.
    width: u64,
}

/// From a second to a day; from there on each is twice as wide.
const WIDTHS: [u64; 13] = [1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400];

impl Grid {
    /// The most bins.
    pub(crate) const MOST: usize = 512;

    /// The narrowest bins, from a second on.
    pub(crate) fn at(second: u64) -> Grid {
        Grid { begin: second, width: 1 }
    }

    /// The bin of a second, unless that lies beyond the last one. One before the first counts as there.
    pub(crate) fn place(self, second: u64) -> Option<usize> {
        let place = second.saturating_sub(self.begin).checked_div(self.width)?;
        usize::try_from(place).ok().filter(|place| *place < Grid::MOST)
    }

    /// When a bin begins, in seconds since the epoch.
    pub(crate) fn begins(self, place: usize) -> u64 {
        let place = u64::try_from(place).unwrap_or(u64::MAX);
        self.begin.saturating_add(place.saturating_mul(self.width))
    }

    /// How wide bins are, in seconds.
    pub(crate) fn width(self) -> u64 {
        self.width
    }

    /// The next wider bins.
    pub(crate) fn wider(self) -> Grid {
        let next = WIDTHS.into_iter().find(|width| *width > self.width);
        let width = next.unwrap_or_else(|| self.width.saturating_mul(2));
        Grid { begin: self.begin - self.begin % width, width }
    }

    /// The narrowest bins of which `most` hold as many of these, and how these are put together in them.
    pub(crate) fn in_bins(self, count: usize, most: usize) -> Grid {
        let mut grid = self;
        let last = self.begins(count.saturating_sub(1));
        while grid.place(last).is_none_or(|place| place >= most.max(1)) {
            grid = grid.wider();
        }
        grid
    }

    /// What stands in bins, put together in wider ones.
    pub(crate) fn join<T: Copy>(
        self,
        bins: &[T],
        wider: Grid,
        nothing: T,
        and: impl Fn(T, T) -> T,
    ) -> Vec<T> {
        let mut joined = Vec::new();
        for (nth, bin) in bins.iter().enumerate() {
            let place = wider.place(self.begins(nth)).unwrap_or(Grid::MOST - 1);
            if place >= joined.len() {
                joined.resize(place + 1, nothing);
            }
            if let Some(wide) = joined.get_mut(place) {
                *wide = and(*wide, *bin);
            }
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_begin_at_round_times_and_lose_nothing() {
        let mut grid = Grid::at(1_431_857_103);
        let mut bins = vec![1_u64; 500];
        for _ in 0..16 {
            let wider = grid.wider();
            assert_eq!((wider.width() % grid.width(), wider.begins(0) % wider.width()), (0, 0));
            bins = grid.join(&bins, wider, 0, |a, b| a + b);
            assert_eq!(bins.iter().sum::<u64>(), 500);
            assert!(wider.begins(0) <= grid.begins(0));
            grid = wider;
        }
        assert_eq!(grid.width(), 16 * 86_400);
    }

    #[test]
    fn few_bins_are_as_narrow_as_fit() {
        let hours = Grid { begin: 0, width: 3_600 };
        assert_eq!(hours.in_bins(100, 100), hours);
        assert_eq!(hours.in_bins(101, 100).width(), 7_200);
    }
}
