//! Several charges, one decision: all are charged or none.
//!
//! Known keys that all pass at once are charged as one alone is: every entry is read, every rule
//! asked, and every bucket locked from the version that was read. Nobody waits for those locks: if
//! one is lost, all are let go unchanged. A refusal and a peek are read in the same way, and write
//! nothing.
//!
//! Everything else takes the locks first and reads then. Those are waited for, so everyone takes
//! them in one order: shards of logs, then buckets, each kind by its index and each once. Logs come
//! first because their locks may put a thread to sleep, and nobody sleeps while others spin for a
//! bucket.

mod refused;

use tollgate_core::algorithm::{Log, Moment, Rule, Ruling, State, Step};
use tollgate_core::charge::{Outcome, passes};
use tollgate_core::{Answer, Charge, Decision, Effect, Few, Mode, Span, Tick, Verdict};

use crate::bucket::Lock;
use crate::decide::{Asked, refuse_if, told};
use crate::fingerprint::Fingerprint;
use crate::known::Admitted;
use crate::logs::{Kept, Locked};
use crate::memory::Memory;
use crate::table::View;
use crate::tally::Place;

/// A charge of a decision that is made under locks.
pub(crate) struct Slot<'t, 'l> {
    asked: Asked<'l>,
    at: Moment,
    view: Option<View<'t>>,
    /// The first charge of the same limit and key.
    cell: usize,
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

impl<'l> From<Asked<'l>> for Slot<'_, 'l> {
    fn from(asked: Asked<'l>) -> Self {
        Slot {
            asked,
            at: Moment { now: 0, phase: 0 },
            view: None,
            cell: 0,
            cost: asked.cost,
            total: asked.cost,
            blocked: None,
            before: State::FRESH,
            step: Step { ruling: Ruling::Allow, next: State::FRESH },
            outcome: Outcome::Kept,
            stands: false,
        }
    }
}

impl Slot<'_, '_> {
    fn is_log(&self) -> bool {
        matches!(self.asked.limit.rule(), Rule::Log(_))
    }

    fn enforces(&self) -> bool {
        self.asked.effect == Effect::Enforce
    }

    /// Which of the writes to one cell stands: the later here. A shadow charge's step holds the
    /// enforcing ones too.
    fn rank(&self) -> u8 {
        match (self.outcome, self.asked.effect) {
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
        if mode != Mode::Charge || !self.blocks.is_empty() {
            self.decide_slots(now, mode, charges)
        } else if let Some(two) = charges.as_array::<2>() {
            self.decide_known(now, two)
        } else if let Some(three) = charges.as_array::<3>() {
            self.decide_known(now, three)
        } else if let Some(four) = charges.as_array::<4>() {
            self.decide_known(now, four)
        } else {
            self.decide_slots(now, mode, charges)
        }
    }

    /// Charges known keys if all of them pass at once; tells a refusal.
    #[inline]
    fn decide_known<'l, const N: usize>(
        &self,
        now: Tick,
        charges: &[Charge<'l, '_>; N],
    ) -> Decision<'l> {
        let nowhere = (Fingerprint(0), self.table.bucket(Fingerprint(0)));
        let mut found = [nowhere; N];
        self.find(charges, &mut found);
        let mut admitted = [None; N];
        for ((admitted, (key, bucket)), charge) in admitted.iter_mut().zip(&found).zip(charges) {
            let known = self.known(bucket, now, &Asked::new(charge, *key));
            *admitted = known.and_then(|known| known.admit(charge.cost));
            if admitted.is_none() {
                let refused = self.refuse(now, charges);
                return refused.unwrap_or_else(|| self.decide_slots(now, Mode::Charge, charges));
            }
        }
        let mut locks = [const { None }; N];
        for (lock, admitted) in locks.iter_mut().zip(&admitted) {
            *lock = admitted.as_ref().and_then(Admitted::lock);
            // Fails as well for two keys of one bucket, or one key twice.
            if lock.is_none() {
                drop(locks);
                return self.decide_slots(now, Mode::Charge, charges);
            }
        }
        // Once all locks are held, each can go with its write.
        let mut answers = [const { None }; 4];
        let all = answers.iter_mut().zip(charges).zip(&admitted).zip(&mut locks);
        for (((answer, charge), admitted), lock) in all {
            let Charge { limit, key, cost, effect, .. } = charge;
            let at = limit.moment(now, key);
            *answer = admitted.zip(lock.take()).map(|(admitted, lock)| {
                let left = admitted.charge(lock);
                Answer::new(limit, *effect, Verdict::Allow, *cost, left, (now, at))
            });
        }
        let granted = charges.iter().map(|charge| charge.cost).min().unwrap_or(0);
        Decision::new(Few::up_to_four(answers), granted)
    }

