//! What operators read while servers cannot be asked: one line when it begins, one at most every ten
//! seconds while it lasts, one when it is over.

use std::sync::{Mutex, PoisonError};

use tokio::time::{Duration, Instant};

use crate::fault::Fault;

/// The least pause between two lines about the same trouble.
const PAUSE: Duration = Duration::from_secs(10);

/// It is over once nothing has gone wrong for so long.
const CALM: Duration = Duration::from_secs(1);

/// Keeps count of a trouble, and says so now and then.
#[derive(Debug, Default)]
pub(crate) struct Voice(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    trouble: Option<Trouble>,
    /// The last line of all; troubles that follow each other closely share their lines.
    last_line: Option<Instant>,
}

#[derive(Debug)]
struct Trouble {
    since: Instant,
    last: Instant,
    /// Decisions made alone and those told as errors, since it began and in the last line.
    alone: u64,
    failed: u64,
}

/// What became of a decision whose servers could not be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// This instance decided it alone.
    Alone,
    /// It was told as an error.
    Failed,
}

impl Voice {
    /// A decision could not be made as it should, for this reason.
    pub(crate) fn trouble(&self, fault: &Fault, fate: Fate) {
        let (mut said, now) =
            (self.0.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        let begins = said.trouble.is_none();
        let trouble =
            said.trouble.get_or_insert(Trouble { since: now, last: now, alone: 0, failed: 0 });
        trouble.last = now;
        match fate {
            Fate::Alone => trouble.alone = trouble.alone.saturating_add(1),
            Fate::Failed => trouble.failed = trouble.failed.saturating_add(1),
        }
        let (since, alone, failed) = (trouble.since, trouble.alone, trouble.failed);
        if said.last_line.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            return;
        }
        said.last_line = Some(now);
        drop(said);
        if begins {
            tracing::warn!(
                class = fault.class().name(),
                "the shared budgets cannot be asked: {fault}; each limit's on_error decides"
            );
        } else {
            let seconds = now.saturating_duration_since(since).as_secs();
            tracing::warn!(
                class = fault.class().name(),
                seconds,
                alone,
                failed,
                "the shared budgets still cannot be asked: {fault}"
            );
        }
    }

    /// A decision was made as it should be.
    pub(crate) fn calm(&self) {
        // Nearly always there is nothing to say, and nobody else to wait for.
        let Ok(mut said) = self.0.try_lock() else { return };
        let now = Instant::now();
        let over = |trouble: &Trouble| now.saturating_duration_since(trouble.last) >= CALM;
        if !said.trouble.as_ref().is_some_and(over) {
            return;
        }
        let Some(Trouble { since, last, alone, failed }) = said.trouble.take() else { return };
        drop(said);
        let seconds = last.saturating_duration_since(since).as_secs_f64();
        tracing::info!(seconds, alone, failed, "the shared budgets are asked again");
    }
}
