//! Lines that stand out of order in time, put right within a window.

use std::ops::AddAssign;

use tollgate_core::{Span, Tick};

use crate::entry::Entry;
use crate::held::Bucket;

/// Within what lines are put in order of time.
///
/// A line waits until one is read whose second is more than `span` later, or until `most` lines wait;
/// lines of one time stay in the order in which they were read. A line that comes when a later one has
/// gone before is not put back: it is decided at once, as of the newest time that was decided, so that
/// time never runs backwards, and counted as late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How long lines wait, by their own times; in whole seconds, an hour at most.
    pub span: Span,
    /// How many lines wait at most.
    pub most: usize,
}

impl Window {
    /// The longest span.
    pub const LONGEST: Span = Span::from_secs(3_600);
}

impl Default for Window {
    /// A minute, and 100,000 lines.
    fn default() -> Window {
        Window { span: Span::MINUTE, most: 100_000 }
    }
}

/// How lines stood in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disorder {
    /// Lines older than one before them that were put right.
    pub put_right: u64,
    /// Lines that came too late for that, and were decided at the newest time that was decided.
    pub late: u64,
}

/// The lines that wait, by second.
#[derive(Debug)]
pub(crate) struct Order {
    /// That of a second stands at the second, modulo their number.
    buckets: Vec<Bucket>,
    span: u64,
    most: usize,
    held: usize,
    /// All seconds before it are decided.
    floor: u64,
    newest: Tick,
    decided: Tick,
    disorder: Disorder,
}

impl Order {
    pub(crate) fn new(window: Window) -> Order {
        let span = window.span.min(Window::LONGEST).as_secs_ceil();
        let buckets = (0..=span).map(|_| Bucket::default()).collect();
        Order {
            buckets,
            span,
            most: window.most,
            held: 0,
            floor: 0,
            newest: Tick::EPOCH,
            decided: Tick::EPOCH,
            disorder: Disorder::default(),
        }
    }

    /// Takes a line, and gives those that need not wait any longer.
    pub(crate) fn push(&mut self, entry: Entry<'_>, decide: &mut impl FnMut(&Entry<'_>)) {
        let second = second(entry.at);
        if second < self.floor {
            return self.decide_at_once(entry, decide);
        }
        let is_behind = entry.at < self.newest;
        if !is_behind {
            self.newest = entry.at;
            self.release(second.saturating_sub(self.span), decide);
        }
        if self.held >= self.most {
            self.release_oldest(decide);
            if second < self.floor {
                return self.decide_at_once(entry, decide);
            }
        }
        if let Some(bucket) = bucket(&mut self.buckets, second) {
            self.disorder.put_right.add_assign(u64::from(is_behind));
            bucket.hold(&entry);
            self.held += 1;
        }
    }

    /// Gives all that still wait.
    pub(crate) fn finish(mut self, decide: &mut impl FnMut(&Entry<'_>)) -> Disorder {
        self.release(u64::MAX, decide);
        self.disorder
    }

    /// Gives a line of a second that is over.
    fn decide_at_once(&mut self, mut entry: Entry<'_>, decide: &mut impl FnMut(&Entry<'_>)) {
        if entry.at < self.decided {
            self.disorder.late.add_assign(1);
            entry.at = self.decided;
        }
        self.decided = entry.at;
        decide(&entry);
    }

    /// Gives the lines of all seconds before `floor`.
    fn release(&mut self, floor: u64, decide: &mut impl FnMut(&Entry<'_>)) {
        while self.floor < floor {
            if self.held == 0 {
                self.floor = floor;
                return;
            }
            self.release_second(decide);
        }
    }

    /// Gives the lines of the oldest second that has any.
    fn release_oldest(&mut self, decide: &mut impl FnMut(&Entry<'_>)) {
        let before = self.held;
        while self.held == before && self.held > 0 {
            self.release_second(decide);
        }
    }

    fn release_second(&mut self, decide: &mut impl FnMut(&Entry<'_>)) {
        // What waits lies within one round of the buckets.
        if let Some(bucket) = bucket(&mut self.buckets, self.floor) {
            self.held -= bucket.len();
            if let Some(last) = bucket.give(decide) {
                self.decided = last;
            }
        }
        self.floor += 1;
    }
}

fn bucket(buckets: &mut [Bucket], second: u64) -> Option<&mut Bucket> {
    let count = u64::try_from(buckets.len()).ok()?;
    buckets.get_mut(usize::try_from(second.checked_rem(count)?).ok()?)
}

fn second(at: Tick) -> u64 {
    at.as_micros() / 1_000_000
}

#[cfg(test)]
mod tests;
