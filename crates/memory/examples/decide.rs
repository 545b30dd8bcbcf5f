//! Decisions on string keys, for instruction counts and rough times.
//!
//! `decide KEYS ROUNDS [charge|peek|refuse|three|constant|each]`; the keys come in a scattered order.

use std::hint::black_box;

use tollgate_core::{Charge, Clock, Limit, LocalStore, Mode};
use tollgate_memory::{Memory, SystemClock};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().unwrap_or("1000".into()).parse()?;
    let rounds: usize = arguments.next().unwrap_or("1000".into()).parse()?;
    let what = arguments.next().unwrap_or("charge".into());

    let names: Vec<String> = (0..count).map(|i| format!("api_key:{i:012}")).collect();
    let mut keys: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    for i in (1..count).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        keys.swap(i, usize::try_from(seed >> 33)? % (i + 1));
    }
    let memory = Memory::builder().max_entries(20_000_000).build()?;
    let quota = if what == "refuse" { "1/day" } else { "1000/day burst 10000000" };
    let limit = |name| Limit::new(name, quota.parse().expect("a quota"));
    let (first, second, third) = (limit("a")?, limit("b")?, limit("c")?);
    let mode = if what == "peek" { Mode::Peek } else { Mode::Charge };

    let clock = SystemClock::new();
    let mut allowed = 0usize;
    let mut charges = Vec::new();
    for round in 0..=rounds {
        let start = clock.now();
        if what == "each" {
            for batch in keys.chunks(64) {
                charges.clear();
                charges.extend(batch.iter().map(|key| Charge::new(&first, *key)));
                memory.decide_each(mode, black_box(&charges), |decision| {
                    allowed += usize::from(decision.is_allowed());
                });
            }
        }
        for key in keys.iter().filter(|_| what != "each") {
            let one = match &*what {
                "constant" => Charge::new(&first, 0u64),
                _ => Charge::new(&first, *key),
            };
            let decision = match &*what {
                "three" => {
                    let charges = [one, Charge::new(&second, *key), Charge::new(&third, *key)];
                    memory.decide_now(mode, black_box(&charges))
                }
                _ => memory.decide_one(mode, black_box(&one)),
            };
            allowed += usize::from(decision.is_allowed());
        }
        let span = clock.now().since(start).as_micros();
        if round == 0 || round == rounds {
            let nanos = span * 1_000 / u64::try_from(count)?;
            println!("{what}, round {round}: {nanos} ns per decision");
        }
    }
    println!("{allowed} allowed; {:?}", memory.stats());
    Ok(())
}
