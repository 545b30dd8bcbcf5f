//! The text of a config file and its name.

use std::error::Error;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A config file's name, for messages, and its text, at most 1 MiB.
///
/// ```
/// use tollgate_policy::config::Source;
/// assert_eq!(Source::new("limits.toml", "a = 1")?.text(), "a = 1");
/// let error = Source::new("limits.toml", " ".repeat(Source::MOST + 1)).unwrap_err();
/// assert!(error.to_string().contains("limits.toml"));
/// # Ok::<(), tollgate_policy::config::SourceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    /// Where it lies, if it is a file.
    path: Option<PathBuf>,
}

impl Source {
    /// The most bytes a config file may have.
    pub const MOST: usize = 1 << 20;

    /// A source of this text.
    ///
    /// # Errors
    /// When the text is longer than 1 MiB.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Result<Source, SourceError> {
        let (name, text) = (name.into(), text.into());
        if text.len() > Source::MOST {
            return Err(SourceError { name, fault: Fault::TooLong });
        }
        Ok(Source { name, text, path: None })
    }

    /// The file at `path`; no more than 1 MiB of it is read.
    ///
    /// # Errors
    /// When it cannot be read, is longer than 1 MiB or is not UTF-8.
    pub fn read(path: &Path) -> Result<Source, SourceError> {
        let name = path.display().to_string();
        let most = u64::try_from(Source::MOST).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        let read = std::fs::File::open(path).and_then(|f| f.take(most).read_to_end(&mut bytes));
        if let Err(error) = read {
            return Err(SourceError { name, fault: Fault::Unreadable(error) });
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source { path: Some(path.into()), ..Source::new(name, text)? }),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let line = error.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count();
                Err(SourceError { name, fault: Fault::NotUtf8 { line: line + 1 } })
            }
        }
    }

    /// The name, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A path that the file names: beside it, unless it begins at the root.
    pub(super) fn beside(&self, path: &Path) -> PathBuf {
        let folder = self.path.as_deref().and_then(Path::parent);
        folder.map_or_else(|| path.to_owned(), |folder| folder.join(path))
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Why a config file could not be read at all.
#[derive(Debug)]
pub struct SourceError {
    name: String,
    fault: Fault,
}

#[derive(Debug)]
enum Fault {
    Unreadable(std::io::Error),
    NotUtf8 { line: usize },
    TooLong,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        match &self.fault {
            Fault::Unreadable(error) => write!(f, ": expected a readable file: {error}"),
            Fault::NotUtf8 { line } => write!(f, ":{line}: expected UTF-8 text"),
            Fault::TooLong => write!(f, ": expected at most {} bytes", Source::MOST),
        }
    }
}

impl Error for SourceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.fault {
            Fault::Unreadable(error) => Some(error),
            _ => None,
        }
    }
}
