//! The Lua of one rule beside its Rust, record by record, in whatever Lua is asked for.

mod batch;
mod log;
mod machine;
mod words;

use tollgate_conformance::Form;
use tollgate_servers::Server;

pub use batch::{Difference, Tally};
pub use machine::Change;

/// A rule's name in Lua and all its forms.
pub type NamedRule = (&'static str, &'static [Form]);

pub const BUCKET: NamedRule = ("bucket", &[Form::TokenBucket, Form::LeakyBucket]);
pub const FIXED: NamedRule = ("fixed", &[Form::FixedSpread, Form::FixedClock, Form::FixedFirstHit]);
pub const SLIDING: NamedRule = ("sliding", &[Form::SlidingWindow]);
pub const LOG: NamedRule = ("log", &[Form::SlidingLog]);
pub const RULES: [NamedRule; 4] = [BUCKET, FIXED, SLIDING, LOG];

/// How much is compared, and with what.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub seed: u64,
    /// At least so many records.
    pub records: u64,
    /// What is wrong with the Lua.
    pub change: Option<&'a Change>,
    /// Whose Lua runs; else that of this process.
    pub server: Option<&'a Server>,
}

impl Run<'static> {
    /// As the twins are shipped, in this process.
    pub fn of(records: u64) -> Run<'static> {
        Run { seed: 0, records, change: None, server: None }
    }
}

pub fn compare(rule: NamedRule, run: Run<'_>) -> Result<Tally, Difference> {
    if rule == LOG { log::compare(run) } else { words::compare(rule, run) }
}
