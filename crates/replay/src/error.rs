//! Why a log cannot be replayed at all.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use crate::format::Format;
use crate::log::UnreadableLine;
use crate::shown::visible_lines;

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
    Utf16 { name: String },
    NoneRead { as_format: Option<Format>, lines: Vec<UnreadableLine>, looks_like: Option<Format> },
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
        let name = name.to_owned();
        let kind = match line {
            // Its byte order mark, of either order.
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Kind::Utf16 { name },
            _ => Kind::Unrecognised { name, line: crate::shown(line) },
        };
        ReplayError { kind }
    }

    pub(crate) fn none_read(
        as_format: Option<Format>,
        lines: Vec<UnreadableLine>,
        looks_like: Option<Format>,
    ) -> ReplayError {
        ReplayError { kind: Kind::NoneRead { as_format, lines, looks_like } }
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

    /// Whether the format of a log could not be told, or is another one than was said.
    #[must_use]
    pub fn is_unrecognised(&self) -> bool {
        matches!(self.kind, Kind::Unrecognised { .. } | Kind::Utf16 { .. } | Kind::NoneRead { .. })
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible_lines(&self.kind.to_string()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
            Kind::Utf16 { name } => write!(
                f,
                "{name} is UTF-16; expected UTF-8, as `iconv -f UTF-16 -t UTF-8` makes it"
            ),
            Kind::NoneRead { as_format, lines, looks_like } => {
                write!(f, "no line of the log can be read")?;
                if let Some(format) = as_format {
                    write!(f, " as {format}, which `--log-format {}` says", format.name())?;
                }
                for UnreadableLine { source, number, expected, text } in lines {
                    write!(f, "\n  {source}:{number}: expected {expected}: {text}")?;
                }
                match (looks_like, as_format) {
                    (Some(format), _) => write!(
                        f,
                        "\nit looks like {format}; expected no `--log-format`, or `--log-format {}`",
                        format.name()
                    ),
                    (None, Some(format)) if format.has_names() => {
                        write!(f, "\nif these are the requests, name their fields by `--field`")
                    }
                    (None, _) => write!(f, "\nit looks like no format that is known"),
                }
            }
            Kind::Field { text, expected } => {
                write!(f, "`{text}` names no field; expected {expected}")
            }
            Kind::Keys { why } => write!(f, "so many keys cannot be counted: {why}"),
            Kind::KeyParts { why } => write!(f, "budgets cannot be by these parts: {why}"),
            Kind::Format { text } => {
                write!(f, "`{text}` is no format; expected {}", Format::EXPECTED)
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
