//! Several charges, one decision: all are charged or none.
//!
//! Locks are taken in one order by everyone: shards of logs first, then buckets, each kind by its
//! index and each once. Logs come first because their locks may put a thread to sleep, and nobody
//! sleeps while others spin for a bucket.

use tollgate_core::algorithm::{Log, Moment, Rule, State, Step};
use tollgate_core::charge::{Outcome, passes};
use tollgate_core::{Answer, Charge, Decision, Effect, Few, Mode, Span, Tick};

use crate::bucket::Lock;
use crate::decide::{fresh_log, refuse_if, told};
use crate::fingerprint::Fingerprint;
use crate::logs::Locked;
use crate::memory::Memory;
use crate::table::View;
use crate::tally::Place;

/// Attempts without a lock before the buckets are locked first and read after.
const OPTIMISTIC: u32 = 4;

/// What is known of one charge of the decision.
#[derive(Clone, Copy)]
struct Slot<'t> {
    key: Fingerprint,
    at: Moment,
    /// The first charge of the same limit and key.
    cell: usize,
    view: Option<View<'t>>,
    /// What it adds by itself, and with the charges merged with it.
    cost: u64,
    total: u64,
    blocked: Option<Span>,
    before: State,
    step: Step,
    outcome: Outcome,
    /// Whether its step is what is written to its cell.
    stands: bool,
}

impl Slot<'_> {
    const EMPTY: Slot<'static> = Slot {
        key: Fingerprint(0),
        at: Moment { now: 0, phase: 0 },
        cell: 0,
        view: None,
        cost: 0,
        total: 0,
        blocked: None,
        before: State::FRESH,
        step: Step { ruling: tollgate_core::algorithm::Ruling::Allow, next: State::FRESH },
        outcome: Outcome::Kept,
        stands: false,
    };

    /// Which of the writes to one cell stands: the later here. A shadow charge's step holds the
    /// enforcing ones too.
    fn rank(&self, effect: Effect) -> u8 {
        match (self.outcome, effect) {
            (Outcome::Kept, _) => 0,
            (Outcome::ReAnchored, Effect::Shadow) => 1,
            (Outcome::ReAnchored, Effect::Enforce) => 2,
            (Outcome::Charged, Effect::Enforce) => 3,
            (Outcome::Charged, Effect::Shadow) => 4,
        }
    }
}

type Locks<'t> = Few<(u64, Lock<'t>)>;

