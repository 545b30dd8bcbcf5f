//! Why a log cannot be replayed at all.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a log cannot be replayed at all. What is wrong within a log is no error: it is counted and told.
#[derive(Clone, Debug)]
pub struct ReplayError {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Open { name: String, source: Arc<io::Error> },
    NoMatch { pattern: String },
    Pattern { pattern: String, why: String },
    Unrecognised { name: String, line: String },
    Field { text: String, expected: String },
    Format { text: String },
    Keys { why: String },
    KeyParts { why: String },
}

impl ReplayError {
    pub(crate) fn open(name: impl Into<String>, source: io::Error) -> ReplayError {
        ReplayError { kind: Kind::Open { name: name.into(), source: Arc::new(source) } }
    }

    pub(crate) fn no_match(pattern: &str) -> ReplayError {
        ReplayError { kind: Kind::NoMatch { pattern: pattern.to_owned() } }
    }

    pub(crate) fn pattern(pattern: &str, why: impl fmt::Display) -> ReplayError {
        ReplayError { kind: Kind::Pattern { pattern: pattern.to_owned(), why: why.to_string() } }
    }

    pub(crate) fn unrecognised(name: &str, line: &[u8]) -> ReplayError {
        let line = crate::shown(line);
        ReplayError { kind: Kind::Unrecognised { name: name.to_owned(), line } }
    }

    pub(crate) fn field(text: &str, expected: impl Into<String>) -> ReplayError {
        ReplayError { kind: Kind::Field { text: text.to_owned(), expected: expected.into() } }
    }

    pub(crate) fn format(text: &str) -> ReplayError {
        ReplayError { kind: Kind::Format { text: text.to_owned() } }
    }

    pub(crate) fn keys(why: String) -> ReplayError {
        ReplayError { kind: Kind::Keys { why } }
    }

    pub(crate) fn key_parts(why: String) -> ReplayError {
        ReplayError { kind: Kind::KeyParts { why } }
    }

    /// Whether a file could not be opened or read from its very beginning.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(self.kind, Kind::Open { .. })
    }

    /// Whether the format of a log could not be told.
    #[must_use]
    pub fn is_unrecognised(&self) -> bool {
        matches!(self.kind, Kind::Unrecognised { .. })
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Open { name, source } => write!(f, "cannot read {name}: {source}"),
            Kind::NoMatch { pattern } => {
                write!(f, "no file matches `{pattern}`; expected a log, a pattern or `-`")
            }
            Kind::Pattern { pattern, why } => {
                write!(f, "`{pattern}` is no pattern of files: {why}; expected such as `logs/*.gz`")
            }
            Kind::Unrecognised { name, line } => write!(
                f,
                "{name} has no format that is known; expected the common or combined format, or JSON \
                 lines that tell time, client, method and path, plain or as gzip or zstd; name the \
                 format by `--log-format`, and the fields of other JSON by `--field`. Its first line \
                 is: {line}"
            ),
            Kind::Field { text, expected } => {
                write!(f, "`{text}` names no field; expected {expected}")
            }
            Kind::Keys { why } => write!(f, "so many keys cannot be counted: {why}"),
            Kind::KeyParts { why } => write!(f, "budgets cannot be by these parts: {why}"),
            Kind::Format { text } => {
                write!(f, "`{text}` is no format; expected {}", crate::format::Format::EXPECTED)
            }
        }
    }
}

impl Error for ReplayError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            Kind::Open { source, .. } => Some(source.as_ref()),
            _ => None,
        }
    }
}
