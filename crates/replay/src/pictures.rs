//! What pictures need beyond a tally: how full the budgets were over time, and how large the demand
//! on them grew.

mod counter;
mod grid;
mod level;
mod peaks;

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use tollgate_core::{Answer, Limit};
use tollgate_policy::{KeyPart, LimitSpec, Matched, Policy};

use crate::run::{Decided, Outcome};
use crate::tally::{Hits, Network, Ranking};
use counter::{Counter, Wide};
pub(crate) use grid::Grid;
pub(crate) use level::Level;
use level::Seen;
pub(crate) use peaks::Peaks;

/// What pictures need beyond a [`Tally`](crate::Tally), to be told of each request as that is.
///
/// For each limit and key it keeps how large the demand grew, and, of the keys that are refused most or
/// ask most, the level over time. Bounded: 50,000 keys in all, of which those with the least to tell are
/// put together when there are more, and a level over time for at most 1,024 of them. The level of a key
/// that comes to be among these late begins there.
#[derive(Debug)]
pub struct Pictures {
    ipv6_prefix: u8,
    grid: Option<Grid>,
    last: u64,
    limits: Vec<LimitPicture>,
    by_id: HashMap<u64, usize, RandomState>,
    counters: HashMap<(usize, u64), Counter, RandomState>,
    hasher: RandomState,
    uncovered: Ranking<Box<[u8]>, Hits>,
    label: Vec<u8>,
}

/// One window of a limit, for pictures.
#[derive(Debug)]
pub(crate) struct LimitPicture {
    pub(crate) name: String,
    pub(crate) quota: String,
    /// What a key without a plan or an override of its own has.
    pub(crate) capacity: u64,
    pub(crate) whose: Whose,
    pub(crate) asked: u64,
    pub(crate) refused: u64,
    wide: Option<Wide>,
    /// The demand of keys that are not kept.
    forgotten: Peaks,
    /// Its keys that have a level over time.
    drawn: Vec<u64>,
    /// What a key has to weigh to get one.
    weight: u64,
}

/// Whose budgets a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Each client has one.
    Clients,
    /// All have one together.
    Everybody,
    /// Something else tells them apart.
    Keys,
}

/// The level of one key over time.
#[derive(Debug)]
pub(crate) struct Drawn {
    /// Who asked first.
    pub(crate) client: Network,
    /// Whether others asked as well.
    pub(crate) is_shared: bool,
    pub(crate) asked: u64,
    pub(crate) refused: u64,
    pub(crate) capacity: u64,
    /// The level in each bin of the grid.
    pub(crate) levels: Vec<Level>,
}

impl Pictures {
    /// The most keys; half of them stay when there are more.
    const MOST: usize = 50_000;
    /// The most levels over time.
    const DRAWN: usize = 1_024;
    /// The most of one limit.
    const DRAWN_OF_ONE: usize = 256;
    /// Of how many limits.
    const DRAWN_LIMITS: usize = 128;
    /// The most routes that no limit is for, of which twice as many may be there for a while.
    const ROUTES: usize = 10_000;

    /// Nothing yet, for the limits of a policy.
    #[must_use]
    pub fn new(policy: &Policy) -> Pictures {
        Pictures {
            ipv6_prefix: policy.ipv6_prefix(),
            grid: None,
            last: 0,
            limits: Vec::new(),
            by_id: HashMap::default(),
            counters: HashMap::default(),
            hasher: RandomState::default(),
            uncovered: Ranking::new(Pictures::ROUTES),
            label: Vec::new(),
        }
    }

    /// Takes in a request.
    pub fn count(&mut self, decided: &Decided<'_, '_>) {
        self.advance(decided.entry.at.as_micros() / 1_000_000);
        match (&decided.outcome, decided.matches) {
            (Outcome::Limited(decision), Some(matches)) => {
                for (matched, answer) in matches.iter().zip(decision.answers()) {
                    self.charge(&matched, answer, decided.client);
                }
            }
            (Outcome::Uncovered, _) => {
                self.label.clear();
                decided.route.label(&mut self.label);
                let label = self.label.as_slice();
                self.uncovered.at(label, || label.into()).0 += 1;
            }
            _ => {}
        }
    }

    /// The bins of levels.
    pub(crate) fn grid(&self) -> Option<Grid> {
        self.grid
    }

    /// Each window of each limit that was asked.
    pub(crate) fn limits(&self) -> &[LimitPicture] {
        &self.limits
    }

    /// The routes that no limit is for.
    pub(crate) fn uncovered(&self) -> &Ranking<Box<[u8]>, Hits> {
        &self.uncovered
    }

    /// The levels of those keys of a limit that it refused most, and, behind them, that asked most.
    pub(crate) fn drawn(&self, place: usize, most: usize) -> Vec<Drawn> {
        let Some(grid) = self.grid else { return Vec::new() };
        let of_limit = self.counters.iter().filter(|((at, _), _)| *at == place);
        let mut drawn: Vec<_> = of_limit.filter_map(|(_, c)| Some((c, c.seen.as_ref()?))).collect();
        drawn.sort_by_key(|(c, _)| (std::cmp::Reverse((c.refused, c.asked)), c.client));
        let levels = drawn.into_iter().take(most).map(|(counter, seen)| Drawn {
            client: counter.client,
            is_shared: counter.is_shared,
            asked: counter.asked,
            refused: counter.refused,
            capacity: counter.capacity,
            levels: seen.levels(grid, self.last),
        });
        levels.collect()
    }

