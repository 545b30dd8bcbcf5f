//! What is asked of a server: the charges of a decision, merged by key, as one script call.

#[cfg(test)]
mod tests;

use tollgate_core::algorithm::{Patience, Rule, State, WordRule, twin};
use tollgate_core::{Charge, Effect, Receipt, Tick};

use crate::key::{self, Prefix};
use crate::script::{Job, Rules, Script};

/// A script call.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) script: &'static Script,
    pub(crate) keys: Vec<String>,
    pub(crate) packed: Vec<u8>,
    /// The first and the last instant at which it serves; at others it does nothing.
    pub(crate) within: Option<(Tick, Tick)>,
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
    own: u64,
    total: u64,
    /// How many these are, and with the enforcing ones.
    own_count: u64,
    pub(crate) count: u64,
    /// That of whoever among them is least patient.
    pub(crate) patience: Patience,
}

/// A decision to be asked for: how its charges are merged, and where their keys live.
#[derive(Debug)]
pub(crate) struct Question<'c, 'l, 'k> {
    pub(crate) charges: &'c [Charge<'l, 'k>],
    /// Enforcing ones first.
    pub(crate) entries: Vec<Entry>,
    /// The entry of each charge; none for limits that never pass anything.
    pub(crate) entry_of: Vec<Option<usize>>,
    names: Vec<String>,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Charges.
    Charge,
    /// Reads.
    Peek,
    /// Charges what is left of this much.
    UpTo(u64),
}

impl<'c, 'l, 'k> Question<'c, 'l, 'k> {
    /// Merges charges.
    pub(crate) fn new(prefix: &Prefix, charges: &'c [Charge<'l, 'k>]) -> Question<'c, 'l, 'k> {
        let (entries, entry_of, cells) = merge(charges);
        let firsts = cells.iter().filter_map(|first| charges.get(*first));
        let names = firsts.map(|charge| key::name(prefix, charge.limit, charge.key, charge.home));
        Question { charges, entries, entry_of, names: names.collect() }
    }

    /// The first charge of an entry.
    pub(crate) fn charge_of(&self, entry: &Entry) -> Option<&'c Charge<'l, 'k>> {
        self.charges.get(entry.charge)
    }

    /// The name of an entry's key.
    pub(crate) fn name_of(&self, entry: &Entry) -> &str {
        self.names.get(entry.cell).map_or("", String::as_str)
    }

    /// What is granted if all pass.
    pub(crate) fn granted(&self, take: Option<u64>) -> u64 {
        take.or_else(|| self.charges.iter().map(|charge| charge.cost).min()).unwrap_or(0)
    }

    /// Whether some limit never passes anything, so that nothing can be charged.
    pub(crate) fn is_hopeless(&self) -> bool {
        let charges = self.charges.iter().zip(&self.entry_of);
        charges.into_iter().any(|(c, entry)| c.effect == Effect::Enforce && entry.is_none())
    }

    /// What to send about some of the entries, each charge at its own cost or all at `take`.
    /// It serves only `within` those instants by the server's clock, of which `now` is one: a calendar's
    /// windows are told apart here.
    pub(crate) fn request(
        &self,
        ask: Ask,
        take: Option<u64>,
        entries: &[&Entry],
        now: Tick,
    ) -> Request {
        let plain = self.plain(ask, take, entries);
        plain.unwrap_or_else(|| self.general(ask, take, entries, now))
    }

    /// What to send to charge enforcing limits with states in words: each of them is an entry and has a
    /// key of its own.
    fn plain(&self, ask: Ask, take: Option<u64>, entries: &[&Entry]) -> Option<Request> {
        let is_plain = |entry: &&Entry| entry.effect == Effect::Enforce && entry.total(take) > 0;
        if ask != Ask::Charge || self.is_hopeless() || !entries.iter().all(is_plain) {
            return None;
        }
        let limits = entries.iter().filter_map(|entry| self.charge_of(entry));
        let rules: Option<Vec<Rules>> = limits
            .map(|charge| {
                let limit = charge.limit;
                Rules::of(limit.rule()).filter(|_| limit.calendar().is_none())
            })
            .collect();
        let script = Script::plain(&rules?)?;
        let mut keys = Vec::with_capacity(entries.len());
        let mut packed = Vec::with_capacity(entries.len() * 64);
        for entry in entries {
            let Charge { limit, key, .. } = self.charge_of(entry)?;
            keys.push(self.name_of(entry).to_owned());
            push(&mut packed, limit.resolution().micros());
            push(&mut packed, limit.phase(key));
            push(&mut packed, entry.total(take));
            for number in twin::numbers(limit.rule(), entry.patience) {
                push(&mut packed, number);
            }
        }
        Some(Request { script, keys, packed, within: None })
    }

