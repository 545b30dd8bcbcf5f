//! A file that is written whole or not at all.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::interrupt;

/// A file that is going to be written whole or not at all: beside its place first, and put there at the end.
/// Until then what stands there stays, and whatever goes wrong leaves nothing else.
#[derive(Debug)]
pub(crate) struct WholeFile {
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// Nothing is there, and nothing that comes meanwhile is replaced.
    Free(PathBuf),
    /// What is there, if anything, is replaced by a file of these permissions.
    Taken(PathBuf, Option<Permissions>),
    /// A pipe or a device: what is written there is gone at once.
    Stream(File),
}

impl WholeFile {
    /// One that replaces what is there, and keeps its permissions. What a link leads to is replaced, not
    /// the link.
    ///
    /// # Errors
    /// When what is there, or the folder, may not be written.
    pub(crate) fn replacing(path: &Path) -> io::Result<WholeFile> {
        let found = match path.metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return WholeFile { place: Place::Taken(path.to_owned(), None) }.tried();
            }
            Err(error) => return Err(error),
        };
        let opened = OpenOptions::new().append(true).open(path)?;
        if !found.is_file() {
            return Ok(WholeFile { place: Place::Stream(opened) });
        }
        let place = Place::Taken(path.canonicalize()?, Some(found.permissions()));
        WholeFile { place }.tried()
    }

    /// One that replaces nothing.
    ///
    /// # Errors
    /// When something is there already, or the folder may not be written.
    pub(crate) fn new(path: &Path) -> io::Result<WholeFile> {
        match path.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                WholeFile { place: Place::Free(path.to_owned()) }.tried()
            }
            Err(error) => Err(error),
        }
    }

    /// Whether it can be written is known before there is something to write.
    fn tried(self) -> io::Result<WholeFile> {
        if let Place::Free(path) | Place::Taken(path, _) = &self.place {
            beside(path)?;
        }
        Ok(self)
    }

    /// Writes it.
    ///
    /// # Errors
    /// When it cannot be written, or something has come to where nothing was.
    pub(crate) fn write(self, text: &str) -> io::Result<()> {
        // Whoever ends the program meanwhile would leave the file beside the place.
        let _held_off = interrupt::hold_off();
        let full = |path: &Path| {
            let mut file = beside(path)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            Ok::<_, io::Error>(file)
        };
        match self.place {
            Place::Free(path) => drop(full(&path)?.persist_noclobber(&path)?),
            Place::Taken(path, permissions) => {
                let file = full(&path)?;
                if let Some(permissions) = permissions {
                    file.as_file().set_permissions(permissions)?;
                }
                drop(file.persist(&path)?);
            }
            Place::Stream(mut file) => file.write_all(text.as_bytes())?,
        }
        Ok(())
    }
}

/// An empty file in the same folder, and so on the same disk; gone when it is dropped.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // As any new file: what the user's mask takes away is taken away.
    let permissions = Permissions::from_mode(0o666);
    Builder::new().prefix(".tollgate-").permissions(permissions).tempfile_in(folder)
}
