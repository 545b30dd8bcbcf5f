//! What is told to an operator.

use core::fmt;

/// How bad a finding is; the worst is the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Note,
    /// Limits work, but less well than they could.
    Warning,
    /// Limits do not work.
    Error,
}

/// Something found out about a server, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    severity: Severity,
    server: String,
    text: String,
}

impl Finding {
    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// The server, or the whole address without its password.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// One or two sentences for an operator, without a password.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn note(server: impl ToString, text: impl Into<String>) -> Finding {
        Finding::of(Severity::Note, server, text)
    }

    pub(super) fn warning(server: impl ToString, text: impl Into<String>) -> Finding {
        Finding::of(Severity::Warning, server, text)
    }

    pub(super) fn error(server: impl ToString, text: impl Into<String>) -> Finding {
        Finding::of(Severity::Error, server, text)
    }

    fn of(severity: Severity, server: impl ToString, text: impl Into<String>) -> Finding {
        Finding { severity, server: server.to_string(), text: text.into() }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.severity, self.server, self.text)
    }
}
