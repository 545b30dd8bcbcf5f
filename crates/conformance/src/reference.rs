//! The store that every other is compared with: one lock, one map, no forgetting.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tollgate_core::algorithm::{Log, Moment, Rule, State, Step};
use tollgate_core::charge::{Outcome, passes};
use tollgate_core::{
    Answer, Charge, Clock, Decision, Effect, Key, Limit, LocalStore, ManualClock, Mode, Net,
    Receipt, Reply, Store, Tick,
};

/// A store that writes each contract down as plainly as it can be.
///
/// - Charges of one (limit, key) are merged: each is asked with the sum of their costs, a shadow one
///   with the enforcing costs and the shadow ones.
/// - A peek is told exactly what the charge would be told, with `charged` 0.
/// - A limit that passes in a decision that is refused tells where its key stands, uncharged.
#[derive(Debug)]
pub struct Reference {
    clock: ManualClock,
    cells: Mutex<HashMap<CellId, Cell>>,
}

type CellId = (u64, OwnKey);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum OwnKey {
    Bytes(Vec<u8>),
    Int(u64),
    Net(Net),
}

/// What is kept of one key of one limit.
#[derive(Clone, Debug, Default)]
struct Cell {
    words: State,
    log: Log,
}

/// One charge of a decision, asked.
struct Asked {
    id: CellId,
    at: Moment,
    /// What it adds by itself.
    cost: u64,
    /// What it was asked with: its own cost and that of the charges merged with it.
    total: u64,
    before: State,
    step: Step,
}

impl Reference {
    /// An empty store that reads this clock.
    #[must_use]
    pub fn new(clock: ManualClock) -> Reference {
        Reference { clock, cells: Mutex::default() }
    }

    fn decide_all<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        let now = self.clock.now();
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let costs = match mode {
            Mode::Charge | Mode::Peek => charges.iter().map(|charge| charge.cost).collect(),
            Mode::UpTo => vec![up_to(&cells, charges, now); charges.len()],
        };
        let asked: Vec<Asked> =
            (0..charges.len()).map(|i| ask(&cells, charges, &costs, i, now)).collect();
        let all_pass = passes(charges.iter().zip(&asked).map(|(c, a)| (c.effect, a.step.ruling)));

        // The cells of this decision as it leaves them, or, for a peek, as it would.
        let held = |a: &Asked| (a.id.clone(), cells.get(&a.id).cloned().unwrap_or_default());
        let mut after: HashMap<CellId, Cell> = asked.iter().map(held).collect();
        let outcomes: Vec<Outcome> = asked
            .iter()
            .map(|a| Outcome::of(Mode::Charge, all_pass, a.cost, a.before, &a.step))
            .collect();
        let is = |outcome, effect| {
            let all = charges.iter().zip(&asked).zip(&outcomes);
            all.filter(move |((c, _), o)| **o == outcome && c.effect == effect)
                .map(|(pair, _)| pair)
        };
        // The last write to a cell stands: a shadow charge's step holds the enforcing ones too.
        for (charge, a) in is(Outcome::ReAnchored, Effect::Shadow)
            .chain(is(Outcome::ReAnchored, Effect::Enforce))
            .chain(is(Outcome::Charged, Effect::Enforce))
            .chain(is(Outcome::Charged, Effect::Shadow))
        {
            let (id, cell) = held(a);
            after.insert(id, cell.after(charge.limit, a));
        }

        let answers = charges.iter().zip(&asked).zip(&outcomes).map(|((charge, a), outcome)| {
            let charged = mode != Mode::Peek && *outcome == Outcome::Charged;
            let left = after[&a.id].summary(charge.limit, a.at);
            let verdict = charge.limit.verdict(a.step.ruling, now);
            let cost = if charged { a.cost } else { 0 };
            Answer::new(charge.limit, charge.effect, verdict, cost, left, (now, a.at))
        });
        let answers = answers.collect();
        if mode != Mode::Peek {
            cells.extend(after);
        }
        Decision::new(answers, costs.iter().copied().min().unwrap_or(0))
    }
}

