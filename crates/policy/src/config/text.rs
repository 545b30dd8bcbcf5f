//! A string of the file.

use std::fmt;
use std::ops::Range;

use super::environment::Replaced;

/// A string of the file, its variables replaced, and where it stands.
///
/// `Debug` shows no value that came from the environment.
///
/// ```
/// use tollgate_policy::config::{Reading, Source};
/// let source = Source::new("limits.toml", "password = \"${REDIS_PASSWORD}\"")?;
/// let environment = |name: &str| (name == "REDIS_PASSWORD").then(|| "s3cret".to_owned());
/// let reading = Reading::new(source, &environment);
/// let password = reading.root().text("password", "a password").unwrap();
/// assert_eq!(password.as_str(), "s3cret");
/// assert_eq!(password.shown(), "${REDIS_PASSWORD}");
/// assert!(!format!("{password:?}").contains("s3cret"));
/// # Ok::<(), tollgate_policy::config::SourceError>(())
/// ```
#[derive(Clone)]
pub struct Text {
    text: String,
    variable: Option<String>,
    span: Range<usize>,
}

impl Text {
    pub(super) fn new(replaced: Replaced, span: Range<usize>) -> Text {
        Text { text: replaced.text, variable: replaced.variable, span }
    }

    /// The string, which may hold a secret from the environment.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The string itself.
    #[must_use]
    pub fn into_string(self) -> String {
        self.text
    }

    /// The string as a message may quote it: not what came from the environment.
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.variable {
            None => self.text.clone(),
            Some(name) => format!("${{{name}}}"),
        }
    }

    /// What a message says of a value that came from a variable, since a reason may quote it.
    pub(crate) fn hidden(variable: &str) -> String {
        format!("the value of the variable `{variable}` does not fit here")
    }

    /// The name of the first variable in it.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        self.variable.as_deref()
    }

    /// The bytes of the file where it is written.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shown())
    }
}
