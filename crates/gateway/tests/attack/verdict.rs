//! What came of an attack, and what of it may not be.

use std::fmt;
use std::process::ExitCode;

/// Facts, and the faults among them.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    facts: Vec<String>,
    faults: Vec<String>,
}

impl Verdict {
    pub(crate) fn fact(&mut self, fact: impl Into<String>) {
        self.facts.push(fact.into());
    }

    /// Without `holds` it is a fault, in the words of what should have been.
    pub(crate) fn demand(&mut self, holds: bool, should: impl Into<String>) {
        if !holds {
            self.faults.push(should.into());
        }
    }

    pub(crate) fn passes(&self) -> bool {
        self.faults.is_empty()
    }

    pub(crate) fn code(&self) -> ExitCode {
        if self.passes() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.passes() { "ok  " } else { "FAIL" };
        write!(f, "{state} {}", self.facts.join("; "))?;
        for fault in &self.faults {
            write!(f, "\n{:33}should be: {fault}", "")?;
        }
        Ok(())
    }
}
