//! Notices that a file has become another.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// How often files are looked at. Being told of changes by the kernel would cost a thread and miss
/// what happens on network file systems and behind symbolic links.
const EVERY: Duration = Duration::from_secs(1);
/// How long a file has to stay as it is: what is still being written is not read.
const SETTLED: Duration = Duration::from_millis(200);

/// Files and how they were when they were last looked at.
#[derive(Debug)]
pub(crate) struct Watch {
    files: Vec<PathBuf>,
    seen: Vec<Stamp>,
}

impl Watch {
    pub(crate) fn new(files: Vec<PathBuf>) -> Watch {
        let seen = stamps(&files);
        Watch { files, seen }
    }

    /// Takes the files as they are now for known. To be called before they are read: what changes
    /// while they are read is then noticed.
    pub(crate) async fn look(&mut self) {
        self.seen = self.now().await;
    }

    /// Watches these files from now on; those that were watched before stay as they were last seen.
    pub(crate) async fn follow(&mut self, files: Vec<PathBuf>) {
        let known = std::mem::replace(self, Watch { files, seen: Vec::new() });
        self.look().await;
        for (file, seen) in self.files.iter().zip(&mut self.seen) {
            let before = known.files.iter().zip(&known.seen).find(|(known, _)| *known == file);
            if let Some((_, before)) = before {
                *seen = *before;
            }
        }
    }

    /// Ends once a file is another than it was when last looked at, and has settled. Until
    /// [`Watch::look`] is called it goes on to say so; nothing is lost when this is dropped midway.
    pub(crate) async fn changed(&self) {
        loop {
            sleep(EVERY).await;
            let mut now = self.now().await;
            while now != self.seen {
                sleep(SETTLED).await;
                let before = std::mem::replace(&mut now, self.now().await);
                if now == before {
                    return;
                }
            }
        }
    }

    /// On a thread that may wait: the files may lie on a network.
    async fn now(&self) -> Vec<Stamp> {
        let files = self.files.clone();
        // What could not be looked at has not changed.
        spawn_blocking(move || stamps(&files)).await.unwrap_or_else(|_| self.seen.clone())
    }
}

/// What tells one state of a file from another; `None` when it cannot be looked at.
type Stamp = Option<Seen>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    file: (u64, u64),
    length: u64,
    /// Seconds and nanoseconds.
    written: (i64, i64),
    /// The same of any change, also of who may read it.
    changed: (i64, i64),
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    files.iter().map(|file| stamp(file)).collect()
}

/// Of the file that is read at this path, wherever links lead to.
fn stamp(path: &Path) -> Stamp {
    let of = std::fs::metadata(path).ok()?;
    Some(Seen {
        file: (of.dev(), of.ino()),
        length: of.size(),
        written: (of.mtime(), of.mtime_nsec()),
        changed: (of.ctime(), of.ctime_nsec()),
    })
}
