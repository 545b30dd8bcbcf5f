//! What is wrong with, or doubtful about, a policy.

use std::error::Error;
use std::fmt;

/// What is said of one part of a policy, and what was expected instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) message: String,
    /// Never quotes a value of the file.
    pub(crate) expected: String,
    quoted: Option<&'static [&'static str]>,
}

impl Complaint {
    pub(crate) fn new(message: impl Into<String>, expected: impl Into<String>) -> Complaint {
        Complaint { message: message.into(), expected: expected.into(), quoted: None }
    }

    /// The same, whose message quotes the values of these keys of a limit; unless said it may quote
    /// that of the key it is about.
    pub(crate) fn quoting(self, keys: &'static [&'static str]) -> Complaint {
        Complaint { quoted: Some(keys), ..self }
    }

    /// The same about a line of another file.
    pub(crate) fn in_line(self, file: &str, line: u32) -> Complaint {
        Complaint { message: format!("{file}, line {line}: {}", self.message), ..self }
    }

    pub(crate) fn at(self, place: Place) -> Finding {
        Finding { place, complaint: self }
    }
}

/// Which part of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A key of the limit with this number.
    Limit(usize, &'static str),
    /// An override of the limit with the first number.
    Override(usize, usize),
    /// An entry of the list of who is free.
    Allow(usize),
    /// An entry of the list of who is forbidden.
    Deny(usize),
    /// A named route.
    Route(usize),
    /// None in particular.
    Whole,
}

/// Something to be said of a policy, and where: shown with the number of the limit, from 1, and the
/// key of a file that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub(crate) place: Place,
    pub(crate) complaint: Complaint,
}

impl Finding {
    /// What is wrong or doubtful.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.complaint.message
    }

    /// The keys of a limit whose values the message may quote.
    pub(crate) fn quoted(&self) -> &[&'static str] {
        match (&self.complaint.quoted, &self.place) {
            (Some(keys), _) => keys,
            (None, Place::Limit(_, key)) => std::slice::from_ref(key),
            (None, _) => &[],
        }
    }

    /// What was expected or would be better.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.complaint.expected
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Limit(nth, key) => write!(f, "limit {}, `{key}`: ", nth + 1)?,
            Place::Override(limit, nth) => {
                write!(f, "limit {}, override {}: ", limit + 1, nth + 1)?;
            }
            Place::Allow(nth) => write!(f, "allowed value {}: ", nth + 1)?,
            Place::Deny(nth) => write!(f, "denied value {}: ", nth + 1)?,
            Place::Route(nth) => write!(f, "route {}: ", nth + 1)?,
            Place::Whole => {}
        }
        write!(f, "{}; expected {}", self.message(), self.expected())
    }
}

/// Why limits do not make a policy: everything that is wrong with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    pub(crate) findings: Vec<Finding>,
}

impl PolicyError {
    /// What is wrong, at least one thing.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter()
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, finding) in self.findings.iter().enumerate() {
            write!(f, "{}{finding}", if nth > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl Error for PolicyError {}
