//! One log on two sets of limits, and what differs.

use tollgate_policy::Policy;

use crate::error::ReplayError;
use crate::log::Log;
use crate::replayed::{ReplayOptions, Replayed};
use crate::run::{Decided, Effects, Fate, Replay};
use crate::tally::{LimitTally, Network, Ranking, Tally, Weighed};

/// What becomes of the same requests under other limits.
#[derive(Debug)]
pub struct Compared {
    /// The log on the other limits.
    pub other: Replayed,
    /// What differs from one to the other.
    pub changes: Changes,
}

/// Requests that one set of limits refuses and the other does not. Bounded, as a [`Tally`] is; only
/// those with such requests are here.
#[derive(Debug)]
pub struct Changes {
    /// All of them.
    pub total: Change,
    /// By client.
    pub clients: Ranking<Network, Change>,
    /// By route, as people read it.
    pub routes: Ranking<Box<[u8]>, Change>,
    effects: Effects,
    ipv6_prefix: u8,
    label: Vec<u8>,
}

/// Requests that one set of limits refuses and the other does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// How many only the other limits refuse.
    pub newly: u64,
    /// How many only the first limits refuse.
    pub no_longer: u64,
}

/// What one window of a limit said under the one set and under the other, `None` where it is not there.
pub(crate) type Pair<'t> = (Option<&'t LimitTally>, Option<&'t LimitTally>);

impl Compared {
    /// The limits of both, those of one name and period side by side.
    pub(crate) fn pairs<'t>(&'t self, first: &'t Tally) -> Vec<Pair<'t>> {
        let mut others: Vec<_> = self.other.tally.limits().iter().collect();
        let mut pairs = Vec::new();
        for limit in first.limits() {
            // Of one name each window has a quota of its own; where that was changed they pair up in
            // their order.
            let named = |other: &&LimitTally| other.name == limit.name;
            let alike = |other: &&LimitTally| named(other) && other.quota == limit.quota;
            let found = others.iter().position(alike).or_else(|| others.iter().position(named));
            pairs.push((Some(limit), found.map(|at| others.remove(at))));
        }
        pairs.extend(others.into_iter().map(|other| (None, Some(other))));
        pairs
    }
}

impl Changes {
    const MOST: usize = 50_000;

    fn new(policy: &Policy, effects: Effects) -> Changes {
        Changes {
            total: Change::default(),
            clients: Ranking::new(Changes::MOST),
            routes: Ranking::new(Changes::MOST),
            effects,
            ipv6_prefix: policy.ipv6_prefix(),
            label: Vec::new(),
        }
    }

    fn refuses(&self, decided: &Decided<'_, '_>) -> bool {
        match self.effects {
            Effects::AsGiven => decided.outcome.fate() == Fate::Refused,
            // Where all only watch, it is about what each would refuse.
            Effects::Shadow => decided.outcome.would_refuse(),
        }
    }

    /// Counts a request: what came of it first, and what comes of it under the other limits.
    fn count(&mut self, first_refuses: bool, other: &Decided<'_, '_>) {
        let change = match (first_refuses, self.refuses(other)) {
            (false, true) => Change { newly: 1, no_longer: 0 },
            (true, false) => Change { newly: 0, no_longer: 1 },
            _ => return,
        };
        let network = Network::of(other.client, self.ipv6_prefix);
        self.total.absorb(change);
        self.clients.at(&network, || network).absorb(change);
        self.label.clear();
        other.route.label(&mut self.label);
        let label = self.label.as_slice();
        self.routes.at(label, || label.into()).absorb(change);
    }
}

impl Weighed for Change {
    fn weight(&self) -> u64 {
        self.newly + self.no_longer
    }

    fn absorb(&mut self, other: Change) {
        self.newly += other.newly;
        self.no_longer += other.no_longer;
    }
}

/// Replays a log on two sets of limits at once, as [`replay`](crate::replay) does on one. The log is to
/// be opened for what either [wants](crate::wanted). `observe` sees what the first limits decide.
///
/// # Errors
/// As [`replay`](crate::replay).
pub fn compare(
    log: Log,
    (first, first_name): (Policy, &str),
    (other, other_name): (Policy, &str),
    options: ReplayOptions,
    progress: impl FnMut(u64),
    mut observe: impl FnMut(&Decided<'_, '_>),
) -> Result<(Replayed, Compared), ReplayError> {
    let ReplayOptions { effects, keys } = options;
    let mut changes = Changes::new(&first, effects);
    let replay = |policy| {
        let replay = Replay::new(policy, log.known(), effects, keys).map_err(ReplayError::keys)?;
        let replay = replay.of_log_with(log.wanted().to_vec());
        let tally = Tally::new(replay.policy(), log.known());
        Ok::<_, ReplayError>((replay, tally))
    };
    let (mut first, mut first_tally) = replay(first)?;
    let (mut other, mut other_tally) = replay(other)?;
    let sources: Vec<_> = log.parts().iter().map(|part| (part.name.clone(), part.format)).collect();
    let summary = log.read(progress, |entry| {
        let mut first_refuses = false;
        first.decide(entry, |decided| {
            first_tally.count(decided);
            observe(decided);
            first_refuses = changes.refuses(decided);
        });
        other.decide(entry, |decided| {
            other_tally.count(decided);
            changes.count(first_refuses, decided);
        });
    })?;
    let replayed = |replay: &Replay, name: &str, tally| Replayed {
        limits: name.to_owned(),
        sources: sources.clone(),
        log: summary.clone(),
        lacks: replay.lacks().to_vec(),
        effects,
        tally,
        forgotten_in_debt: replay.store().stats().forgotten_in_debt,
    };
    let other = replayed(&other, other_name, other_tally);
    Ok((replayed(&first, first_name, first_tally), Compared { other, changes }))
}