    #[cold]
    #[inline(never)]
    fn decide_slots<'l>(&self, now: Tick, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        let slot = |charge: &Charge<'l, '_>| Slot::from(self.asked(charge));
        match charges {
            [a, b] => self.decide_asked(now, mode, &mut [a, b].map(slot)),
            [a, b, c] => self.decide_asked(now, mode, &mut [a, b, c].map(slot)),
            [a, b, c, d] => self.decide_asked(now, mode, &mut [a, b, c, d].map(slot)),
            _ => self.decide_asked(now, mode, &mut charges.iter().map(slot).collect::<Vec<_>>()),
        }
    }

    /// Decides under locks, whatever the charges are.
    pub(crate) fn decide_asked<'t, 'l>(
        &'t self,
        now: Tick,
        mode: Mode,
        slots: &mut [Slot<'t, 'l>],
    ) -> Decision<'l> {
        for index in 0..slots.len() {
            let Some(key) = slots.get(index).map(|slot| slot.asked.key) else { continue };
            let first = slots.iter().position(|slot| slot.asked.key == key);
            if let Some(slot) = slots.get_mut(index) {
                slot.cell = first.unwrap_or(index);
                slot.blocked = self.blocks.left(key, now);
                slot.at = slot.asked.limit.moment_of(now, slot.asked.phase);
            }
        }
        let mut logs = Locked::default();
        if slots.iter().any(Slot::is_log) {
            self.trickle_logs(now, 1);
            logs = self.logs.lock(slots.iter().filter(|slot| slot.is_log()).map(|s| s.asked.key));
        }
        self.look(slots, None);
        settle(mode, slots, &logs);
        let writes = mode != Mode::Peek && slots.iter().any(|slot| slot.stands);
        if !writes && slots.iter().filter_map(|slot| slot.view).all(|view| view.still()) {
            return answer(mode, now, slots);
        }
        let mut places = Vec::new();
        loop {
            let locks = self.lock_homes(slots);
            self.look(slots, Some(&locks));
            settle(mode, slots, &logs);
            if mode == Mode::Peek {
                break;
            }
            let missing: Few<Fingerprint> = missing(slots, &logs).skip(places.len()).collect();
            if missing.iter().next().is_none() {
                self.write(slots, locks, &mut logs, &mut places, now);
                break;
            }
            // Making room may need the lock of any bucket, so none is held.
            drop(locks);
            let free = |key| self.tally.place().unwrap_or_else(|| self.make_room(key, now));
            places.extend(missing.into_iter().map(free));
        }
        drop(logs);
        answer(mode, now, slots)
    }

    /// Locks the buckets of all keys, waiting for each.
    fn lock_homes<'t>(&'t self, slots: &[Slot<'_, '_>]) -> Locks<'t> {
        loop {
            let count = self.table.count();
            let words = || slots.iter().filter(|slot| !slot.is_log());
            let homes = || words().map(|slot| self.table.home(slot.asked.key));
            let locks: Locks<'t> =
                ascending(homes).map(|home| (home, self.table.lock(home))).collect();
            // With the buckets locked none of them can be split any more; before, one may have been.
            if self.table.count() == count {
                return locks;
            }
        }
    }

    /// Reads every key's entry.
    fn look<'t>(&'t self, slots: &mut [Slot<'t, '_>], locks: Option<&Locks<'t>>) {
        for slot in slots.iter_mut().filter(|slot| !slot.is_log()) {
            let key = slot.asked.key;
            let home = self.table.home(key);
            let lock = locks.and_then(|locks| locks.iter().find(|(locked, _)| *locked == home));
            let view = match lock {
                Some((home, lock)) => self.table.view_in(lock, *home, key),
                None => self.table.view(key),
            };
            slot.before = view.state();
            slot.view = Some(view);
        }
    }

    fn write<'t>(
        &'t self,
        slots: &[Slot<'t, '_>],
        mut locks: Locks<'t>,
        logs: &mut Locked<'t>,
        places: &mut Vec<Place<'t>>,
        now: Tick,
    ) {
        let mut added = 0u32;
        let writes = || slots.iter().filter(|slot| slot.stands);
        for slot in writes() {
            let Asked { limit, key, .. } = slot.asked;
            let (Rule::Words(rule), Some(view)) = (limit.rule(), slot.view) else { continue };
            let lock = locks.iter_mut().find(|(home, _)| *home == view.home);
            let Some((_, lock)) = lock else { continue };
            let next = slot.step.next;
            let shape = self.shapes.number(limit, rule, view.shape(), next, now);
            if let Some(entry) = view.entry {
                lock.write(entry.cell, next, shape);
            } else if let Some(place) = places.pop() {
                self.add(lock, key, next, shape, place, now);
                added = added.saturating_add(1);
            }
        }
        drop(locks);
        for slot in writes() {
            let Asked { limit, key, .. } = slot.asked;
            let (Rule::Log(rule), Some(shard)) = (limit.rule(), logs.shard(key)) else { continue };
            if !shard.contains_key(&key)
                && let Some(place) = places.pop()
            {
                shard.insert(key, Kept::new(*rule, limit.resolution()));
                self.logs.added();
                place.fill();
            }
            let passes = slot.step.ruling.passes();
            self.logs.change(shard, key, &self.tally, now, |log| match passes {
                true => rule.record(log, slot.at, slot.total),
                false => drop(rule.re_anchor(log, slot.at)),
            });
        }
        (0..added).for_each(|_| self.tend(now));
    }

    /// Puts an entry into a locked chain; in one that is full beyond measure, in the place of the
    /// entry that would grant least.
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
fn settle(mode: Mode, slots: &mut [Slot<'_, '_>], logs: &Locked<'_>) {
    let most = if mode == Mode::UpTo { Some(up_to(slots, logs)) } else { None };
    for slot in slots.iter_mut() {
        slot.cost = most.unwrap_or(slot.asked.cost);
    }
    for index in 0..slots.len() {
        let total = slots.get(index).map_or(0, |slot| total(slots, slot));
        let Some(slot) = slots.get_mut(index) else { continue };
        let (at, Asked { limit, key, patience, .. }) = (slot.at, slot.asked);
        slot.total = total;
        let step = match limit.rule() {
            Rule::Words(rule) => rule.ask(slot.before, at, total, patience),
            Rule::Log(rule) => {
                let none = Log::default();
                let log = logs.get(key).unwrap_or(&none);
                slot.before = rule.ask(log, at, 0).next;
                rule.ask(log, at, total)
            }
        };
        slot.step = refuse_if(slot.blocked, step, slot.before, total);
    }
    let all_pass = passes(slots.iter().map(|slot| (slot.asked.effect, slot.step.ruling)));
    for slot in slots.iter_mut() {
        slot.outcome = Outcome::of(Mode::Charge, all_pass, slot.cost, slot.before, &slot.step);
    }
    // One write stands per cell: of equals the last.
    for index in 0..slots.len() {
        let cell = slots.get(index).map(|slot| slot.cell);
        let of_cell = slots.iter().enumerate().filter(|(_, slot)| Some(slot.cell) == cell);
        let last = of_cell.max_by_key(|(_, slot)| slot.rank()).map(|(index, _)| index);
        if let Some(slot) = slots.get_mut(index) {
            slot.stands = slot.outcome != Outcome::Kept && last == Some(index);
        }
    }
}

