//! What a full store forgives, and how long its longest calls take. `scripts/laundering` runs it.
//!
//! `laundering [CAP] [NEWCOMERS] [GROW]`; a million, ten million and ten million unless said.

use tollgate_core::{Charge, Clock, Key, Limit, LocalStore, ManualClock, Mode, Span, Tick};
use tollgate_memory::{Memory, SystemClock};

const VICTIMS: u64 = 1_000;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse());
    let (cap, newcomers, grow) =
        (number(1_000_000u64)?, number(10_000_000u64)?, number(10_000_000u64)?);
    let extra = launder(cap, newcomers, false)?;
    launder(cap, newcomers, true)?;
    longest(grow)?;
    if extra == 0 { Ok(()) } else { Err("a refused client was forgiven by cheap newcomers".into()) }
}

/// Refused clients, then a rush of new keys at a full store: how many get in again that should not.
fn launder(cap: u64, newcomers: u64, half_spend_all: bool) -> Result<usize, Failure> {
    let clock = ManualClock::at(Tick::from_micros(1_764_000_000_000_000));
    let memory = Memory::builder().max_entries(cap).clock(clock.clone()).build()?;
    let limit = Limit::new("per-client", "100/hour".parse()?)?;
    let ask = |key: u64, cost| {
        memory.decide_one(Mode::Charge, &Charge::new(&limit, key).cost(cost)).is_allowed()
    };
    for key in 0..VICTIMS {
        ask(key, 100);
        assert!(!ask(key, 1), "a spent budget refuses");
    }
    let mut refused_newcomers = 0u64;
    for index in 0..newcomers {
        let cost = if half_spend_all && index % 2 == 0 { 100 } else { 1 };
        refused_newcomers += u64::from(!ask(VICTIMS + index, cost));
        if index % 1_000 == 0 {
            clock.advance(Span::from_micros(100));
        }
    }
    let extra =
        (0..VICTIMS).filter(|key| memory.inspect(&limit, Key::Int(*key)).is_allowed()).count();
    let what = if half_spend_all { "half of them spending all" } else { "one cheap call each" };
    println!("{newcomers} newcomers, {what}, cap {cap}:");
    println!(
        "  {extra} of {VICTIMS} refused clients forgiven, {refused_newcomers} newcomers refused"
    );
    println!("  {:?}", memory.stats());
    Ok(extra)
}

/// Grows a table, lets it recover and sweeps it, by the machine's clock; beside the longest gap of a
/// loop that only reads that clock.
fn longest(keys: u64) -> Result<(), Failure> {
    let memory = Memory::builder().max_entries(keys).build()?;
    let limit = Limit::new("per-client", "1/second".parse()?)?;
    let clock = SystemClock::new();
    let mut empty = Span::ZERO;
    let mut grown = Span::ZERO;
    let mut last = clock.now();
    for _ in 0..keys {
        let now = clock.now();
        empty = empty.max(now.since(last));
        last = now;
    }
    for key in 0..keys {
        let start = clock.now();
        memory.decide_one(Mode::Charge, &Charge::new(&limit, key));
        grown = grown.max(clock.now().since(start));
    }
    println!("{keys} new keys: longest call {grown}, longest gap of an empty loop {empty}");
    println!("  {:?}", memory.stats());
    Ok(())
}
