//! How much a store may hold, and by which clock it counts.

use std::fmt;

use tollgate_core::{Clock, Span};

use crate::clock::SystemClock;
use crate::memory::{Memory, Time};

/// Bytes of table per entry, all in.
const ENTRY: u64 = 40;
/// The least memory that is accepted: one segment of the table and a few logs.
const LEAST_BYTES: u64 = 256 * 1024;
const MOST_ENTRIES: u64 = 1 << 29;

/// A store in the making.
#[must_use]
pub struct MemoryBuilder {
    max_entries: Option<u64>,
    max_bytes: Option<u64>,
    time: Option<Time>,
    sweep: Span,
}

impl MemoryBuilder {
    pub(crate) fn new() -> MemoryBuilder {
        // A step of 64 buckets each 500 µs at most: about 1 % of one core.
        let sweep = Span::from_micros(500);
        MemoryBuilder { max_entries: None, max_bytes: None, time: None, sweep }
    }

    /// How many keys are held at most, 1 to 536,870,912 (2^29); a million unless said. A key of two
    /// limits counts twice.
    pub fn max_entries(mut self, entries: u64) -> Self {
        self.max_entries = Some(entries);
        self
    }

    /// How many bytes are held at most, at least 262,144; what `max_entries` needs unless said (53
    /// bytes per entry). A quarter is kept for sliding logs; the table has the rest, at 40 bytes
    /// per entry.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// The clock to decide by, instead of the machine's.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.time = Some(Time::Given(Box::new(clock)));
        self
    }

    /// How often calls look for keys that have recovered, at most; each 500 µs unless said. It changes
    /// nothing that is decided. Where time is simulated, much of it passes between two calls, and each
    /// would find that a step is due.
    pub fn sweep_every(mut self, span: Span) -> Self {
        self.sweep = span;
        self
    }

    /// Builds the store.
    ///
    /// # Errors
    /// When either bound is outside its range: a store that can hold nothing would limit nothing.
    pub fn build(self) -> Result<Memory, BuildError> {
        if let Some(bytes) = self.max_bytes.filter(|bytes| *bytes < LEAST_BYTES) {
            return Err(BuildError::Bytes(bytes));
        }
        let in_bytes = |bytes: u64| (bytes / 4).saturating_mul(3) / ENTRY;
        let by_bytes = self.max_bytes.map(in_bytes);
        let entries = match (self.max_entries, by_bytes) {
            (Some(entries), _) if !(1..=MOST_ENTRIES).contains(&entries) => {
                return Err(BuildError::Entries(entries));
            }
            (Some(entries), Some(by_bytes)) => entries.min(by_bytes),
            (Some(entries), None) => entries,
            (None, Some(by_bytes)) => by_bytes.min(MOST_ENTRIES),
            (None, None) => Memory::DEFAULT_ENTRIES,
        };
        let table = entries.saturating_mul(ENTRY);
        let bytes = self.max_bytes.unwrap_or((table / 3).saturating_mul(4).max(LEAST_BYTES));
        let time = self.time.unwrap_or_else(|| Time::System(SystemClock::new()));
        Ok(Memory::with(entries, bytes.saturating_sub(table), time, self.sweep))
    }
}

impl fmt::Debug for MemoryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBuilder")
            .field("max_entries", &self.max_entries)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

/// Why a store cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// `max_entries` is 0 or above 2^29.
    Entries(u64),
    /// `max_bytes` is below 262,144.
    Bytes(u64),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Entries(entries) => {
                write!(f, "expected max_entries between 1 and {MOST_ENTRIES}, not {entries}")
            }
            BuildError::Bytes(bytes) => {
                write!(f, "expected max_bytes of at least {LEAST_BYTES}, not {bytes}")
            }
        }
    }
}

impl std::error::Error for BuildError {}
