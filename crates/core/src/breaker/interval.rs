//! Lengths of time that are drawn between two bounds, so that many who wait do not come at once.

use crate::clock::Span;

/// A range of lengths, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    least: Span,
    most: Span,
}

impl Interval {
    pub(super) fn between(least: Span, most: Span) -> Interval {
        Interval { least, most: most.max(least) }
    }

    pub(super) fn most(self) -> Span {
        self.most
    }

    pub(super) fn draw(self, jitter: u64) -> Span {
        let (least, most) = (self.least.as_micros(), self.most.as_micros());
        let width = most.saturating_sub(least).saturating_add(1);
        let extra = jitter.checked_rem(width).unwrap_or(0);
        Span::from_micros(least.saturating_add(extra))
    }

    /// The range doubled so often, its upper end at most `longest`, or as it is if that is shorter.
    /// Both ends grow by the same factor, so that draws are as wide apart at the cap as before it.
    pub(super) fn doubled(self, times: u32, longest: Span) -> Interval {
        let (least, most) = (self.least.as_micros(), self.most.as_micros());
        let factor = 1u64.checked_shl(times).unwrap_or(u64::MAX);
        let top = most.saturating_mul(factor).min(longest.as_micros().max(most));
        let scaled = u128::from(least) * u128::from(top);
        let bottom = scaled.checked_div(most.into()).unwrap_or(0);
        // It is at most `top`, since `least` is at most `most`.
        let bottom = u64::try_from(bottom).unwrap_or(top);
        Interval { least: Span::from_micros(bottom), most: Span::from_micros(top) }
    }
}
