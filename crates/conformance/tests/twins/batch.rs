//! Records that are asked of Lua together, with what Rust answered, and what came of comparing them.

use tollgate_core::algorithm::Ruling;

use super::Run;
use super::machine::{Machine, Program};

/// Enough that the call around them costs little.
const RECORDS: usize = 500;

pub struct Batch {
    program: Program,
    machine: Machine,
    asked: Vec<f64>,
    answered: Vec<f64>,
}

/// Where Lua and Rust first differ.
#[derive(Debug)]
#[allow(dead_code, reason = "it is told by `Debug`")]
pub enum Difference {
    /// In what a function answered.
    Answer { function: String, asked: Vec<f64>, rust: Vec<f64>, lua: Vec<f64> },
    /// Lua did not answer, somewhere in a batch.
    NoAnswer(String),
}

impl Batch {
    pub fn new(program: Program, run: Run<'_>) -> Result<Batch, Difference> {
        let machine = match run.server {
            None => Machine::embedded(&program, run.change).map_err(Difference::NoAnswer)?,
            Some(server) => Machine::served(server, &program, run.change),
        };
        Ok(Batch { program, machine, asked: Vec::new(), answered: Vec::new() })
    }

    /// Adds a record, in parts: what is asked, and what Rust answered.
    pub fn push(&mut self, asked: &[&[f64]], answered: &[&[f64]]) {
        asked.iter().for_each(|part| self.asked.extend_from_slice(part));
        answered.iter().for_each(|part| self.answered.extend_from_slice(part));
    }

    /// Compares all records if there are many. Called between histories, so that each is in one
    /// batch: a server remembers nothing from one to the next.
    pub fn compare_if_full(&mut self) -> Result<(), Difference> {
        if self.asked.len() < RECORDS * self.program.asked { Ok(()) } else { self.compare() }
    }

    /// Compares all records.
    pub fn compare(&mut self) -> Result<(), Difference> {
        let (width, answers) = (self.program.asked, self.program.answered());
        assert_eq!(self.asked.len() % width, 0, "whole records");
        assert_eq!(self.asked.len() / width, self.answered.len() / answers, "as many answers");
        let told = self.machine.answer(&self.asked).map_err(Difference::NoAnswer)?;
        if told.len() != self.answered.len() {
            let (told, due) = (told.len(), self.answered.len());
            return Err(Difference::NoAnswer(format!("{told} numbers instead of {due}")));
        }
        if let Some(at) = (0..told.len()).find(|&at| told[at] != self.answered[at]) {
            let record = at / answers;
            let of = |words: &[f64], width| words[record * width..][..width].to_vec();
            return Err(Difference::Answer {
                function: self.function(at % answers),
                asked: of(&self.asked, width),
                rust: of(&self.answered, answers),
                lua: of(&told, answers),
            });
        }
        self.asked.clear();
        self.answered.clear();
        Ok(())
    }

    /// Which function gave the answer at this place of a record.
    fn function(&self, place: usize) -> String {
        let mut end = 0;
        let mut ends = self.program.answers.iter().map(|(name, numbers)| {
            end += numbers;
            (end, name)
        });
        let (_, name) = ends.find(|(end, _)| place < *end).unwrap();
        format!("{}_{name}", self.program.rule)
    }
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
