//! For each rate the least burst, and which pair is recommended.

use tollgate_core::{Quota, Span, Tick};

use super::Split;
use super::count::Lanes;
use super::rate::{beside, in_words, rates, round_up};
use super::share::Share;

/// A rate, the least burst in round numbers that keeps to the target with it, and what the two refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Both.
    pub quota: Quota,
    /// The least burst before it was rounded.
    pub least_burst: u64,
    /// What is refused of the log, by the numbers as they are written.
    pub refused: Split,
}

/// Why there is no pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unproposed {
    /// The log does not last ten times as long as any bucket takes to recover.
    TooShort,
}

impl Point {
    /// Its rate as files have it, such as `10/minute`.
    #[must_use]
    pub fn rate(&self) -> String {
        in_words(self.quota)
    }

    /// How many may come at once.
    #[must_use]
    pub fn burst(&self) -> u64 {
        self.quota.burst().unwrap_or(self.quota.amount())
    }

    /// The most that a key gets within any minute: the whole burst, and what comes back meanwhile.
    #[must_use]
    pub fn in_a_minute(&self) -> u64 {
        let back = u128::from(self.quota.amount()) * u128::from(Span::MINUTE.as_micros())
            / u128::from(self.quota.period().as_micros());
        self.burst().saturating_add(u64::try_from(back).unwrap_or(u64::MAX))
    }

    /// How long the whole burst takes to come back.
    #[must_use]
    pub fn recovers_in(&self) -> Span {
        recovery(self.quota)
    }
}

fn recovery(quota: Quota) -> Span {
    let burst = quota.burst().unwrap_or(quota.amount());
    let micros = u128::from(burst) * u128::from(quota.period().as_micros());
    let micros = micros.div_ceil(u128::from(quota.amount().max(1)));
    Span::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// The pairs of rate and burst that refuse ordinary keys at most the target, the slowest rate first. A
/// faster one is there only if it gets along with a smaller burst. A log of this length says nothing of
/// buckets that take longer than a tenth of it to recover: they hardly did.
pub(super) fn frontier(
    lanes: &Lanes<'_>,
    target: Share,
    length: Span,
) -> Result<Vec<Point>, Unproposed> {
    let allowed = target.of(lanes.requests().ordinary);
    // No rate gets along with less than the fastest.
    let fastest = rates().rev().find_map(|rate| Some((lanes.needs(rate)?, rate)));
    let least = fastest.map_or(1, |(needs, rate)| needs.least_burst(rate, allowed));
    let mut points: Vec<Point> = Vec::new();
    for rate in rates() {
        let takes_too_long =
            |quota: Quota| recovery(quota).as_micros().saturating_mul(10) > length.as_micros();
        if rate.with_burst(1).is_ok_and(takes_too_long) {
            continue;
        }
        let Some(point) = at_rate(lanes, rate, allowed) else { continue };
        let is_less = points.last().is_none_or(|last| point.burst() < last.burst());
        if is_less && !takes_too_long(point.quota) {
            points.push(point);
        }
        if point.least_burst <= least && !points.is_empty() {
            break;
        }
    }
    if points.is_empty() { Err(Unproposed::TooShort) } else { Ok(points) }
}

/// The pair of a rate in round numbers, and what those refuse.
fn at_rate(lanes: &Lanes<'_>, rate: Quota, allowed: u64) -> Option<Point> {
    let least_burst = lanes.needs(rate)?.least_burst(rate, allowed);
    let written = beside(rate, round_up(least_burst));
    let least_burst = match written == rate {
        true => least_burst,
        false => lanes.needs(written)?.least_burst(written, allowed),
    };
    let quota = written.with_burst(round_up(least_burst)).ok()?;
    Some(Point { quota, least_burst, refused: lanes.refused(quota, Tick::EPOCH)? })
}

/// The pair that recovers soonest of those under which one key gets hardly more within its worst minute than
/// under the one where that is least: a quarter at most.
pub(super) fn recommend(points: &Result<Vec<Point>, Unproposed>) -> Result<Point, Unproposed> {
    let points = points.as_ref().map_err(|why| *why)?;
    let least = points.iter().map(Point::in_a_minute).min().unwrap_or(0);
    let most = least.saturating_add(least / 4);
    let near = points.iter().filter(|point| point.in_a_minute() <= most);
    near.min_by_key(|point| point.recovers_in()).copied().ok_or(Unproposed::TooShort)
}
