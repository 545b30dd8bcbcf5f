//! Random decisions on several limits, each compared with the [`Reference`] in all that it tells.

use std::net::IpAddr;

use tollgate_core::{
    Algorithm, Anchor, Charge, Clock, Key, Limit, LocalStore, ManualClock, Mode, Queue, Quota,
    Receipt, Span, Tick,
};

use crate::random::Random;
use crate::reference::Reference;
use crate::subject::{Awaited, Subject};
use crate::told::Told;

/// Runs and decisions per run: a few seconds without optimisation.
const RUNS: u64 = 120;
const STEPS: u64 = 400;

/// Keys that a limit is charged on at one time; few, so that they meet again.
const SLOTS: usize = 3;

/// What every store in this process must pass: through each of its doors, its decisions equal the
/// reference's over random charges of several limits.
///
/// All or none, shadow limits, merged duplicates, "up to" over several limits, peeks that write
/// nothing and tell what the charge would, receipts given back and settled, quotas changed on the
/// way, clocks that step back, keys of every kind. `make` builds an empty store on a clock, with
/// room for a few thousand keys.
///
/// # Panics
/// On the first difference, naming the seed and the step.
pub fn suite<S: LocalStore>(make: impl Fn(ManualClock) -> S) {
    suite_of(&make);
    suite_of(|clock| Several(make(clock)));
    suite_of(|clock| Awaited::at_once(make(clock)));
}

/// The suite over anything that can be asked; [`Awaited`] makes such of an asynchronous store.
///
/// # Panics
/// On the first difference, naming the seed and the step.
pub fn suite_of<S: Subject>(make: impl Fn(ManualClock) -> S) {
    for seed in 0..RUNS {
        run(seed, &make);
    }
}

/// One run; `seed` makes it again.
fn run<S: Subject>(seed: u64, make: impl Fn(ManualClock) -> S) {
    let mut random = Random::of(seed);
    let clock = ManualClock::at(Tick::from_micros(random.between(0, 1 << 51)));
    let (subject, reference) = (make(clock.clone()), Reference::new(clock.clone()));
    let limits: Vec<[Limit; 2]> = (0..6).map(|i| limit_and_change(i, &mut random)).collect();
    let keys: Vec<OwnKey> = (0..2_000).map(|i| OwnKey::of(i, &mut random)).collect();
    let mut slots = Slots::over(&keys, limits.len());
    let mut receipts: Vec<(Receipt<'_>, Receipt<'_>)> = Vec::new();
    let recovered = |limit: usize, key: &OwnKey| {
        limits[limit].each_ref().map(|quota| {
            let peek = Charge::new(quota, key.key()).cost(0);
            reference.decide_now(Mode::Peek, &[peek]).reset_after().is_zero()
        })
    };

    for step in 0..STEPS {
        match random.below(20) {
            0..7 => clock.advance(gap(&mut random)),
            7 if random.once_in(4) => {
                slots.retire(|limit, key| recovered(limit, key).contains(&true));
                receipts.clear();
                clock.set(Tick::from_micros(
                    clock.now().as_micros().saturating_sub(back(&mut random).as_micros()),
                ));
            }
            8..11 if !receipts.is_empty() => {
                let count = u64::try_from(receipts.len()).unwrap_or(u64::MAX);
                let index = usize::try_from(random.below(count)).unwrap_or(0);
                let (ours, theirs) = receipts.swap_remove(index);
                let actual = if random.once_in(2) { 0 } else { random.of_any_size(8) };
                subject.give(ours, actual);
                reference.give(theirs, actual);
            }
            _ => {
                // A store may forget by the quota that a key was last charged under.
                slots.retire(|limit, key| {
                    let [first, changed] = &limits[limit];
                    first.quota() != changed.quota()
                        && matches!(recovered(limit, key), [true, false] | [false, true])
                });
                let picks = picks(&limits, &slots, &mut random);
                let charges: Vec<Charge<'_, '_>> =
                    picks.iter().map(|(charge, _)| *charge).collect();
                let mode = *random.one_of(&[
                    Mode::Charge,
                    Mode::Charge,
                    Mode::Charge,
                    Mode::Peek,
                    Mode::UpTo,
                ]);
                let mut ours = subject.decide(mode, &charges);
                let mut theirs = reference.decide_now(mode, &charges);
                assert_eq!(
                    Told::from(&ours),
                    Told::from(&theirs),
                    "\n  left: the store, right: the reference; seed {seed}, step {step}, \
                     at {} us, {mode:?} of {charges:#?}",
                    clock.now().as_micros(),
                );
                // What a receipt gives back under a changed quota depends on what a store can know.
                let unchanged = |limit: &Limit| {
                    let mut both = limits.iter().filter(|[first, _]| first.id() == limit.id());
                    both.all(|[first, changed]| first.quota() == changed.quota())
                };
                let pairs = ours.answers_mut().zip(theirs.answers_mut()).zip(&picks);
                let pairs = pairs.filter(|((ours, _), _)| unchanged(ours.limit()));
                receipts.extend(pairs.filter_map(|((ours, theirs), (_, key))| {
                    Some((ours.take_receipt(key.key())?, theirs.take_receipt(key.key())?))
                }));
            }
        }
    }
}

