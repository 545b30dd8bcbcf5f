//! What is wrong with a config file, and where.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use super::render;
use super::source::Source;

/// Whether a file with the problem can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can, but hardly means what its author wants.
    Warning,
}

/// One thing that is wrong, where, and what was expected instead.
///
/// Its texts quote what the file says, never a value from the environment.
///
/// ```
/// use tollgate_policy::config::{Problem, Severity};
/// let problem = Problem::error(8..13, "`redsi` is no store", "`memory` or `redis`")
///     .suggest(Some("redis"));
/// assert_eq!(problem.severity(), Severity::Error);
/// assert_eq!(problem.advice(), Some("did you mean `redis`?"));
/// ```
#[derive(Clone, Debug)]
pub struct Problem {
    severity: Severity,
    span: Range<usize>,
    message: String,
    expected: String,
    help: Option<String>,
}

impl Problem {
    /// An error at these bytes of the file: what is wrong, and what was expected.
    #[must_use]
    pub fn error(
        span: Range<usize>,
        message: impl Into<String>,
        expected: impl Into<String>,
    ) -> Problem {
        let (message, expected) = (message.into(), expected.into());
        Problem { severity: Severity::Error, span, message, expected, help: None }
    }

    /// A warning at these bytes of the file: what will happen, and what would be better.
    #[must_use]
    pub fn warning(
        span: Range<usize>,
        message: impl Into<String>,
        expected: impl Into<String>,
    ) -> Problem {
        Problem { severity: Severity::Warning, ..Problem::error(span, message, expected) }
    }

    /// The same problem with advice.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Problem {
        Problem { help: Some(help.into()), ..self }
    }

    /// The same problem with the question whether `candidate` was meant, if there is one.
    #[must_use]
    pub fn suggest(self, candidate: Option<&str>) -> Problem {
        match candidate {
            Some(candidate) => self.help(format!("did you mean `{candidate}`?")),
            None => self,
        }
    }

    /// Whether a file with this problem can be used.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// The bytes of the file that it is about.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// What is wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What was expected instead.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// Advice, such as a name that looks alike.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

/// All that was found wrong with one file, in the order of its lines.
///
/// Shown as a compiler does: the place, the line, a caret, what was expected. Of more than 100, the
/// rest is counted.
///
/// ```
/// use tollgate_policy::config::{Problem, Reading, Source};
/// let reading = Reading::new(Source::new("limits.toml", "store = \"redsi\"")?, &|_| None);
/// reading.report(Problem::warning(8..15, "`redsi` is no store", "`memory` or `redis`"));
/// let problems = reading.finish();
/// assert!(!problems.has_errors() && !problems.is_empty());
/// assert!(problems.to_string().contains("limits.toml:1:9"));
/// # Ok::<(), tollgate_policy::config::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Problems {
    source: Source,
    found: Vec<Problem>,
}

impl Problems {
    /// How many are shown; the others are counted.
    const SHOWN: usize = 100;

    pub(super) fn new(source: Source, mut found: Vec<Problem>) -> Problems {
        found.sort_by_key(|problem| problem.span.start);
        Problems { source, found }
    }

    /// Whether the file cannot be used.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.found.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The problems, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.found.iter()
    }

    /// The line and column where a problem begins, both from 1; columns count characters.
    #[must_use]
    pub fn position(&self, problem: &Problem) -> (usize, usize) {
        render::position(self.source.text(), problem.span.start)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, problem) in self.found.iter().take(Problems::SHOWN).enumerate() {
            if nth > 0 {
                f.write_str("\n")?;
            }
            render::write(f, &self.source, problem)?;
        }
        match self.found.len().saturating_sub(Problems::SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "\nand {more} more"),
        }
    }
}

impl Error for Problems {}
