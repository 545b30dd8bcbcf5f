//! A private folder that is gone with its value.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new folder in the system's folder for passing files, readable by its owner alone.
#[derive(Debug)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (parent, process) = (std::env::temp_dir(), std::process::id());
        loop {
            // Relaxed: the number has only to differ from all others of this process.
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("tollgate-servers-{process}-{number}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Self(path),
                // Left by a process of the same id that was ended with all its watchers.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    crate::give_up(&format!("{} cannot be made: {error}", path.display()))
                }
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // The watcher of a process that lived here may have been faster.
        let _ = fs::remove_dir_all(&self.0);
    }
}
