//! What is asked of a server: the charges of a decision, merged by key, as one script call.

use tollgate_core::algorithm::{Patience, Rule, State, WordRule, twin};
use tollgate_core::{Charge, Effect, Mode, Receipt};

use crate::key::{self, Prefix};
use crate::script::{Job, Rules, Script};

/// A script call.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) script: &'static Script,
    pub(crate) keys: Vec<String>,
    pub(crate) packed: Vec<u8>,
}

/// Charges of one limit and key and one effect, which the server decides as one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The first of the charges.
    pub(crate) charge: usize,
    /// Which of the keys, from 0.
    pub(crate) cell: usize,
    pub(crate) effect: Effect,
    /// What these charges cost, and with the enforcing ones of the same key if they only watch.
    pub(crate) own: u64,
    pub(crate) total: u64,
    /// How many these are, and with the enforcing ones.
    pub(crate) own_count: u64,
    pub(crate) count: u64,
    /// That of whoever among them is least patient.
    pub(crate) patience: Patience,
}

/// A decision to be asked for, and how its charges are merged.
#[derive(Debug)]
pub(crate) struct Question {
    /// Enforcing ones first.
    pub(crate) entries: Vec<Entry>,
    /// The entry of each charge; none for limits that never pass anything.
    pub(crate) entry_of: Vec<Option<usize>>,
    pub(crate) request: Request,
}

impl Question {
    /// What to ask so that these charges are decided as one.
    pub(crate) fn new(prefix: &Prefix, mode: Mode, charges: &[Charge<'_, '_>]) -> Question {
        let (entries, entry_of, cells) = merge(charges);
        let keys = cells.iter().filter_map(|first| charges.get(*first));
        let keys = keys.map(|charge| key::name(prefix, charge.limit, charge.key, charge.key));
        let rules = entries.iter().filter_map(|e| Rules::of(charges.get(e.charge)?.limit.rule()));
        let rules = rules.fold(Rules::default(), Rules::and);
        let job = if mode == Mode::UpTo { Job::Take } else { Job::Decide };
        let request = Request {
            script: Script::of(job, rules),
            keys: keys.collect(),
            packed: pack(mode, charges, &entries),
        };
        Question { entries, entry_of, request }
    }
}

impl Request {
    /// What to ask so that a charge costs what it turned out to cost; `None` if there is nothing to
    /// give.
    pub(crate) fn to_give(prefix: &Prefix, receipt: &Receipt<'_>, actual: u64) -> Option<Request> {
        let (limit, key, charged) = (receipt.limit(), receipt.key(), receipt.charged());
        let rules = Rules::of(limit.rule())?;
        let [left_a, left_b, left_c] = words(limit.rule(), charged.left);
        let [then_rate, _, _, then_full, _] = twin::numbers(&charged.under, Patience::Now);
        let [p, q, r, s, t] = twin::numbers(limit.rule(), Patience::Now);
        let mut packed = Vec::with_capacity(15 * 8);
        for number in [
            u64::from(rules.number()),
            limit.resolution().micros(),
            limit.phase(&key),
            charged.cost,
            left_a,
            left_b,
            left_c,
            then_rate,
            then_full,
            actual,
            p,
            q,
            r,
            s,
            t,
        ] {
            push(&mut packed, number);
        }
        let keys = vec![key::name(prefix, limit, key, key)];
        Some(Request { script: Script::of(Job::Give, rules), keys, packed })
    }
}

/// A state's words as the Lua rules have them.
fn words(rule: &Rule, state: State) -> [u64; 3] {
    match rule {
        Rule::Words(WordRule::Sliding(_)) => [state.0, state.1 >> 32, state.1 & 0xffff_ffff],
        _ => [state.0, state.1, 0],
    }
}

