//! The Lua under test, with a loop around it that compares many records in one call.

use std::ops::Range;

use mlua::{Function, Lua};
use tollgate_core::algorithm::{Ruling, twin};

/// A function, a piece of its text, and what stands there instead.
#[derive(Clone, Debug)]
pub struct Change {
    pub function: &'static str,
    pub piece: Range<usize>,
    pub instead: &'static str,
}

/// What was reached, so that a report can show that all of it was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Records compared: each an ask, a room, a reset and mostly a give.
    pub records: u64,
    pub passed: u64,
    pub denied: u64,
    pub never: u64,
    pub re_anchored: u64,
    pub given: u64,
    pub settled_up: u64,
}

impl Tally {
    pub fn count(&mut self, ruling: Ruling, re_anchored: bool) {
        match ruling {
            Ruling::Allow | Ruling::Wait(_) => self.passed += 1,
            Ruling::Deny(_) => self.denied += 1,
            Ruling::Never => self.never += 1,
        }
        self.re_anchored += u64::from(re_anchored);
    }

    pub fn count_given(&mut self, changed: bool, up: bool) {
        match up {
            true => self.settled_up += u64::from(changed),
            false => self.given += u64::from(changed),
        }
    }
}

/// A Lua 5.1 in which the twins and a comparing loop are loaded.
pub struct Machine {
    lua: Lua,
    compare: Function,
    /// Doubles per record.
    width: usize,
    records: Vec<f64>,
}

/// The first record in which Lua and Rust differ.
#[derive(Debug)]
#[allow(dead_code, reason = "it is told by `Debug`")]
pub struct Difference {
    /// The function that answered otherwise.
    pub function: String,
    /// The record: what was asked and what Rust answered.
    pub record: Vec<f64>,
    /// What Lua answered.
    pub answer: String,
}

impl Difference {
    /// Lua could not even answer.
    fn of(error: mlua::Error) -> Difference {
        let (function, record) = ("Lua itself".to_owned(), Vec::new());
        Difference { function, record, answer: error.to_string() }
    }
}

impl Machine {
    /// A machine of the twins as they are shipped, or with one change.
    pub fn new(driver: &str, width: usize, change: Option<&Change>) -> Result<Machine, Difference> {
        let mut script = String::new();
        for (name, text) in twin::functions() {
            let mut text = text.to_owned();
            if let Some(change) = change.filter(|change| change.function == name) {
                text.replace_range(change.piece.clone(), change.instead);
            }
            script.push_str(&text);
        }
        script.push_str(driver);
        let lua = Lua::new();
        let compare = lua.load(script).set_name("twins").eval().map_err(Difference::of)?;
        Ok(Machine { lua, compare, width, records: Vec::new() })
    }

    /// Compares one more record, given in parts, sooner or later.
    #[inline]
    pub fn push(&mut self, parts: &[&[f64]]) -> Result<(), Difference> {
        parts.iter().for_each(|part| self.records.extend_from_slice(part));
        if self.records.len() >= 500 * self.width { self.flush() } else { Ok(()) }
    }

    /// Compares all that is left.
    pub fn flush(&mut self) -> Result<(), Difference> {
        assert_eq!(self.records.len() % self.width, 0, "whole records");
        let table = self.lua.create_sequence_from(self.records.iter().copied()).unwrap();
        let compared = self.compare.call((table, self.records.len()));
        let (at, function, answer): (usize, String, String) = compared.map_err(Difference::of)?;
        let record = self.records.iter().skip(at.saturating_sub(1)).take(self.width).copied();
        let record = record.collect();
        self.records.clear();
        if at == 0 { Ok(()) } else { Err(Difference { function, record, answer }) }
    }
}
