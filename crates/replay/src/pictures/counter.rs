//! What one key asked of one limit.

use tollgate_core::algorithm::{Patience, Rule, State};
use tollgate_core::{Algorithm, Key, Limit, Quota, Tick};

use super::level::Seen;
use super::peaks::Peaks;
use crate::tally::Network;

/// What one key asked of one limit.
#[derive(Debug)]
pub(super) struct Counter {
    /// Who asked first.
    pub(super) client: Network,
    /// Whether others asked as well.
    pub(super) is_shared: bool,
    pub(super) asked: u64,
    pub(super) refused: u64,
    /// Of the limit that is this key's, by a plan or an override.
    pub(super) capacity: u64,
    pub(super) seen: Option<Box<Seen>>,
    /// Under the wide limit.
    state: State,
    peak: u64,
}

impl Counter {
    /// How many requests a refused one counts as, so that who is refused comes before who is merely busy.
    const REFUSED: u64 = 10;

    pub(super) fn of(client: Network) -> Counter {
        Counter {
            client,
            is_shared: false,
            asked: 0,
            refused: 0,
            capacity: 0,
            seen: None,
            state: State::FRESH,
            peak: 0,
        }
    }

    pub(super) fn count(&mut self, client: Network, capacity: u64, refused: bool) {
        self.is_shared |= self.client != client;
        self.asked += 1;
        self.refused += u64::from(refused);
        self.capacity = capacity;
    }

    /// Notes how large the demand is after a request.
    pub(super) fn demand(&mut self, wide: &Wide, now: Tick, key: &Key<'_>, cost: u64) {
        let Rule::Words(rule) = wide.0.rule() else { return };
        let at = wide.0.moment(now, key);
        let step = rule.ask(self.state, at, cost, Patience::Wait);
        if step.ruling.passes() {
            self.state = step.next;
        }
        let left = rule.room(self.state, at, Patience::Wait);
        self.peak = self.peak.max(wide.0.capacity().saturating_sub(left));
    }

    pub(super) fn weight(&self) -> u64 {
        self.asked + self.refused * (Counter::REFUSED - 1)
    }

    /// Adds its peak to others, as if its capacity were the one that most have.
    pub(super) fn peak_into(&self, peaks: &mut Peaks, capacity: u64) {
        let scaled = u128::from(self.peak) * u128::from(capacity);
        let scaled = scaled.div_ceil(self.capacity.max(1).into());
        peaks.add(u64::try_from(scaled).unwrap_or(u64::MAX), capacity);
    }
}

/// A limit that counts as another one does and refuses nothing: of the same rate and windows, with room
/// for all. How far it falls is how large the demand is.
#[derive(Debug)]
pub(super) struct Wide(Limit);

impl Wide {
    /// `None` where nothing is ever allowed. A sliding log, which has no two words to keep, is estimated
    /// by a sliding window.
    pub(super) fn of(limit: &Limit) -> Option<Wide> {
        let quota = limit.quota();
        let algorithm = match limit.algorithm() {
            Algorithm::LeakyBucket(_) => Algorithm::TokenBucket,
            Algorithm::SlidingLog => Algorithm::SlidingWindow,
            other => other,
        };
        // The widest that the rule can count exactly.
        let rooms = std::iter::successors(Some(1_000_000_000_u64), |room| Some(room / 2));
        let rooms = rooms.take_while(|room| *room > limit.capacity());
        let mut built = rooms.filter_map(|room| {
            let quota = match algorithm {
                Algorithm::TokenBucket => quota.with_burst(room),
                _ => Quota::new(room, quota.period()),
            };
            let wide = Limit::builder(limit.name(), quota.ok()?).algorithm(algorithm);
            wide.resolution(limit.resolution()).build().ok().map(Wide)
        });
        if quota.amount() == 0 { None } else { built.next() }
    }
}
