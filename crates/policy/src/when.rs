//! Which requests a limit is for.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::method::Method;
use crate::pattern::{PathPattern, PathPatternError};

/// Which requests a limit is for: of some methods, on some paths.
///
/// What is not said does not matter, so the default is every request. From code it is shortest as
/// text: methods, if any, and path patterns, if any.
///
/// ```
/// use tollgate_policy::When;
/// let login: When = "POST /api/auth/login".parse()?;
/// let same = When::default().method("POST")?.path("/api/auth/login")?;
/// assert_eq!(login, same);
/// let reading: When = "GET,QUERY /users/* /groups/{id}".parse()?;
/// # Ok::<(), tollgate_policy::WhenError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    methods: Vec<Method>,
    paths: Vec<PathPattern>,
}

impl When {
    /// The same, and this method. GET includes HEAD.
    ///
    /// # Errors
    /// When it cannot be a method: 1 to 32 token characters without small letters, so that no other
    /// word passes for one.
    pub fn method(mut self, name: &str) -> Result<When, WhenError> {
        self.methods.push(name.parse().map_err(|_| WhenError::Method)?);
        Ok(self)
    }

    /// The same, and paths of this pattern.
    ///
    /// # Errors
    /// When it is no pattern.
    pub fn path(mut self, pattern: &str) -> Result<When, WhenError> {
        self.paths.push(pattern.parse().map_err(WhenError::Path)?);
        Ok(self)
    }

    /// The same, and all methods and paths of `other`.
    pub(crate) fn and(mut self, other: When) -> When {
        self.methods.extend(other.methods);
        self.paths.extend(other.paths);
        self
    }

    pub(crate) fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// The path patterns; none for every path.
    #[must_use]
    pub fn paths(&self) -> &[PathPattern] {
        &self.paths
    }
}

impl FromStr for When {
    type Err = WhenError;

    /// Reads `METHOD[,METHOD…] [PATH…]` or `PATH…`.
    ///
    /// # Errors
    /// When a word is neither.
    fn from_str(text: &str) -> Result<When, WhenError> {
        let (paths, methods): (Vec<_>, Vec<_>) =
            text.split_ascii_whitespace().partition(|word| word.starts_with('/'));
        let methods = methods.into_iter().flat_map(|word| word.split(','));
        let when = methods.into_iter().try_fold(When::default(), When::method)?;
        paths.into_iter().try_fold(when, When::path)
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, method) in self.methods.iter().enumerate() {
            write!(f, "{}{}", if nth > 0 { "," } else { "" }, method.as_str())?;
        }
        for (nth, path) in self.paths.iter().enumerate() {
            write!(f, "{}{path}", if nth > 0 || !self.methods.is_empty() { " " } else { "" })?;
        }
        if self == &When::default() { f.write_str("every request") } else { Ok(()) }
    }
}

/// Why a text is no condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenError {
    /// A word that is neither a method nor a path.
    Method,
    /// A path that is no pattern.
    Path(PathPatternError),
}

impl fmt::Display for WhenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhenError::Method => f.write_str("neither a method in capitals nor a path"),
            WhenError::Path(error) => error.fmt(f),
        }
    }
}

impl Error for WhenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            WhenError::Path(error) => Some(error),
            WhenError::Method => None,
        }
    }
}
