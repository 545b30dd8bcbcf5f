//! Compares the Lua of one rule, or of all, with the Rust in as many records as wanted.
//!
//! `twins RECORDS [RULE [SEED]]`; a rule is `bucket`, `fixed`, `sliding` or `log`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    unreachable_pub,
    reason = "a difference ends it by a panic, and its parts are a test's"
)]

#[path = "../tests/twins/log.rs"]
mod log;
#[path = "../tests/twins/machine.rs"]
mod machine;
#[path = "../tests/twins/words.rs"]
mod words;

use std::process::ExitCode;

use tollgate_conformance::Form;

const RULES: [(&str, &[Form]); 4] = [
    ("bucket", &[Form::TokenBucket, Form::LeakyBucket]),
    ("fixed", &[Form::FixedSpread, Form::FixedClock, Form::FixedFirstHit]),
    ("sliding", &[Form::SlidingWindow]),
    ("log", &[Form::SlidingLog]),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let records = arguments.next().and_then(|text| text.replace('_', "").parse().ok());
    let rule = arguments.next();
    let seed = arguments.next().map_or(Some(0), |text| text.parse().ok());
    let (Some(records), Some(seed)) = (records, seed) else {
        eprintln!("usage: twins RECORDS [RULE [SEED]]");
        return ExitCode::from(2);
    };
    for (name, forms) in RULES.iter().filter(|(name, _)| rule.as_ref().is_none_or(|r| r == name)) {
        let compared = match forms {
            [Form::SlidingLog] => log::compare(seed, records, None),
            _ => words::compare(forms, seed, records, None),
        };
        let tally = compared.unwrap_or_else(|difference| panic!("{name}: {difference:#?}"));
        println!(
            "{name}: seed={seed} records={} differences=0 passed={} denied={} never={} \
             re-anchored={} given={} settled-up={}",
            tally.records,
            tally.passed,
            tally.denied,
            tally.never,
            tally.re_anchored,
            tally.given,
            tally.settled_up,
        );
    }
    ExitCode::SUCCESS
}
