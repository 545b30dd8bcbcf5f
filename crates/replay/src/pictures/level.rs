//! How full the budget of one key was, over time.

use tollgate_core::{Algorithm, Answer};

use super::grid::Grid;

/// How full a budget was in one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// The least that was left, in ten-thousandths of the capacity.
    pub(crate) least: u16,
    /// How many requests were refused.
    pub(crate) refused: u32,
}

impl Level {
    /// All that there is.
    pub(crate) const FULL: u16 = 10_000;
    const UNTOUCHED: Level = Level { least: Level::FULL, refused: 0 };

    pub(crate) fn and(self, other: Level) -> Level {
        Level {
            least: self.least.min(other.least),
            refused: self.refused.saturating_add(other.refused),
        }
    }
}

/// What was seen of one budget.
#[derive(Debug, Default)]
pub(super) struct Seen {
    bins: Vec<Level>,
    last: Option<Last>,
}

/// Where it stood after the last request.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// When, in seconds since the epoch.
    at: u64,
    least: u16,
    /// When it is full again.
    full: u64,
    comes_back: ComesBack,
}

/// How a budget comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComesBack {
    Evenly,
    /// At the end of a window.
    AtOnce,
}

impl Seen {
    /// Takes in what a request was told.
    pub(super) fn note(&mut self, grid: Grid, answer: &Answer<'_>) {
        let at = answer.now().as_micros() / 1_000_000;
        let Some(place) = grid.place(at) else { return };
        let limit = answer.limit();
        let share = u128::from(answer.remaining()) * u128::from(Level::FULL);
        let share = share.checked_div(limit.capacity().into()).unwrap_or(0);
        let least = u16::try_from(share).unwrap_or(Level::FULL).min(Level::FULL);
        fill(&mut self.bins, self.last, grid, place);
        let refused = u32::from(!answer.verdict().passes());
        if let Some(bin) = self.bins.get_mut(place) {
            *bin = bin.and(Level { least, refused });
        }
        let comes_back = match limit.algorithm() {
            Algorithm::TokenBucket | Algorithm::LeakyBucket(_) => ComesBack::Evenly,
            _ => ComesBack::AtOnce,
        };
        let full = at.saturating_add(answer.reset_after().as_secs_ceil());
        self.last = Some(Last { at, least, full, comes_back });
    }

    pub(super) fn widen(&mut self, grid: Grid, wider: Grid) {
        self.bins = grid.join(&self.bins, wider, Level::UNTOUCHED, Level::and);
    }

    /// The level in each bin up to that of a second.
    pub(super) fn levels(&self, grid: Grid, last: u64) -> Vec<Level> {
        let mut bins = self.bins.clone();
        fill(&mut bins, self.last, grid, grid.place(last).unwrap_or(Grid::MOST - 1));
        bins
    }
}

/// Goes on to a bin without a request, as the budget comes back.
fn fill(bins: &mut Vec<Level>, last: Option<Last>, grid: Grid, place: usize) {
    let from = bins.len();
    if place < from {
        return;
    }
    bins.resize(place + 1, Level::UNTOUCHED);
    let Some(last) = last else { return };
    for (nth, bin) in bins.iter_mut().enumerate().skip(from) {
        // What comes back is least when a bin begins.
        bin.least = last.after(grid.begins(nth));
        if bin.least == Level::FULL {
            break;
        }
    }
}

impl Last {
    /// The level at a later second, if nobody asks.
    fn after(&self, second: u64) -> u16 {
        if second >= self.full {
            return Level::FULL;
        }
        let gone = u128::from(second.saturating_sub(self.at));
        let whole = u128::from(self.full.saturating_sub(self.at)).max(1);
        match self.comes_back {
            ComesBack::AtOnce => self.least,
            ComesBack::Evenly => {
                let back = u128::from(Level::FULL.saturating_sub(self.least)) * gone / whole;
                self.least.saturating_add(u16::try_from(back).unwrap_or(Level::FULL))
            }
        }
    }
}
