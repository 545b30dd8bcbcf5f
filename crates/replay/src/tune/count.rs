//! What a bucket would have refused, by the rule that decides live.

use tollgate_core::algorithm::{Moment, Patience, Rule, State, WordRule};
use tollgate_core::{Key, Limit, Quota, Tick};

use super::gather::Arrival;
use super::outliers::Standing;
use super::{Judged, Split};

/// The requests of a group, by key.
pub(super) struct Lanes<'a> {
    ordinary: Vec<Lane<'a>>,
    others: Vec<Lane<'a>>,
    judged: Judged,
}

/// The requests of one key, in the order of time.
#[derive(Clone, Copy)]
struct Lane<'a> {
    key: u32,
    arrivals: &'a [Arrival],
}

/// What each key would use at most at a rate, if nothing were refused.
pub(super) struct Needs<'l, 'a> {
    /// The largest first.
    lanes: Vec<(u64, &'l Lane<'a>)>,
}

impl<'a> Lanes<'a> {
    /// Those of requests that are sorted by key and time.
    pub(super) fn of(arrivals: &'a [Arrival], standings: &[Standing]) -> Lanes<'a> {
        Lanes::before(arrivals, standings, None)
    }

    /// The same without what came later.
    pub(super) fn before(
        arrivals: &'a [Arrival],
        standings: &[Standing],
        end: Option<Tick>,
    ) -> Lanes<'a> {
        let lanes = arrivals.chunk_by(|one, other| one.key == other.key).filter_map(|arrivals| {
            let key = arrivals.first()?.key;
            let count = match end {
                Some(end) => arrivals.partition_point(|arrival| arrival.at < end),
                None => arrivals.len(),
            };
            let arrivals = arrivals.get(..count).filter(|arrivals| !arrivals.is_empty())?;
            Some(Lane { key, arrivals })
        });
        let is_ordinary = |lane: &Lane<'_>| {
            let at = usize::try_from(lane.key).ok();
            at.and_then(|at| standings.get(at)) != Some(&Standing::Outlier)
        };
        let (ordinary, others): (Vec<_>, Vec<_>) = lanes.partition(is_ordinary);
        match ordinary.is_empty() {
            true => Lanes { ordinary: others, others: ordinary, judged: Judged::Everybody },
            false => Lanes { ordinary, others, judged: Judged::AsEverywhere },
        }
    }

    pub(super) fn judged(&self) -> Judged {
        self.judged
    }

    pub(super) fn ordinary_keys(&self) -> u64 {
        u64::try_from(self.ordinary.len()).unwrap_or(u64::MAX)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ordinary.is_empty()
    }

    /// How many requests there are.
    pub(super) fn requests(&self) -> Split {
        self.requests_since(Tick::EPOCH)
    }

    /// How many requests came at an instant or later.
    pub(super) fn requests_since(&self, from: Tick) -> Split {
        let count = |lanes: &[Lane<'_>]| lanes.iter().map(|lane| lane.since(from)).sum();
        Split { ordinary: count(&self.ordinary), others: count(&self.others) }
    }

    /// The most requests of one ordinary key: at no rate it needs more.
    pub(super) fn longest(&self) -> u64 {
        self.ordinary.iter().map(Lane::len).max().unwrap_or(0)
    }

    /// What ordinary keys need at a rate; `None` if no rule can count so much at it.
    pub(super) fn needs<'l>(&'l self, rate: Quota) -> Option<Needs<'l, 'a>> {
        let limit = limit(rate.with_burst(self.longest().max(1)).ok()?)?;
        let mut lanes: Vec<_> =
            self.ordinary.iter().map(|lane| (lane.need(&limit).0, lane)).collect();
        lanes.sort_unstable_by(|(one, _), (other, _)| other.cmp(one));
        Some(Needs { lanes })
    }

    /// The ordinary key that needs most at this rate, how much, and when.
    pub(super) fn neediest(&self, quota: Quota) -> (u32, u64, Tick) {
        let most = quota.with_burst(self.longest().max(1)).ok().and_then(limit);
        let Some(limit) = most else { return (0, 0, Tick::EPOCH) };
        let needs = self.ordinary.iter().map(|lane| (lane.key, lane.need(&limit)));
        let (key, (need, at)) =
            needs.max_by_key(|(key, (need, _))| (*need, *key)).unwrap_or_default();
        (key, need, at)
    }

    /// What is refused at an instant or later; before it is decided as well.
    pub(super) fn refused(&self, quota: Quota, from: Tick) -> Option<Split> {
        let limit = limit(quota)?;
        let count = |lanes: &[Lane<'_>]| lanes.iter().map(|lane| lane.refused(&limit, from)).sum();
        Some(Split { ordinary: count(&self.ordinary), others: count(&self.others) })
    }
}

