//! What those in front of a line wait for besides what their server told.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long those in front of a line have waited for something else, one after another.
#[derive(Debug, Default)]
pub(super) struct Elsewhere(Mutex<Spent>);

#[derive(Debug, Default)]
struct Spent {
    before: Duration,
    since: Option<Instant>,
}

/// The one in front waits for something else as long as this is kept.
#[derive(Debug)]
pub(super) struct Visit<'e>(&'e Elsewhere);

impl Elsewhere {
    pub(super) fn visit(&self) -> Visit<'_> {
        self.lock().since = Some(Instant::now());
        Visit(self)
    }

    /// The sum up to now.
    pub(super) fn spent(&self) -> Duration {
        self.lock().until(Instant::now())
    }

    // It is whole after every statement, also where a holder panics.
    fn lock(&self) -> MutexGuard<'_, Spent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spent {
    fn until(&self, now: Instant) -> Duration {
        let current = self.since.map(|since| now.saturating_duration_since(since));
        self.before.saturating_add(current.unwrap_or_default())
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut spent = self.0.lock();
        *spent = Spent { before: spent.until(Instant::now()), since: None };
    }
}