impl LocalStore for Reference {
    fn decide_now<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        self.decide_all(mode, charges)
    }

    fn decide_one<'l>(&self, mode: Mode, charge: &Charge<'l, '_>) -> Decision<'l> {
        self.decide_all(mode, &[*charge])
    }

    fn give_now(&self, receipt: Receipt<'_>, actual: u64) {
        let (limit, key) = (receipt.limit(), receipt.key());
        let at = limit.moment(self.clock.now(), &key);
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = cells.entry((limit.id(), OwnKey::from(key))).or_default();
        match limit.rule() {
            Rule::Words(rule) => cell.words = rule.give(cell.words, at, &receipt.charged(), actual),
            Rule::Log(rule) => rule.give(&mut cell.log, at, &receipt.charged(), actual),
        }
    }
}

impl Store for Reference {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        Reply::ready(Ok(self.decide_all(mode, charges)))
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        self.give_now(receipt, actual);
        Reply::ready(Ok(()))
    }
}

impl Cell {
    /// The state in two words: a log is summed up.
    fn summary(&self, limit: &Limit, at: Moment) -> State {
        match limit.rule() {
            Rule::Words(_) => self.words,
            Rule::Log(rule) => rule.ask(&self.log, at, 0).next,
        }
    }

    fn after(mut self, limit: &Limit, asked: &Asked) -> Cell {
        match limit.rule() {
            Rule::Words(_) => self.words = asked.step.next,
            Rule::Log(rule) if asked.step.ruling.passes() => {
                rule.record(&mut self.log, asked.at, asked.total);
            }
            Rule::Log(rule) => {
                rule.re_anchor(&mut self.log, asked.at);
            }
        }
        self
    }
}

impl From<Key<'_>> for OwnKey {
    fn from(key: Key<'_>) -> OwnKey {
        match key {
            Key::Bytes(bytes) => OwnKey::Bytes(bytes.to_vec()),
            Key::Int(number) => OwnKey::Int(number),
            Key::Net(net) => OwnKey::Net(net),
        }
    }
}

fn id_of(charge: &Charge<'_, '_>) -> CellId {
    (charge.limit.id(), OwnKey::from(charge.key))
}

fn ask(
    cells: &HashMap<CellId, Cell>,
    charges: &[Charge<'_, '_>],
    costs: &[u64],
    index: usize,
    now: Tick,
) -> Asked {
    let charge = &charges[index];
    let id = id_of(charge);
    let merged = charges.iter().zip(costs).filter(|(other, _)| {
        id_of(other) == id && (charge.effect == Effect::Shadow || other.effect == Effect::Enforce)
    });
    let total = merged.fold(0u64, |sum, (_, cost)| sum.saturating_add(*cost));
    let at = charge.limit.moment(now, &charge.key);
    let cell = cells.get(&id).cloned().unwrap_or_default();
    let step = match charge.limit.rule() {
        Rule::Words(rule) => rule.ask(cell.words, at, total, charge.patience),
        Rule::Log(rule) => rule.ask(&cell.log, at, total),
    };
    let before = cell.summary(charge.limit, at);
    Asked { id, at, cost: costs[index], total, before, step }
}

/// How much every enforcing limit has left, at most what is wanted; 1 when that is nothing, so that
/// the refusal tells how long until 1 passes.
fn up_to(cells: &HashMap<CellId, Cell>, charges: &[Charge<'_, '_>], now: Tick) -> u64 {
    let wanted = charges.iter().map(|charge| charge.cost).min().unwrap_or(0);
    let enforcing = || charges.iter().filter(|charge| charge.effect == Effect::Enforce);
    let rooms = enforcing().map(|charge| {
        let id = id_of(charge);
        let sharing = enforcing().filter(|other| id_of(other) == id).count();
        let at = charge.limit.moment(now, &charge.key);
        let cell = cells.get(&id).cloned().unwrap_or_default();
        let room = match charge.limit.rule() {
            Rule::Words(rule) => rule.room(cell.words, at, charge.patience),
            Rule::Log(rule) => rule.room(&cell.log, at),
        };
        u64::try_from(sharing).ok().and_then(|n| room.checked_div(n)).unwrap_or(room)
    });
    let room = rooms.min().unwrap_or(wanted);
    if wanted > 0 { wanted.min(room).max(1) } else { 0 }
}
