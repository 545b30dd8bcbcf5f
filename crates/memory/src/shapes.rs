//! The rules that wrote the entries, so that an entry met without its limit can still be judged.

use std::collections::HashMap;
use std::sync::OnceLock;

use tollgate_core::algorithm::{Moment, State, WordRule};
use tollgate_core::{Calendar, Limit, Resolution, Tick};

use crate::sync::{AtomicU64, Mutex, Ordering, whole};
use crate::unlisted;

/// The numbers of a rule and what it counts time in; limits of equal numbers share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) rule: WordRule,
    resolution: Resolution,
    calendar: Option<&'static Calendar>,
}

impl Shape {
    /// Ticks until a state written under this shape is as good as fresh.
    ///
    /// The key's phase is not known here; phase 0 gives a shifted window its latest end.
    pub(crate) fn reset_after(&self, state: State, now: Tick) -> u64 {
        self.rule.reset_after(state, self.moment(now))
    }

    /// The same in microseconds, to compare entries of different ticks.
    pub(crate) fn micros_to_reset(&self, state: State, now: Tick) -> u64 {
        self.reset_after(state, now).saturating_mul(self.resolution.micros())
    }

    /// How much forgetting a state would grant: see [`weight`].
    pub(crate) fn weight(&self, state: State, now: Tick) -> u64 {
        let room = |state| self.rule.room(state, self.moment(now), Default::default());
        let (capacity, left) = (room(State::FRESH), room(state));
        weight(self.micros_to_reset(state, now), capacity.saturating_sub(left), capacity)
    }

    /// How much of the capacity a state has used.
    pub(crate) fn debt(&self, state: State, now: Tick) -> u64 {
        let room = |state| self.rule.room(state, self.moment(now), Default::default());
        room(State::FRESH).saturating_sub(room(state))
    }

    fn moment(&self, now: Tick) -> Moment {
        // Resolutions are powers of ten from 1, so the division is defined.
        let ticks = now.as_micros().checked_div(self.resolution.micros()).unwrap_or(0);
        let phase = self.calendar.map_or(0, |calendar| calendar.phase(now, self.resolution));
        Moment { now: ticks, phase }
    }
}

/// What it would grant to forget an entry: the microseconds for which it would still owe, times the
/// share of its capacity that is used, in 1,024ths and rounded up. Zero for what owes nothing.
///
/// Windows that end together are told apart by the share alone, and a bucket's share falls with its
/// time, so that its order is that of time.
pub(crate) fn weight(micros: u64, debt: u64, capacity: u64) -> u64 {
    let share = debt.saturating_mul(WHOLE).div_ceil(capacity.max(1));
    micros.saturating_mul(share.clamp(1, WHOLE))
}

/// All of a capacity. Amounts and times up to 2^53 fit in a word this many times.
const WHOLE: u64 = 1 << 10;

/// Every shape seen, by number from 1. It only grows; 963 fit.
///
/// An entry of a limit beyond that bears a number of [`unlisted`] instead.
#[derive(Debug)]
pub(crate) struct Shapes {
    /// [`Limit::print`] by number; 0 for those that stand for no shape.
    prints: Box<[AtomicU64; NUMBERS]>,
    by_number: Box<[OnceLock<Shape>]>,
    numbers: Mutex<HashMap<Shape, u64>>,
    /// The number last found for limits whose id ends in this index: most new entries need no lock.
    latest: [AtomicU64; 64],
}

const NUMBERS: usize = 1 << 10;

impl Shapes {
    pub(crate) fn new() -> Shapes {
        let prints: Box<[AtomicU64]> = (0..NUMBERS).map(|_| AtomicU64::new(0)).collect();
        Shapes {
            prints: prints.try_into().expect("as many were made as there are numbers"),
            by_number: (0..unlisted::FIRST).map(|_| OnceLock::new()).collect(),
            numbers: Mutex::default(),
            latest: [0; 64].map(AtomicU64::new),
        }
    }

    /// Whether a state of `limit` is written beside this number.
    #[inline]
    pub(crate) fn fits(&self, number: u64, limit: &Limit) -> bool {
        let print = usize::try_from(number).ok().and_then(|number| self.prints.get(number));
        // Relaxed: a print is the whole truth about its number, and never changes once it is set.
        print.is_some_and(|print| print.load(Ordering::Relaxed) == limit.print())
    }

    /// The number to write beside `next`, a state of `limit`; `written` is the one that stands there.
    pub(crate) fn number(
        &self,
        limit: &Limit,
        rule: &WordRule,
        written: u64,
        next: State,
        now: Tick,
    ) -> u64 {
        if self.fits(written, limit) { written } else { self.find(limit, rule, next, now) }
    }

    /// The shape of a number; none for 0 and for those of what found no place.
    pub(crate) fn get(&self, number: u64) -> Option<&Shape> {
        self.by_number.get(usize::try_from(number).ok()?)?.get()
    }

    fn find(&self, limit: &Limit, rule: &WordRule, next: State, now: Tick) -> u64 {
        let [low, ..] = limit.id().to_le_bytes();
        let latest = self.latest.get(usize::from(low & 63));
        // Relaxed: whatever number is read, the print behind it is compared.
        let number = latest.map_or(0, |latest| latest.load(Ordering::Relaxed));
        if self.fits(number, limit) {
            return number;
        }
        let (resolution, calendar) = (limit.resolution(), limit.calendar());
        let shape = Shape { rule: *rule, resolution, calendar };
        let Some(number) = self.register(shape, limit) else {
            return unlisted::number(shape.micros_to_reset(next, now), now);
        };
        if let Some(latest) = latest {
            latest.store(number, Ordering::Relaxed);
        }
        number
    }

    /// The number of a shape, if it has one or there is one left.
    fn register(&self, shape: Shape, limit: &Limit) -> Option<u64> {
        let mut numbers = whole(self.numbers.lock());
        if let Some(number) = numbers.get(&shape) {
            return Some(*number);
        }
        let next = numbers.len().saturating_add(1);
        self.by_number.get(next)?.get_or_init(|| shape);
        if let Some(print) = self.prints.get(next) {
            print.store(limit.print(), Ordering::Relaxed);
        }
        let number = u64::try_from(next).ok()?;
        numbers.insert(shape, number);
        Some(number)
    }
}