impl Needs<'_, '_> {
    /// The least burst that refuses at most so many requests of ordinary keys at this rate, found by
    /// bisection: a larger one never refuses more.
    pub(super) fn least_burst(&self, rate: Quota, allowed: u64) -> u64 {
        let (mut too_few, mut enough) = (0, self.lanes.first().map_or(1, |(need, _)| *need));
        while enough - too_few > 1 {
            let middle = too_few + (enough - too_few) / 2;
            match self.refuses_more(rate, middle, allowed) {
                true => too_few = middle,
                false => enough = middle,
            }
        }
        enough
    }

    fn refuses_more(&self, rate: Quota, burst: u64, allowed: u64) -> bool {
        let Some(limit) = rate.with_burst(burst).ok().and_then(limit) else { return true };
        let mut refused = 0;
        // Who needs no more than the burst is refused nothing.
        for (_, lane) in self.lanes.iter().take_while(|(need, _)| *need > burst) {
            refused += lane.refused(&limit, Tick::EPOCH);
            if refused > allowed {
                return true;
            }
        }
        false
    }
}

impl Lane<'_> {
    fn len(&self) -> u64 {
        u64::try_from(self.arrivals.len()).unwrap_or(u64::MAX)
    }

    fn since(&self, from: Tick) -> u64 {
        let before = self.arrivals.partition_point(|arrival| arrival.at < from);
        u64::try_from(self.arrivals.len() - before).unwrap_or(u64::MAX)
    }

    /// The most it ever has used at once under a limit that refuses it nothing, and when that was.
    fn need(&self, limit: &Limit) -> (u64, Tick) {
        let Some(mut bucket) = Bucket::of(limit) else { return (0, Tick::EPOCH) };
        let mut most = (0, Tick::EPOCH);
        for arrival in self.arrivals {
            bucket.admits(arrival.at);
            let used = bucket.used(arrival.at);
            if used > most.0 {
                most = (used, arrival.at);
            }
        }
        most
    }

    fn refused(&self, limit: &Limit, from: Tick) -> u64 {
        if self.len() <= limit.capacity() {
            return 0;
        }
        let Some(mut bucket) = Bucket::of(limit) else { return 0 };
        let mut refused = 0;
        for arrival in self.arrivals {
            let admitted = bucket.admits(arrival.at);
            refused += u64::from(!admitted && arrival.at >= from);
        }
        refused
    }
}

/// The bucket of one key. It is what a store keeps of it, without the store: that is needed some forty
/// times for each key, and knows one request at a time.
struct Bucket<'l> {
    limit: &'l Limit,
    rule: &'l WordRule,
    state: State,
}

impl<'l> Bucket<'l> {
    /// An empty one; `None` for a rule that is none of buckets, which no limit here has.
    fn of(limit: &'l Limit) -> Option<Bucket<'l>> {
        match limit.rule() {
            Rule::Words(rule) => Some(Bucket { limit, rule, state: State::FRESH }),
            Rule::Log(_) => None,
        }
    }

    /// Whether a request passes, which is then charged.
    fn admits(&mut self, at: Tick) -> bool {
        let step = self.rule.ask(self.state, self.moment(at), 1, Patience::Wait);
        self.state = step.next;
        step.ruling.passes()
    }

    /// How much of it is used.
    fn used(&self, at: Tick) -> u64 {
        let left = self.rule.room(self.state, self.moment(at), Patience::Wait);
        self.limit.capacity().saturating_sub(left)
    }

    fn moment(&self, at: Tick) -> Moment {
        // A bucket's windows begin with whoever comes, whatever the key.
        self.limit.moment(at, &Key::Bytes(b""))
    }
}

/// A bucket of this quota; `None` if its numbers are too large for one.
pub(super) fn limit(quota: Quota) -> Option<Limit> {
    Limit::new("tuned", quota).ok()
}
