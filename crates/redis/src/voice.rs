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
    /// Decisions made alone and those told as errors since it began.
    alone: u64,
    failed: u64,
    /// Whether a line told of it; if none did, none tells that it is over.
    told: bool,
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
    /// Something could not be asked as it should, for this reason: a decision, or at the start, before
    /// any, a server. `server` names it, and is asked only where a line is written.
    pub(crate) fn trouble(
        &self,
        fault: &Fault,
        fate: Option<Fate>,
        server: impl FnOnce() -> String,
    ) {
        let (mut said, now) =
            (self.0.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        let begins = said.trouble.is_none();
        let lately = |last: Instant| now.saturating_duration_since(last) < PAUSE;
        let tells = !said.last_line.is_some_and(lately);
        let fresh = Trouble { since: now, last: now, alone: 0, failed: 0, told: false };
        let trouble = said.trouble.get_or_insert(fresh);
        trouble.last = now;
        trouble.told |= tells;
        match fate {
            Some(Fate::Alone) => trouble.alone = trouble.alone.saturating_add(1),
            Some(Fate::Failed) => trouble.failed = trouble.failed.saturating_add(1),
            None => {}
        }
        let (since, alone, failed) = (trouble.since, trouble.alone, trouble.failed);
        if !tells {
            return;
        }
        said.last_line = Some(now);
        drop(said);
        let server = server();
        if begins {
            tracing::warn!(
                class = fault.class().name(),
                server,
                "the shared budgets cannot be asked: {fault}; each limit's on_error decides"
            );
        } else {
            let lasting_seconds = now.saturating_duration_since(since).as_secs();
            tracing::warn!(
                class = fault.class().name(),
                server,
                lasting_seconds,
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
        let Some(trouble) = said.trouble.take() else { return };
        drop(said);
        let Trouble { since, last, alone, failed, told } = trouble;
        if !told {
            return;
        }
        let lasted_seconds = last.saturating_duration_since(since).as_secs_f64();
        tracing::info!(lasted_seconds, alone, failed, "the shared budgets are asked again");
    }
}
