//! A calls B, which is asked for twice what it can do and stands still for a while: with an outbound
//! limit and a breaker, and without. The clock is a simulated one, the HTTP on both sides is hyper's.
//!
//! `cargo run -p tollgate-outbound --example overload` prints what happens in each second;
//! `scripts/pictures` draws it.

mod caller;
mod picture;
mod pipe;
mod seconds;
mod service;

use std::env;
use std::error::Error;
use std::fs;

use caller::{Caller, run};

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let without = run(Caller::Unlimited)?;
    let with = run(Caller::Limited)?;
    println!("         with limit and breaker          with neither");
    println!("second   asked  reached B  useful        asked  reached B  useful");
    for second in 0..seconds::SECONDS {
        let [(a, b, c), (d, e, f)] = [&with, &without].map(|counts| {
            let of = |counts: &[u32]| counts.get(second).copied().unwrap_or_default();
            (of(&counts.asked), of(&counts.reached), of(&counts.useful))
        });
        println!("{second:>6} {a:>7} {b:>10} {c:>7} {d:>12} {e:>10} {f:>7}");
    }
    if let Some(file) = env::args().nth(1) {
        fs::write(file, picture::draw(&with, &without))?;
    }
    Ok(())
}