    /// What to send about any entries.
    fn general(&self, ask: Ask, take: Option<u64>, entries: &[&Entry], now: Tick) -> Request {
        let mut keys: Vec<&str> = Vec::with_capacity(entries.len());
        let mut packed = Vec::with_capacity(24 + entries.len() * 88);
        let mut rules = Rules::default();
        push(&mut packed, u64::from(ask != Ask::Peek));
        push(&mut packed, u64::from(!self.is_hopeless()));
        push(&mut packed, if let Ask::UpTo(wanted) = ask { wanted } else { 0 });
        let within = self.within(entries, now);
        let (first, last) = within.unwrap_or((Tick::EPOCH, Tick::from_micros(u64::MAX)));
        push(&mut packed, first.as_micros());
        push(&mut packed, last.as_micros());
        for entry in entries {
            let Some(Charge { limit, key, .. }) = self.charge_of(entry) else { continue };
            let Some(rule) = Rules::of(limit.rule()) else { continue };
            rules = rules.and(rule);
            let name = self.name_of(entry);
            let at = keys.iter().position(|known| *known == name).unwrap_or_else(|| {
                keys.push(name);
                keys.len().saturating_sub(1)
            });
            let take = if let Ask::UpTo(_) = ask { Some(1) } else { take };
            let effect = match entry.effect {
                Effect::Enforce => 0,
                Effect::Shadow if entry.own(take) > 0 => 1,
                // What costs nothing is told of, and not written.
                Effect::Shadow => 2,
            };
            push(&mut packed, u64::try_from(at).unwrap_or(u64::MAX).saturating_add(1));
            push(&mut packed, u64::from(rule.number()));
            push(&mut packed, effect);
            push(&mut packed, limit.resolution().micros());
            push(&mut packed, limit.moment(now, key).phase);
            push(&mut packed, entry.total(take));
            for number in twin::numbers(limit.rule(), entry.patience) {
                push(&mut packed, number);
            }
        }
        let job = if let Ask::UpTo(_) = ask { Job::Take } else { Job::Decide };
        let keys = keys.into_iter().map(str::to_owned).collect();
        Request { script: Script::of(job, rules), keys, packed, within }
    }

    /// In which instants around `now` all calendars of these entries are in the same windows.
    fn within(&self, entries: &[&Entry], now: Tick) -> Option<(Tick, Tick)> {
        let limits = entries.iter().filter_map(|entry| self.charge_of(entry));
        let windows = limits.filter_map(|charge| Some(charge.limit.calendar()?.window(now)));
        let (first, end) = windows.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))?;
        Some((first, Tick::from_micros(end.as_micros().saturating_sub(1))))
    }
}

/// What a server is sent to charge these, as bytes: by the script's text, and by its hash.
///
/// Benches send it without the store and its connection.
#[doc(hidden)]
#[must_use]
pub fn sent(prefix: &Prefix, charges: &[Charge<'_, '_>]) -> [Vec<u8>; 2] {
    let question = Question::new(prefix, charges);
    let entries: Vec<&Entry> = question.entries.iter().collect();
    let Request { script, keys, packed, .. } =
        question.request(Ask::Charge, None, &entries, Tick::EPOCH);
    [script.by_text(&keys, &packed), script.by_hash(&keys, &packed)]
        .map(|command| command.get_packed_command())
}

impl Request {
    /// What to ask so that a charge costs what it turned out to cost; `None` if there is nothing to
    /// give.
    pub(crate) fn to_give(
        prefix: &Prefix,
        receipt: &Receipt<'_>,
        actual: u64,
        now: Tick,
    ) -> Option<Request> {
        let (limit, key, charged) = (receipt.limit(), receipt.key(), receipt.charged());
        let rules = Rules::of(limit.rule())?;
        let [left_a, left_b, left_c] = words(limit.rule(), charged.left);
        let [then_rate, _, _, then_full, _] = twin::numbers(&charged.under, Patience::Now);
        let [p, q, r, s, t] = twin::numbers(limit.rule(), Patience::Now);
        let mut packed = Vec::with_capacity(15 * 8);
        for number in [
            u64::from(rules.number()),
            limit.resolution().micros(),
            limit.moment(now, &key).phase,
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
        let keys = vec![key::name(prefix, limit, key, receipt.home())];
        Some(Request { script: Script::of(Job::Give, rules), keys, packed, within: None })
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

    /// What these charges cost by themselves; all of them `take` if that is given.
    pub(crate) fn own(&self, take: Option<u64>) -> u64 {
        take.map_or(self.own, |take| self.own_count.saturating_mul(take))
    }

    /// What they are asked with.
    pub(crate) fn total(&self, take: Option<u64>) -> u64 {
        take.map_or(self.total, |take| self.count.saturating_mul(take))
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

fn push(packed: &mut Vec<u8>, number: u64) {
    packed.extend_from_slice(&twin::double(number).to_le_bytes());
}
