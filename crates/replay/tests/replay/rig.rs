//! Files of a test, and logs replayed on limits.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tollgate_policy::Policy;
use tollgate_policy::config::{Reading, Source as File};
use tollgate_replay::{
    Decided, Log, LogOptions, ReplayError, ReplayOptions, Replayed, Source, replay, wanted,
};

/// A directory of one test's own, removed with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tollgate-replay-{}-{nth}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> Source {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        Source::File(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The real log.
pub(crate) fn sample() -> Source {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/website-2015-05.access.log");
    Source::File(data)
}

#[track_caller]
pub(crate) fn policy(text: &str) -> Policy {
    let reading = Reading::new(File::new("limits.toml", text).unwrap(), &|_| None);
    let policy = Policy::read(&mut reading.root());
    let problems = reading.finish();
    policy.unwrap_or_else(|| panic!("{problems}"))
}

pub(crate) fn open(policy: &Policy, sources: Vec<Source>) -> Result<Log, ReplayError> {
    Log::open(sources, LogOptions { wanted: wanted(policy), ..LogOptions::default() })
}

/// Replays sources on limits; each request is seen by `observe`.
#[track_caller]
pub(crate) fn replayed(
    limits: &str,
    sources: Vec<Source>,
    options: ReplayOptions,
    observe: impl FnMut(&Decided<'_, '_>),
) -> Replayed {
    let policy = policy(limits);
    let log = open(&policy, sources).unwrap();
    replay(log, policy, "limits.toml", options, |_| (), observe).unwrap()
}

/// A line of the common format.
pub(crate) fn line(client: &str, clock: &str, target: &str) -> String {
    format!("{client} - - [17/May/2015:{clock} +0000] \"GET {target} HTTP/1.1\" 200 5\n")
}