/// What a charge is asked with: charges of one limit and key are added up, a shadow one with the
/// enforcing ones and its like.
fn total(slots: &[Slot<'_, '_>], slot: &Slot<'_, '_>) -> u64 {
    let merged = slots
        .iter()
        .filter(|other| other.cell == slot.cell && (!slot.enforces() || other.enforces()));
    merged.fold(0, |sum, other| sum.saturating_add(other.cost))
}

/// How much every enforcing limit has left, at most what is wanted; 1 when that is nothing, so that
/// the refusal tells how long until 1 passes.
fn up_to(slots: &[Slot<'_, '_>], logs: &Locked<'_>) -> u64 {
    let none = Log::default();
    let wanted = slots.iter().map(|slot| slot.asked.cost).min().unwrap_or(0);
    let enforcing = || slots.iter().filter(|slot| slot.enforces());
    let rooms = enforcing().map(|slot| {
        let (at, Asked { limit, key, patience, .. }) = (slot.at, slot.asked);
        let sharing = enforcing().filter(|other| other.cell == slot.cell).count();
        let room = match limit.rule() {
            Rule::Words(rule) => rule.room(slot.before, at, patience),
            Rule::Log(rule) => rule.room(logs.get(key).unwrap_or(&none), at),
        };
        u64::try_from(sharing).ok().and_then(|n| room.checked_div(n)).unwrap_or(room)
    });
    let room = rooms.min().unwrap_or(wanted);
    if wanted > 0 { wanted.min(room).max(1) } else { 0 }
}

/// The keys whose entries have to be added.
fn missing<'s>(
    slots: &'s [Slot<'_, '_>],
    logs: &'s Locked<'_>,
) -> impl Iterator<Item = Fingerprint> + 's {
    let missing = slots.iter().filter(|slot| slot.stands).filter(|slot| match slot.is_log() {
        true => logs.get(slot.asked.key).is_none(),
        false => slot.view.is_none_or(|view| view.entry.is_none()),
    });
    missing.map(|slot| slot.asked.key)
}

/// Each of these numbers once, the smallest first.
fn ascending<I: Iterator<Item = u64>>(numbers: impl Fn() -> I) -> impl Iterator<Item = u64> {
    let first = numbers().min();
    std::iter::successors(first, move |last| numbers().filter(|number| number > last).min())
}

fn answer<'l>(mode: Mode, now: Tick, slots: &[Slot<'_, 'l>]) -> Decision<'l> {
    let answers = slots.iter().map(|slot| {
        let Asked { limit, effect, .. } = slot.asked;
        let written = slots.iter().find(|other| other.cell == slot.cell && other.stands);
        let left = written.map_or(slot.before, |slot| slot.step.next);
        let charged = mode != Mode::Peek && slot.outcome == Outcome::Charged;
        let charged = if charged { slot.cost } else { 0 };
        let verdict = told(limit.verdict(slot.step.ruling, now), slot.blocked);
        Answer::new(limit, effect, verdict, charged, left, (now, slot.at))
    });
    let granted = slots.iter().map(|slot| slot.cost).min().unwrap_or(0);
    Decision::new(answers.collect(), granted)
}