/// One to five charges; sometimes the same limit and key twice.
fn picks<'l, 'k>(
    limits: &'l [[Limit; 2]],
    slots: &Slots<'k>,
    random: &mut Random,
) -> Vec<(Charge<'l, 'k>, &'k OwnKey)> {
    // Each limit with one of its two quotas: one decision is made under one configuration.
    let now: Vec<&Limit> = limits.iter().map(|both| random.one_of(both)).collect();
    let shadow: Vec<bool> = limits.iter().map(|_| random.once_in(4)).collect();
    let at_once: Vec<bool> = limits.iter().map(|_| random.once_in(4)).collect();
    let count = if random.once_in(2) { 1 } else { random.between(2, 5) };
    let charge = |random: &mut Random| {
        let index = usize::try_from(random.below(6)).unwrap_or(0);
        let key = *random.one_of(&slots.now[index]);
        let mut charge = Charge::new(now[index], key.key()).cost(cost(now[index], random));
        if shadow[index] {
            charge = charge.shadow();
        }
        if at_once[index] {
            charge = charge.at_once();
        }
        (charge, key)
    };
    (0..count).map(|_| charge(random)).collect()
}

/// A limit and the same counter under another quota, or the same again.
fn limit_and_change(index: usize, random: &mut Random) -> [Limit; 2] {
    let name = format!("limit-{index}");
    let queue = random.below(6);
    let algorithm = *random.one_of(&[
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket(Queue::Length(queue)),
        Algorithm::LeakyBucket(Queue::MaxWait(Span::from_secs(5))),
        Algorithm::FixedWindow(Anchor::Spread),
        Algorithm::FixedWindow(Anchor::Clock),
        Algorithm::FixedWindow(Anchor::FirstHit),
        Algorithm::SlidingWindow,
        Algorithm::SlidingLog,
    ]);
    let period = *random.one_of(&[
        Span::SECOND,
        Span::from_millis(7_001),
        Span::HOUR,
        Span::from_secs(90_000),
    ]);
    let amount = if random.once_in(12) { 0 } else { random.between(1, 20) };
    let build = |amount| {
        let quota = Quota::new(amount, period).expect("in range");
        Limit::builder(&name, quota).algorithm(algorithm).build().expect("small numbers fit")
    };
    let changed = if random.once_in(3) { random.between(1, 20) } else { amount };
    [build(amount), build(changed)]
}

fn cost(limit: &Limit, random: &mut Random) -> u64 {
    match random.below(12) {
        0 => 0,
        1..4 => random.between(1, 4),
        4 => limit.capacity(),
        5 => limit.capacity().saturating_add(1),
        6 => random.of_any_size(64),
        _ => 1,
    }
}

fn gap(random: &mut Random) -> Span {
    match random.below(8) {
        0 => Span::from_micros(1),
        1 => Span::SECOND,
        2 => Span::from_secs(random.below(10_000)),
        3 => Span::from_secs(random.below(1_000_000)),
        _ => Span::from_micros(random.of_any_size(24)),
    }
}

fn back(random: &mut Random) -> Span {
    match random.below(3) {
        0 => Span::from_micros(random.of_any_size(25)),
        1 => Span::from_secs(random.between(61, 10_000)),
        _ => Span::from_secs(random.of_any_size(30)),
    }
}

/// The keys that each limit is charged on now.
///
/// What has recovered may be forgotten at any time, and a clock that then steps back would show
/// whether it was. So before such a step every key that owes nothing is exchanged for a new one.
struct Slots<'k> {
    now: Vec<Vec<&'k OwnKey>>,
    unused: std::slice::Iter<'k, OwnKey>,
}

impl<'k> Slots<'k> {
    fn over(keys: &'k [OwnKey], limits: usize) -> Slots<'k> {
        let (first, rest) = keys.split_at(SLOTS);
        // The same keys for every limit: whose they are must not run together.
        Slots { now: vec![first.iter().collect(); limits], unused: rest.iter() }
    }

    fn retire(&mut self, recovered: impl Fn(usize, &OwnKey) -> bool) {
        for (limit, keys) in self.now.iter_mut().enumerate() {
            for key in keys.iter_mut().filter(|key| recovered(limit, key)) {
                *key = self.unused.next().expect("more keys than steps can use up");
            }
        }
    }
}

/// A key of its own.
#[derive(Debug)]
enum OwnKey {
    Text(String),
    Bytes(Vec<u8>),
    Int(u64),
    Net(IpAddr, u8),
}

impl OwnKey {
    /// The key number `i`: no two are equal.
    fn of(i: u64, random: &mut Random) -> OwnKey {
        let low = u32::try_from(i).unwrap_or(u32::MAX);
        match random.below(6) {
            0 => OwnKey::Text(i.to_string()),
            1 => OwnKey::Text(format!("{i}{}", "\0:é".repeat(60))),
            2 => OwnKey::Bytes(i.to_le_bytes().to_vec()),
            3 => OwnKey::Int(i),
            4 => OwnKey::Net(IpAddr::from(low.to_be_bytes()), 64),
            _ => OwnKey::Net(IpAddr::from(((u128::from(i) + 1) << 72).to_be_bytes()), 56),
        }
    }

    fn key(&self) -> Key<'_> {
        match self {
            OwnKey::Text(text) => Key::from(text),
            OwnKey::Bytes(bytes) => Key::from(bytes.as_slice()),
            OwnKey::Int(number) => Key::from(*number),
            OwnKey::Net(address, prefix) => Key::network(*address, *prefix),
        }
    }
}

/// A store in this process that is asked through [`LocalStore::decide_now`], also for one charge.
struct Several<S>(S);

impl<S: LocalStore> Subject for Several<S> {
    fn decide<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> tollgate_core::Decision<'l> {
        self.0.decide_now(mode, charges)
    }

    fn give(&self, receipt: Receipt<'_>, actual: u64) {
        self.0.give_now(receipt, actual);
    }
}
