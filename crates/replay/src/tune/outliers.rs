//! Who is out of the ordinary.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use tollgate_core::Tick;

use super::gather::Known;
use super::groups::Grouped;

/// A key that is left out when a burst is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlier {
    /// What it is called.
    pub label: String,
    /// How many requests it made.
    pub requests: u64,
    /// What it has of a machine, at least one.
    pub signs: Vec<Sign>,
}

/// What speaks for a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Some request of it named a robot or a tool, or, in a log of agents, none.
    NamesRobot,
    /// It came in this many of the 24 hours of the day, at least 16: people sleep.
    AroundTheClock(u32),
    /// Its pauses between seconds with requests vary by no more than their mean, by at least 30 pauses: people
    /// come in bursts.
    EvenPace,
}

/// What most keys are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rest {
    /// Nobody is judged, by wish.
    NotAsked,
    /// The keys do not tell clients apart.
    NotClients,
    /// Fewer than ten keys: nobody can say what is ordinary.
    Few,
    /// Many keys.
    Many {
        /// How many requests the key in the middle made.
        median: u64,
        /// From how many on a key is far above the rest.
        far: f64,
    },
}

/// Whether a key is ordinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Ordinary,
    Outlier,
}

/// From how many keys on the rest is known.
const MANY: usize = 10;
/// In how many hours of the day a machine comes at least.
const HOURS: u32 = 16;
/// From how many pauses on a pace is told.
const PAUSES: usize = 30;

type Judgement = (Rest, Vec<Outlier>, Vec<Standing>);

/// Takes everybody for ordinary.
pub(super) fn nobody(rest: Rest, keys: &[Known]) -> Judgement {
    (rest, Vec::new(), vec![Standing::Ordinary; keys.len()])
}

/// Judges keys by their requests before an instant, or by all.
///
/// One is out of the ordinary when it makes far more requests than the rest and has a sign of a machine
/// besides: a company behind one address makes many as well. Far is a modified z-score of 3.5 (Iglewicz and
/// Hoaglin, 1993), of the logarithms of the counts, and with at least a doubling for the spread: the
/// median and the spread hardly change with what the few do that are looked for.
pub(super) fn judge(groups: &[Grouped], keys: &[Known], before: Option<Tick>) -> Judgement {
    let mut standings = vec![Standing::Ordinary; keys.len()];
    let arrivals = || {
        let all = groups.iter().flat_map(|group| &group.arrivals);
        all.filter(|arrival| before.is_none_or(|before| arrival.at < before))
    };
    let mut counts = vec![0_u32; keys.len()];
    for arrival in arrivals() {
        if let Some(count) = counts.get_mut(place(arrival.key)) {
            *count = count.saturating_add(1);
        }
    }
    let Some((median, far)) = far(&counts) else { return (Rest::Few, Vec::new(), standings) };
    let mut times: HashMap<u32, Vec<u64>, RandomState> = HashMap::default();
    for arrival in arrivals() {
        if counts.get(place(arrival.key)).is_some_and(|count| f64::from(*count) >= far) {
            times.entry(arrival.key).or_default().push(arrival.at.as_micros() / 1_000_000);
        }
    }
    let mut outliers = Vec::new();
    for (key, mut seconds) in times {
        seconds.sort_unstable();
        let Some(known) = keys.get(place(key)) else { continue };
        let requests = u64::try_from(seconds.len()).unwrap_or(u64::MAX);
        let signs = signs(seconds, known);
        if signs.is_empty() {
            continue;
        }
        if let Some(standing) = standings.get_mut(place(key)) {
            *standing = Standing::Outlier;
        }
        outliers.push(Outlier { label: known.label.to_string(), requests, signs });
    }
    outliers.sort_by(|one, other| {
        other.requests.cmp(&one.requests).then_with(|| one.label.cmp(&other.label))
    });
    (Rest::Many { median: u64::from(median), far }, outliers, standings)
}

fn place(key: u32) -> usize {
    usize::try_from(key).unwrap_or(usize::MAX)
}

/// The count in the middle, and from which on one is far above the rest.
fn far(counts: &[u32]) -> Option<(u32, f64)> {
    let mut counts: Vec<u32> = counts.iter().copied().filter(|count| *count > 0).collect();
    if counts.len() < MANY {
        return None;
    }
    let half = counts.len() / 2;
    let (_, median, _) = counts.select_nth_unstable(half);
    let median = *median;
    let middle = f64::from(median).log2();
    let mut apart: Vec<f64> =
        counts.iter().map(|count| (f64::from(*count).log2() - middle).abs()).collect();
    let (_, spread, _) = apart.select_nth_unstable_by(half, f64::total_cmp);
    // 1.4826 of them are a standard deviation where counts are spread normally.
    let spread = (*spread * 1.4826).max(1.0);
    Some((median, (middle + 3.5 * spread).exp2()))
}

/// The signs of a machine in the seconds of requests, which are sorted.
fn signs(mut seconds: Vec<u64>, known: &Known) -> Vec<Sign> {
    let mut signs = Vec::new();
    if known.is_robot {
        signs.push(Sign::NamesRobot);
    }
    let hours = seconds.iter().fold(0_u32, |hours, second| hours | 1 << (second / 3_600 % 24));
    if hours.count_ones() >= HOURS {
        signs.push(Sign::AroundTheClock(hours.count_ones()));
    }
    seconds.dedup();
    let pauses = seconds.windows(2).filter_map(|pair| {
        let [one, other] = pair else { return None };
        Some(u128::from(other - one))
    });
    let (count, sum, squares) =
        pauses.fold((0_usize, 0_u128, 0_u128), |(count, sum, squares), pause| {
            (count + 1, sum + pause, squares.saturating_add(pause * pause))
        });
    // The variance is at most the square of the mean.
    let many = u128::try_from(count).unwrap_or(u128::MAX);
    if count >= PAUSES && many.saturating_mul(squares) <= 2 * sum * sum {
        signs.push(Sign::EvenPace);
    }
    signs
}
