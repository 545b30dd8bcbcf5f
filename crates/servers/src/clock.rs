//! A server's wall clock, stepped by a preloaded shim (`skew.c`) while the server runs.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::give_up;

/// The shim's source, compiled on the spot: it needs a C compiler, as the linker of Rust does.
const SHIM: &str = include_str!("skew.c");

/// The offset of one server's wall clock from the true time.
#[derive(Debug)]
pub(crate) struct Clock {
    library: PathBuf,
    path: PathBuf,
    offset: File,
}

impl Clock {
    /// Compiles the shim into `folder`, with an offset of zero.
    pub(crate) fn new(folder: &Path) -> Self {
        match Self::compile(folder) {
            Ok(clock) => clock,
            Err(error) => give_up(&format!("the clock's shim cannot be built: {error}")),
        }
    }

    fn compile(folder: &Path) -> std::io::Result<Self> {
        let (source, library) = (folder.join("skew.c"), folder.join("skew.so"));
        fs::write(&source, SHIM)?;
        let flags = ["-O2", "-shared", "-fPIC", "-Wall", "-Werror", "-o"];
        let run = Command::new("cc").args(flags).args([&library, &source]).output()?;
        if !run.status.success() {
            return Err(std::io::Error::other(String::from_utf8_lossy(&run.stderr).into_owned()));
        }
        let path = folder.join("skew");
        fs::write(&path, 0_i64.to_ne_bytes())?;
        let offset = File::options().write(true).open(&path)?;
        Ok(Self { library, path, offset })
    }

    /// What goes before a command so that it runs by this clock.
    pub(crate) fn prefix(&self) -> [String; 3] {
        let preload = format!("LD_PRELOAD={}", self.library.display());
        let file = format!("SKEW_FILE={}", self.path.display());
        ["env".to_owned(), preload, file]
    }

    /// Sets the offset: the clock reads the true time plus `micros` from now on.
    pub(crate) fn set(&self, micros: i64) {
        if let Err(error) = self.offset.write_all_at(&micros.to_ne_bytes(), 0) {
            give_up(&format!("the clock cannot be set: {error}"));
        }
    }
}