/// The entries, that of each charge, and the first charge of each key.
fn merge(charges: &[Charge<'_, '_>]) -> (Vec<Entry>, Vec<Option<usize>>, Vec<usize>) {
    let (mut entries, mut cells) = (Vec::new(), Vec::new());
    let mut entry_of = vec![None; charges.len()];
    for effect in [Effect::Enforce, Effect::Shadow] {
        for (index, charge) in charges.iter().enumerate() {
            if charge.effect != effect || Rules::of(charge.limit.rule()).is_none() {
                continue;
            }
            let cell = cell_of(charges, charge, &mut cells, index);
            let same = |entry: &Entry| entry.cell == cell && entry.effect == effect;
            let at = entries.iter().position(same).unwrap_or_else(|| {
                entries.push(Entry::new(index, cell, charge, &entries));
                entries.len().saturating_sub(1)
            });
            if let Some(entry) = entries.get_mut(at) {
                entry.add(charge);
            }
            if let Some(entry) = entry_of.get_mut(index) {
                *entry = Some(at);
            }
        }
    }
    (entries, entry_of, cells)
}

/// Which key a charge is of, by the first charge of each.
fn cell_of(
    charges: &[Charge<'_, '_>],
    charge: &Charge<'_, '_>,
    cells: &mut Vec<usize>,
    index: usize,
) -> usize {
    let same = |first: &usize| {
        let first = charges.get(*first);
        first.is_some_and(|f| f.limit.id() == charge.limit.id() && f.key == charge.key)
    };
    cells.iter().position(same).unwrap_or_else(|| {
        cells.push(index);
        cells.len().saturating_sub(1)
    })
}

impl Entry {
    fn new(index: usize, cell: usize, charge: &Charge<'_, '_>, entries: &[Entry]) -> Entry {
        // A charge that only watches is asked with the enforcing ones of its key.
        let enforcing = entries.iter().find(|entry| entry.cell == cell);
        Entry {
            charge: index,
            cell,
            effect: charge.effect,
            own: 0,
            total: enforcing.map_or(0, |entry| entry.total),
            own_count: 0,
            count: enforcing.map_or(0, |entry| entry.count),
            patience: charge.patience,
        }
    }

    fn add(&mut self, charge: &Charge<'_, '_>) {
        self.own = self.own.saturating_add(charge.cost);
        self.total = self.total.saturating_add(charge.cost);
        self.own_count = self.own_count.saturating_add(1);
        self.count = self.count.saturating_add(1);
        if charge.patience == Patience::Now {
            self.patience = Patience::Now;
        }
    }
}

/// The decision in doubles, as `frame.lua` reads them.
fn pack(mode: Mode, charges: &[Charge<'_, '_>], entries: &[Entry]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(24 + entries.len() * 88);
    let hopeless = |charge: &Charge<'_, '_>| {
        charge.effect == Effect::Enforce && Rules::of(charge.limit.rule()).is_none()
    };
    let wanted = match mode {
        Mode::UpTo => charges.iter().map(|charge| charge.cost).min().unwrap_or(0),
        Mode::Charge | Mode::Peek => 0,
    };
    push(&mut packed, u64::from(mode != Mode::Peek));
    push(&mut packed, u64::from(!charges.iter().any(hopeless)));
    push(&mut packed, wanted);
    for entry in entries {
        let Some(Charge { limit, key, .. }) = charges.get(entry.charge) else { continue };
        let (cost, own) = match mode {
            Mode::UpTo if wanted > 0 => (entry.count, entry.own_count),
            Mode::UpTo => (0, 0),
            Mode::Charge | Mode::Peek => (entry.total, entry.own),
        };
        let effect = match entry.effect {
            Effect::Enforce => 0,
            Effect::Shadow if own > 0 => 1,
            // What costs nothing is told of, and not written.
            Effect::Shadow => 2,
        };
        let rule = Rules::of(limit.rule()).unwrap_or_default().number();
        for number in [
            u64::try_from(entry.cell).unwrap_or(u64::MAX).saturating_add(1),
            u64::from(rule),
            effect,
            limit.resolution().micros(),
            limit.phase(key),
            cost,
        ] {
            push(&mut packed, number);
        }
        for number in twin::numbers(limit.rule(), entry.patience) {
            push(&mut packed, number);
        }
    }
    packed
}

fn push(packed: &mut Vec<u8>, number: u64) {
    packed.extend_from_slice(&twin::double(number).to_le_bytes());
}