    /// How large the demand of each key of a limit grew.
    pub(crate) fn peaks(&self, place: usize) -> Peaks {
        let Some(limit) = self.limits.get(place) else { return Peaks::default() };
        let mut peaks = limit.forgotten.clone();
        for (_, counter) in self.counters.iter().filter(|((at, _), _)| *at == place) {
            counter.peak_into(&mut peaks, limit.capacity);
        }
        peaks
    }

    /// Makes room on the time axis.
    fn advance(&mut self, second: u64) {
        self.last = self.last.max(second);
        let mut grid = self.grid.unwrap_or_else(|| Grid::at(second));
        while grid.place(second).is_none() {
            let wider = grid.wider();
            let seen = self.counters.values_mut().filter_map(|counter| counter.seen.as_mut());
            seen.for_each(|seen| seen.widen(grid, wider));
            grid = wider;
        }
        self.grid = Some(grid);
    }

    fn charge(&mut self, matched: &Matched<'_, '_>, answer: &Answer<'_>, client: IpAddr) {
        let Some(grid) = self.grid else { return };
        let place = self.place(matched.spec, matched.limit);
        let Some(limit) = self.limits.get_mut(place) else { return };
        let refused = !answer.verdict().passes();
        limit.asked += 1;
        limit.refused += u64::from(refused);
        let key = (place, self.hasher.hash_one(matched.key));
        let client = Network::of(client, self.ipv6_prefix);
        let counter = self.counters.entry(key).or_insert_with(|| Counter::of(client));
        counter.count(client, matched.limit.capacity(), refused);
        if let Some(wide) = &limit.wide {
            counter.demand(wide, answer.now(), &matched.key, matched.cost);
        }
        let is_drawn = place < Pictures::DRAWN_LIMITS && counter.weight() >= limit.weight;
        if counter.seen.is_none() && is_drawn {
            counter.seen = Some(Box::new(Seen::default()));
            limit.drawn.push(key.1);
        }
        if let Some(seen) = &mut counter.seen {
            seen.note(grid, answer);
        }
        let limits = self.limits.len().min(Pictures::DRAWN_LIMITS);
        let most = (Pictures::DRAWN / limits.max(1)).min(Pictures::DRAWN_OF_ONE);
        if self.limits.get(place).is_some_and(|limit| limit.drawn.len() > most) {
            self.draw_fewer(place, most / 2);
        }
        if self.counters.len() > Pictures::MOST {
            self.forget();
        }
    }

    /// The place of a limit. Overrides and plans of one period stand where what they override stands.
    fn place(&mut self, spec: &LimitSpec, limit: &Limit) -> usize {
        if let Some(place) = self.by_id.get(&limit.id()) {
            return *place;
        }
        let base = spec.limits().iter().find(|base| base.id() == limit.id()).unwrap_or(limit);
        self.limits.push(LimitPicture {
            name: base.name().to_owned(),
            quota: format!("{}, {}", base.quota(), base.algorithm()),
            capacity: base.capacity(),
            whose: Whose::of(spec.key()),
            asked: 0,
            refused: 0,
            wide: Wide::of(base),
            forgotten: Peaks::default(),
            drawn: Vec::new(),
            weight: 0,
        });
        let place = self.limits.len() - 1;
        self.by_id.insert(limit.id(), place);
        place
    }

    /// Leaves the level over time to those keys of a limit that weigh the most.
    fn draw_fewer(&mut self, place: usize, stay: usize) {
        let Some(limit) = self.limits.get_mut(place) else { return };
        let counters = &mut self.counters;
        let weight = |key: &u64| counters.get(&(place, *key)).map_or(0, Counter::weight);
        limit.drawn.sort_by_cached_key(|key| std::cmp::Reverse((weight(key), *key)));
        for key in limit.drawn.drain(stay..) {
            let Some(counter) = counters.get_mut(&(place, key)) else { continue };
            limit.weight = limit.weight.max(counter.weight() + 1);
            counter.seen = None;
        }
    }

    /// Puts the lighter half of the keys together.
    fn forget(&mut self) {
        let weight = |(key, counter): (&(usize, u64), &Counter)| (counter.weight(), key.1);
        let mut weights: Vec<_> = self.counters.iter().map(weight).collect();
        let middle = weights.len() / 2;
        let (_, limit, _) = weights.select_nth_unstable(middle);
        let limit = *limit;
        let limits = &mut self.limits;
        self.counters.retain(|key, counter| {
            let stays = weight((key, counter)) > limit;
            if !stays && let Some(limit) = limits.get_mut(key.0) {
                counter.peak_into(&mut limit.forgotten, limit.capacity);
                limit.drawn.retain(|drawn| *drawn != key.1);
            }
            stays
        });
    }
}

impl Whose {
    fn of(key: &[KeyPart]) -> Whose {
        match key {
            [] | [KeyPart::Global] => Whose::Everybody,
            [KeyPart::Client] => Whose::Clients,
            _ => Whose::Keys,
        }
    }
}

#[cfg(test)]
mod tests;