impl Memory {
    pub(crate) fn decide_several<'l>(
        &self,
        now: Tick,
        mode: Mode,
        charges: &[Charge<'l, '_>],
    ) -> Decision<'l> {
        let mut four = [Slot::EMPTY; 4];
        if let Some(slots) = four.get_mut(..charges.len()) {
            return self.decide_in(slots, now, mode, charges);
        }
        self.decide_in(&mut vec![Slot::EMPTY; charges.len()], now, mode, charges)
    }

    fn decide_in<'t, 'l>(
        &'t self,
        slots: &mut [Slot<'t>],
        now: Tick,
        mode: Mode,
        charges: &[Charge<'l, '_>],
    ) -> Decision<'l> {
        self.name(slots, now, charges);
        let logged = |(charge, slot): (&Charge<'_, '_>, &Slot<'_>)| {
            matches!(charge.limit.rule(), Rule::Log(_)).then_some(slot.key)
        };
        let mut logs = Locked::default();
        if charges.iter().any(|charge| matches!(charge.limit.rule(), Rule::Log(_))) {
            self.trickle_logs(now);
            logs = self.logs.lock(charges.iter().zip(&*slots).filter_map(logged));
        }
        let mut places = Vec::new();
        for attempt in 0.. {
            let mut locks = (attempt >= OPTIMISTIC).then(|| self.lock_homes(charges, slots));
            self.look(charges, slots, locks.as_ref());
            settle(mode, charges, slots, &logs);
            if mode == Mode::Peek || !slots.iter().any(|slot| slot.stands) {
                if locks.is_some() || views(slots).all(|view| view.still()) {
                    break;
                }
                continue;
            }
            if missing(charges, slots, &logs).count() > places.len() {
                let missing: Few<Fingerprint> = missing(charges, slots, &logs).collect();
                // Making room may need the lock of any bucket, so none is held.
                drop(locks);
                let free = |key| self.tally.place().unwrap_or_else(|| self.make_room(key, now));
                places.extend(missing.into_iter().skip(places.len()).map(free));
                continue;
            }
            if locks.is_none() {
                locks = lock_views(slots);
            }
            let Some(locks) = locks else { continue };
            self.write(charges, slots, locks, &mut logs, &mut places, now);
            break;
        }
        drop(logs);
        answer(mode, now, charges, slots)
    }

    /// Fills in what does not change from attempt to attempt.
    fn name(&self, slots: &mut [Slot<'_>], now: Tick, charges: &[Charge<'_, '_>]) {
        for (slot, charge) in slots.iter_mut().zip(charges) {
            slot.key = self.fingerprint(charge.limit, &charge.key);
            slot.at = charge.limit.moment(now, &charge.key);
            slot.blocked = self.blocks.left(slot.key, now);
        }
        for index in 0..slots.len() {
            let Some(key) = slots.get(index).map(|slot| slot.key) else { continue };
            let first = slots.iter().position(|slot| slot.key == key).unwrap_or(index);
            if let Some(slot) = slots.get_mut(index) {
                slot.cell = first;
            }
        }
    }

    /// Reads every key's entry.
    fn look<'t>(
        &'t self,
        charges: &[Charge<'_, '_>],
        slots: &mut [Slot<'t>],
        locks: Option<&Locks<'t>>,
    ) {
        for (slot, charge) in slots.iter_mut().zip(charges) {
            if matches!(charge.limit.rule(), Rule::Words(_)) {
                let view = match locks.and_then(|locks| lock_of(locks, self.table.home(slot.key))) {
                    Some((home, lock)) => self.table.view_in(lock, *home, slot.key),
                    None => self.table.view(slot.key),
                };
                slot.before = view.state();
                slot.view = Some(view);
            }
        }
    }

    /// Locks the buckets of all keys, waiting for each.
    fn lock_homes<'t>(&'t self, charges: &[Charge<'_, '_>], slots: &[Slot<'_>]) -> Locks<'t> {
        loop {
            let count = self.table.count();
            let homes = || {
                let words = charges.iter().zip(slots);
                let words = words.filter(|(c, _)| matches!(c.limit.rule(), Rule::Words(_)));
                words.map(|(_, slot)| self.table.home(slot.key))
            };
            let locks: Locks<'t> =
                ascending(homes).map(|home| (home, self.table.lock(home))).collect();
            // With the buckets locked none of them can be split any more; before, one may have been.
            if self.table.count() == count {
                return locks;
            }
        }
    }

    fn write<'t>(
        &'t self,
        charges: &[Charge<'_, '_>],
        slots: &[Slot<'t>],
        mut locks: Locks<'t>,
        logs: &mut Locked<'t>,
        places: &mut Vec<Place<'t>>,
        now: Tick,
    ) {
        let mut added = 0u32;
        for (slot, charge) in writes(charges, slots) {
            let Rule::Words(rule) = charge.limit.rule() else { continue };
            let Some(view) = slot.view else { continue };
            let Some((_, lock)) = locks.iter_mut().find(|(home, _)| *home == view.home) else {
                continue;
            };
            let shape = self.shapes.number(charge.limit, rule, view.shape());
            match view.entry {
                Some(entry) => lock.write(entry.cell, slot.key.0, slot.step.next, shape),
                None => {
                    if let Some(place) = places.pop() {
                        self.add(lock, slot.key, slot.step.next, shape, place, now);
                        added = added.saturating_add(1);
                    }
                }
            }
        }
        drop(locks);
        for (slot, charge) in writes(charges, slots) {
            let Rule::Log(rule) = charge.limit.rule() else { continue };
            let Some(shard) = logs.shard(slot.key) else { continue };
            if !shard.contains_key(&slot.key)
                && let Some(place) = places.pop()
            {
                shard.insert(slot.key, fresh_log(charge.limit, rule));
                self.logs.added();
                place.fill();
            }
            let passes = slot.step.ruling.passes();
            self.logs.change(shard, slot.key, &self.tally, now, |log| match passes {
                true => rule.record(log, slot.at, slot.total),
                false => drop(rule.re_anchor(log, slot.at)),
            });
        }
        (0..added).for_each(|_| self.tend(now));
    }

    /// Puts an entry into a locked chain; in one that is full beyond measure, in the place of the
    /// entry with the smallest reset_after.
    pub(crate) fn add(
        &self,
        lock: &mut Lock<'_>,
        key: Fingerprint,
        state: State,
        shape: u64,
        place: Place<'_>,
        now: Tick,
    ) {
        if !self.table.insert(lock, key.0, state, shape) {
            self.evict_within(lock, now);
            // The place that was freed is in this chain.
            self.table.insert(lock, key.0, state, shape);
        }
        place.fill();
    }
}

/// Asks every rule, and says what becomes of each charge.
fn settle(mode: Mode, charges: &[Charge<'_, '_>], slots: &mut [Slot<'_>], logs: &Locked<'_>) {
    let most = if mode == Mode::UpTo { up_to(charges, slots, logs) } else { u64::MAX };
    for (slot, charge) in slots.iter_mut().zip(charges) {
        slot.cost = if mode == Mode::UpTo { most } else { charge.cost };
        slot.total = slot.cost;
    }
    let merged = slots.iter().enumerate().any(|(index, slot)| slot.cell != index);
    if merged {
        add_up(charges, slots);
    }
    for (slot, charge) in slots.iter_mut().zip(charges) {
        slot.step = match charge.limit.rule() {
            Rule::Words(rule) => rule.ask(slot.before, slot.at, slot.total, charge.patience),
            Rule::Log(rule) => {
                let none = Log::default();
                let log = logs.get(slot.key).unwrap_or(&none);
                slot.before = rule.ask(log, slot.at, 0).next;
                rule.ask(log, slot.at, slot.total)
            }
        };
        if slot.blocked.is_some() {
            slot.step = refuse_if(slot.blocked, slot.step, slot.before, slot.total);
        }
    }
    let all_pass = passes(charges.iter().zip(&*slots).map(|(c, s)| (c.effect, s.step.ruling)));
    for slot in slots.iter_mut() {
        slot.outcome = Outcome::of(Mode::Charge, all_pass, slot.cost, slot.before, &slot.step);
        slot.stands = slot.outcome != Outcome::Kept;
    }
    if merged {
        choose(charges, slots);
    }
}

/// Charges of one limit and key are asked with their sum, a shadow one with the enforcing ones and
/// its like.
fn add_up(charges: &[Charge<'_, '_>], slots: &mut [Slot<'_>]) {
    let sum = |charge: &Charge<'_, '_>, cell| {
        let merged = charges.iter().zip(&*slots).filter(|(other, its)| {
            its.cell == cell && (charge.effect == Effect::Shadow || other.effect == Effect::Enforce)
        });
        merged.fold(0u64, |sum, (_, its)| sum.saturating_add(its.cost))
    };
    let sums: Few<u64> = charges.iter().zip(&*slots).map(|(c, s)| sum(c, s.cell)).collect();
    for (slot, sum) in slots.iter_mut().zip(sums) {
        slot.total = sum;
    }
}

/// Leaves standing one write per cell.
fn choose(charges: &[Charge<'_, '_>], slots: &mut [Slot<'_>]) {
    let last = |cell| {
        let of_cell = slots.iter().zip(charges).enumerate().filter(|(_, (s, _))| s.cell == cell);
        of_cell.max_by_key(|(_, (slot, charge))| slot.rank(charge.effect)).map(|(index, _)| index)
    };
    let lasts: Few<Option<usize>> = slots.iter().map(|slot| last(slot.cell)).collect();
    for ((index, slot), last) in slots.iter_mut().enumerate().zip(lasts) {
        slot.stands &= last == Some(index);
    }
}

/// How much every enforcing limit has left, at most what is wanted; 1 when that is nothing, so that
/// the refusal tells how long until 1 passes.
fn up_to(charges: &[Charge<'_, '_>], slots: &[Slot<'_>], logs: &Locked<'_>) -> u64 {
    let none = Log::default();
    let wanted = charges.iter().map(|charge| charge.cost).min().unwrap_or(0);
    let enforcing = || charges.iter().zip(slots).filter(|(c, _)| c.effect == Effect::Enforce);
    let rooms = enforcing().map(|(charge, slot)| {
        let sharing = enforcing().filter(|(_, other)| other.cell == slot.cell).count();
        let room = match charge.limit.rule() {
            Rule::Words(rule) => rule.room(slot.before, slot.at, charge.patience),
            Rule::Log(rule) => rule.room(logs.get(slot.key).unwrap_or(&none), slot.at),
        };
        u64::try_from(sharing).ok().and_then(|n| room.checked_div(n)).unwrap_or(room)
    });
    let room = rooms.min().unwrap_or(wanted);
    if wanted > 0 { wanted.min(room).max(1) } else { 0 }
}

/// The one charge of each cell whose step is written.
fn writes<'s, 't, 'l, 'k>(
    charges: &'s [Charge<'l, 'k>],
    slots: &'s [Slot<'t>],
) -> impl Iterator<Item = (&'s Slot<'t>, &'s Charge<'l, 'k>)> {
    slots.iter().zip(charges).filter(|(slot, _)| slot.stands)
}

/// The keys whose entries have to be added.
fn missing<'s, 't, 'l, 'k>(
    charges: &'s [Charge<'l, 'k>],
    slots: &'s [Slot<'t>],
    logs: &'s Locked<'t>,
) -> impl Iterator<Item = Fingerprint> {
    let missing = writes(charges, slots).filter(|(slot, charge)| match charge.limit.rule() {
        Rule::Words(_) => slot.view.is_none_or(|view| view.entry.is_none()),
        Rule::Log(_) => logs.get(slot.key).is_none(),
    });
    missing.map(|(slot, _)| slot.key)
}

fn views<'t>(slots: &[Slot<'t>]) -> impl Iterator<Item = View<'t>> {
    slots.iter().filter_map(|slot| slot.view)
}

