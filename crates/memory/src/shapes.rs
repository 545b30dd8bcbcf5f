//! The rules that wrote the entries, so that an entry met without its limit can still be judged.

use std::collections::HashMap;
use std::sync::OnceLock;

use tollgate_core::algorithm::{Moment, State, WordRule};
use tollgate_core::{Calendar, Limit, Resolution, Tick};

use crate::bucket::Cell;
use crate::sync::{AtomicU64, Mutex, Ordering, whole};

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

/// Every shape seen, by number from 1. It only grows; 1,022 fit.
///
/// Entries of limits beyond that are kept and enforced like any other, but are taken for owing most:
/// no sweep forgets them, and at the cap they go last.
#[derive(Debug)]
pub(crate) struct Shapes {
    /// [`Limit::print`] by number; 0 for those that stand for no shape.
    prints: Box<[AtomicU64; NUMBERS]>,
    by_number: Box<[OnceLock<Shape>]>,
    numbers: Mutex<HashMap<Shape, u64>>,
    /// The number last found for limits whose id ends in this index: most new entries need no lock.
    latest: [AtomicU64; 64],
}

/// The number of an entry whose shape found no place.
const UNLISTED: u64 = Cell::LAST_SHAPE;
const NUMBERS: usize = 1 << 10;

impl Shapes {
    pub(crate) fn new() -> Shapes {
        let prints: Box<[AtomicU64]> = (0..NUMBERS).map(|_| AtomicU64::new(0)).collect();
        Shapes {
            prints: prints.try_into().expect("as many were made as there are numbers"),
            by_number: (0..UNLISTED).map(|_| OnceLock::new()).collect(),
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

    /// The number to write beside a state of `limit`; `written` is the one that stands there.
    pub(crate) fn number(&self, limit: &Limit, rule: &WordRule, written: u64) -> u64 {
        if self.fits(written, limit) { written } else { self.find(limit, rule) }
    }

    /// The shape of a number; none for 0 and for what found no place.
    pub(crate) fn get(&self, number: u64) -> Option<&Shape> {
        self.by_number.get(usize::try_from(number).ok()?)?.get()
    }

    fn find(&self, limit: &Limit, rule: &WordRule) -> u64 {
        let [low, ..] = limit.id().to_le_bytes();
        let latest = self.latest.get(usize::from(low & 63));
        // Relaxed: whatever number is read, the print behind it is compared.
        let number = latest.map_or(0, |latest| latest.load(Ordering::Relaxed));
        if self.fits(number, limit) {
            return number;
        }
        let (resolution, calendar) = (limit.resolution(), limit.calendar());
        let number = self.register(Shape { rule: *rule, resolution, calendar }, limit);
        if let Some(latest) = latest {
            latest.store(number, Ordering::Relaxed);
        }
        number
    }

    fn register(&self, shape: Shape, limit: &Limit) -> u64 {
        let mut numbers = whole(self.numbers.lock());
        if let Some(number) = numbers.get(&shape) {
            return *number;
        }
        let next = numbers.len().saturating_add(1);
        let Some(place) = self.by_number.get(next) else { return UNLISTED };
        place.get_or_init(|| shape);
        if let Some(print) = self.prints.get(next) {
            print.store(limit.print(), Ordering::Relaxed);
        }
        let number = u64::try_from(next).unwrap_or(UNLISTED);
        numbers.insert(shape, number);
        number
    }
}
