//! Where lines come from: files, patterns of files, standard input; plain or compressed.

mod frames;
mod lines;

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use crate::error::ReplayError;
use frames::Frames;
pub(crate) use lines::{Lines, Read as Next};

/// A log, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// The sources that are meant by an argument: `-` is standard input; a file that is there is meant
    /// itself; anything else with `*`, `?` or `[` is a pattern, whose files are given in the order of
    /// their names.
    ///
    /// # Errors
    /// When it is neither a file nor a pattern of any.
    ///
    /// ```
    /// use tollgate_replay::Source;
    /// assert_eq!(Source::meant_by("-")?, [Source::Stdin]);
    /// assert!(Source::meant_by("/no/such/*.log").is_err());
    /// # Ok::<(), tollgate_replay::ReplayError>(())
    /// ```
    pub fn meant_by(argument: &str) -> Result<Vec<Source>, ReplayError> {
        if argument == "-" {
            return Ok(vec![Source::Stdin]);
        }
        let path = PathBuf::from(argument);
        if path.exists() || !argument.contains(['*', '?', '[']) {
            return Ok(vec![Source::File(path)]);
        }
        let found = glob::glob(argument).map_err(|error| ReplayError::pattern(argument, error))?;
        let mut files = Vec::new();
        for path in found {
            let path = path.map_err(|error| {
                ReplayError::open(error.path().display().to_string(), error.into())
            })?;
            if path.is_file() {
                files.push(Source::File(path));
            }
        }
        if files.is_empty() { Err(ReplayError::no_match(argument)) } else { Ok(files) }
    }

    /// How many bytes it has, compressed as it is; `None` when nobody knows.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match self {
            Source::Stdin => None,
            Source::File(path) => {
                let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
                Some(metadata.len())
            }
        }
    }

    /// Whether it begins anew when it is opened once more. A pipe does not, by whatever name it goes.
    pub(crate) fn begins_anew(&self) -> bool {
        self.size().is_some()
    }

    /// Opens it; `read` counts its bytes, compressed as they are.
    pub(crate) fn open(&self, read: Rc<Cell<u64>>) -> Result<Lines, ReplayError> {
        let opened: io::Result<Box<dyn Read>> = match self {
            Source::Stdin => Ok(Box::new(io::stdin())),
            Source::File(path) => File::open(path).map(|file| -> Box<dyn Read> { Box::new(file) }),
        };
        let lines = opened.and_then(|input| Ok(Lines::of(plain(Counted { input, read })?)));
        lines.map_err(|error| ReplayError::open(self.to_string(), error))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Stdin => f.write_str("standard input"),
            Source::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The text of an input, whether it is compressed or not: its first bytes say.
fn plain(mut input: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut magic = Vec::new();
    input.by_ref().take(MAGIC).read_to_end(&mut magic)?;
    let kind = magic.clone();
    let whole = io::Cursor::new(magic).chain(input);
    Ok(match kind.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(whole)),
        // A frame (RFC 8878, 3.1.1), or one that is to be skipped (3.1.2).
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Box::new(Frames::new(whole)),
        _ => Box::new(whole),
    })
}

/// How many bytes tell what an input is.
const MAGIC: u64 = 4;

/// Counts what is read.
struct Counted {
    input: Box<dyn Read>,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(buffer)?;
        self.read.set(self.read.get().saturating_add(u64::try_from(bytes).unwrap_or(0)));
        Ok(bytes)
    }
}
