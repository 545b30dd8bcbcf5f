//! How numbers from the first half of a log hold on the second.

use tollgate_core::Tick;

use super::Split;
use super::count::Lanes;
use super::frontier::{Point, frontier, recommend};
use super::gather::Arrival;
use super::groups::Grouped;
use super::outliers::Standing;
use super::share::Share;

/// How numbers from the first half of a log's requests hold on the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Each half of the log says too little for that.
    Untold,
    /// What came of it.
    Told {
        /// What the first half proposes.
        point: Point,
        /// How many requests of ordinary keys and of others the second half has.
        requests: Split,
        /// How many of these it refuses, counted on from the first half.
        refused: Split,
    },
}

impl Held {
    /// Whether the second half kept to the target, if that is known.
    #[must_use]
    pub fn keeps_to(&self, target: Share) -> Option<bool> {
        match self {
            Held::Untold => None,
            Held::Told { requests, refused, .. } => {
                Some(refused.ordinary <= target.of(requests.ordinary))
            }
        }
    }
}

/// When the second half of the requests begins; `None` if there is no first.
pub(super) fn middle(groups: &[Grouped]) -> Option<Tick> {
    let arrivals = groups.iter().flat_map(|group| &group.arrivals);
    let mut times: Vec<Tick> = arrivals.map(|arrival| arrival.at).collect();
    let half = times.len() / 2;
    let first = *times.iter().min()?;
    let (_, middle, _) = times.select_nth_unstable(half);
    (first < *middle).then_some(*middle)
}

/// Chooses numbers by what came before the middle, and counts what they refuse from there on. Who is ordinary
/// is judged by the first half where numbers are chosen, by the whole log where refusals are counted.
pub(super) fn held(
    arrivals: &[Arrival],
    (standings, earlier): (&[Standing], &[Standing]),
    target: Share,
    (first, middle): (Tick, Tick),
) -> Held {
    let half = Lanes::before(arrivals, earlier, Some(middle));
    if half.is_empty() {
        return Held::Untold;
    }
    let Ok(point) = recommend(&frontier(&half, target, middle.since(first))) else {
        return Held::Untold;
    };
    let lanes = Lanes::of(arrivals, standings);
    let requests = lanes.requests_since(middle);
    match lanes.refused(point.quota, middle) {
        Some(refused) if requests.ordinary > 0 => Held::Told { point, requests, refused },
        _ => Held::Untold,
    }
}