/// Locks the buckets that were read, if all are still as they were.
fn lock_views<'t>(slots: &[Slot<'t>]) -> Option<Locks<'t>> {
    let homes = || views(slots).map(|view| view.home);
    let lock = |home| {
        let view = views(slots).find(|view| view.home == home)?;
        Some((home, view.lock()?))
    };
    // Several keys of one bucket must have been read at one version.
    let agree = views(slots).all(|view| view.still());
    if agree { ascending(homes).map(lock).collect() } else { None }
}

fn lock_of<'s, 't>(locks: &'s Locks<'t>, home: u64) -> Option<&'s (u64, Lock<'t>)> {
    locks.iter().find(|(locked, _)| *locked == home)
}

/// Each of these numbers once, the smallest first.
fn ascending<I: Iterator<Item = u64>>(numbers: impl Fn() -> I) -> impl Iterator<Item = u64> {
    let first = numbers().min();
    std::iter::successors(first, move |last| numbers().filter(|number| number > last).min())
}

fn answer<'l>(
    mode: Mode,
    now: Tick,
    charges: &[Charge<'l, '_>],
    slots: &[Slot<'_>],
) -> Decision<'l> {
    let answers = slots.iter().zip(charges).map(|(slot, charge)| {
        let written = match slot.stands {
            true => Some(slot),
            false => slots.iter().find(|other| other.cell == slot.cell && other.stands),
        };
        let left = written.map_or(slot.before, |slot| slot.step.next);
        let charged = mode != Mode::Peek && slot.outcome == Outcome::Charged;
        let verdict = told(charge.limit.verdict(slot.step.ruling, now), slot.blocked);
        let charged = if charged { slot.cost } else { 0 };
        Answer::new(charge.limit, charge.effect, verdict, charged, left, (now, slot.at))
    });
    let granted = slots.iter().map(|slot| slot.cost).min().unwrap_or(0);
    Decision::new(answers.collect(), granted)
}
