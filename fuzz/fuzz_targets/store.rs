//! The store in memory against the reference: any legal limits together, any run of decisions on them.

#![no_main]

mod legal;

use std::net::IpAddr;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use tollgate_conformance::{Reference, Subject, Told};
use tollgate_core::{Charge, Clock, Key, Limit, LocalStore, ManualClock, Mode, Receipt, Tick};
use tollgate_memory::Memory;

use legal::{Length, limit};

/// The last instant a clock shows, in microseconds.
const LAST: u64 = 1 << 53;

/// Keys that a limit is charged on at one time.
const SLOTS: usize = 3;

#[derive(Arbitrary, Debug)]
enum Operation {
    Decide { gap: Length, mode: u8, picks: Vec<Pick> },
    Give { nth: u8, actual: Length },
    StepBack(Length),
}

#[derive(Arbitrary, Debug)]
struct Pick {
    limit: u8,
    slot: u8,
    cost: Length,
    shadow: bool,
    at_once: bool,
}

fuzz_target!(|bytes: &[u8]| {
    let mut u = Unstructured::new(bytes);
    let Ok(start) = u.arbitrary::<Length>() else { return };
    let names = ["a", "b", "c", "d"].into_iter();
    let limits = names.map_while(|name| limit(name, &mut u).ok()).flatten().collect::<Vec<_>>();
    if limits.is_empty() {
        return;
    }
    let operations = u.arbitrary_iter::<Operation>().into_iter().flatten().flatten();
    let start = Tick::from_micros(start.with(1_700_000_000_000_000).min(LAST));
    Both::of(&limits, ManualClock::at(start)).run(operations);
});

/// The same budgets in both stores.
struct Both<'l> {
    limits: &'l [Limit],
    clock: ManualClock,
    memory: Memory,
    reference: Reference,
    /// The key that each limit is charged on in each slot, by its number.
    slots: Vec<[u64; SLOTS]>,
    /// The number of the next new key.
    next: u64,
    receipts: Vec<[Receipt<'l>; 2]>,
}

impl<'l> Both<'l> {
    fn of(limits: &'l [Limit], clock: ManualClock) -> Self {
        let memory = Memory::builder().max_entries(8_192).clock(clock.clone()).build();
        let memory = memory.expect("in range");
        let reference = Reference::new(clock.clone());
        // The same keys for every limit: whose they are must not run together.
        let slots = vec![[0, 1, 2]; limits.len()];
        Both { limits, clock, memory, reference, slots, next: 3, receipts: Vec::new() }
    }

    fn run(mut self, operations: impl Iterator<Item = Operation>) {
        for operation in operations.take(256) {
            match operation {
                Operation::Decide { gap, mode, picks } => self.decide(gap, mode, &picks),
                Operation::Give { nth, actual } if !self.receipts.is_empty() => {
                    let nth = usize::from(nth) % self.receipts.len();
                    let [ours, theirs] = self.receipts.swap_remove(nth);
                    let actual = actual.with(ours.charged().cost);
                    self.memory.give_now(ours, actual);
                    self.reference.give_now(theirs, actual);
                }
                Operation::Give { .. } => {}
                Operation::StepBack(back) => self.step_back(back),
            }
        }
    }

    fn decide(&mut self, gap: Length, mode: u8, picks: &[Pick]) {
        let charges: Vec<Charge<'l, 'static>> = picks
            .iter()
            .take(6)
            .map(|pick| {
                let nth = usize::from(pick.limit) % self.limits.len();
                let limit = &self.limits[nth];
                let key = key(self.slots[nth][usize::from(pick.slot) % SLOTS]);
                let charge = Charge::new(limit, key).cost(pick.cost.with(limit.capacity()));
                let charge = if pick.shadow { charge.shadow() } else { charge };
                if pick.at_once { charge.at_once() } else { charge }
            })
            .collect();
        let Some(first) = charges.first() else { return };
        let gap = gap.with(first.limit.quota().period().as_micros());
        let now = self.clock.now().as_micros().saturating_add(gap).min(LAST);
        self.clock.set(Tick::from_micros(now));

        let mode = [Mode::Charge, Mode::Charge, Mode::Peek, Mode::UpTo][usize::from(mode % 4)];
        let mut ours = self.memory.decide(mode, &charges);
        let mut theirs = self.reference.decide(mode, &charges);
        assert_eq!(
            Told::from(&ours),
            Told::from(&theirs),
            "left: the memory, right: the reference; at {now} us, {mode:?} of {charges:#?}"
        );
        let pairs = ours.answers_mut().zip(theirs.answers_mut()).zip(&charges);
        self.receipts.extend(pairs.filter_map(|((ours, theirs), charge)| {
            Some([ours.take_receipt(charge.key)?, theirs.take_receipt(charge.key)?])
        }));
    }

    /// What has recovered may be forgotten at any time, which a clock that steps back would show: such
    /// keys are exchanged for new ones before.
    fn step_back(&mut self, back: Length) {
        for (limit, slots) in self.limits.iter().zip(&mut self.slots) {
            for slot in slots {
                let peek = Charge::new(limit, key(*slot)).cost(0);
                let told = self.reference.decide_now(Mode::Peek, &[peek]);
                if told.reset_after().is_zero() {
                    *slot = self.next;
                    self.next += 1;
                }
            }
        }
        self.receipts.clear();
        let back = back.with(self.limits[0].quota().period().as_micros());
        let now = self.clock.now().as_micros().saturating_sub(back);
        self.clock.set(Tick::from_micros(now));
    }
}

/// Keys of two kinds; equal numbers are equal keys.
fn key(number: u64) -> Key<'static> {
    match number % 2 {
        0 => Key::Int(number),
        _ => Key::network(IpAddr::from((u128::from(number) << 64).to_be_bytes()), 64),
    }
}
