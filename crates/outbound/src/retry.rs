//! When a failed call is made again, and when not.

mod backoff;
mod budget;
mod repeat;
mod unsent;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use http::StatusCode;
use tollgate_core::Span;

use crate::told::Told;

pub use backoff::Backoff;
pub use budget::RetryBudget;
pub(crate) use budget::{Entry, Ledger};
pub use repeat::Repeat;

/// How and when a failed call is made again.
///
/// Only what is safe: a call that may be made twice ([`Repeat`]), whose body can be had again, and that
///
/// * was refused by a limit (429, Envoy's mark, GitHub's 403), or answered 408, 425, 502, 503 or 504, or
/// * failed without an answer.
///
/// A call that may not be made twice is made again only when nothing of it was sent: the connection was
/// refused, or [`unsent`](Retry::unsent) knows better. 421 is not tried again, since that would take
/// another connection, and 500 neither, since it most often fails again.
///
/// The wait is at least what the server told, never less, with the drawn wait on top, so that those who
/// were told the same do not come at the same time. Where that would be longer than
/// [`longest_wait`](Retry::longest_wait), the caller has the answer as it is, now. `Retry-After: 0` still
/// waits the [`least`](Retry::least).
///
/// Each key has its own [`RetryBudget`]: an outage of one host takes no tries from another.
///
/// ```
/// use tollgate_core::Span;
/// use tollgate_outbound::{Backoff, Retry, RetryBudget};
/// let retry = Retry::default()
///     .tries(5)
///     .backoff(Backoff::decorrelated(Span::from_millis(50), Span::from_secs(5)))
///     .longest_wait(Span::from_secs(10))
///     .budget(RetryBudget::percent(5));
/// ```
#[derive(Clone)]
pub struct Retry {
    tries: u32,
    backoff: Backoff,
    least: Span,
    longest_wait: Span,
    budget: RetryBudget,
    unsent: Option<Arc<Unsent>>,
}

type Unsent = dyn Fn(&(dyn Error + 'static)) -> bool + Send + Sync;

impl Default for Retry {
    /// Three tries, full jitter from 100 ms to 10 s, waits from 50 ms to 30 s, a budget of 10 %.
    fn default() -> Retry {
        Retry {
            tries: 3,
            backoff: Backoff::default(),
            least: Span::from_millis(50),
            longest_wait: Span::from_secs(30),
            budget: RetryBudget::default(),
            unsent: None,
        }
    }
}

impl Retry {
    /// So many tries in all, the first among them; 0 is 1.
    #[must_use]
    pub fn tries(self, tries: u32) -> Retry {
        Retry { tries: tries.max(1), ..self }
    }

    /// How waits are drawn.
    #[must_use]
    pub fn backoff(self, backoff: Backoff) -> Retry {
        Retry { backoff, ..self }
    }

    /// The shortest wait before a try, whatever is drawn or told.
    #[must_use]
    pub fn least(self, least: impl Into<Span>) -> Retry {
        Retry { least: least.into(), ..self }
    }

    /// The longest wait before a try, bounded by that of the client too. A server that tells of a longer
    /// one gets no other try.
    #[must_use]
    pub fn longest_wait(self, longest: impl Into<Span>) -> Retry {
        Retry { longest_wait: longest.into(), ..self }
    }

    /// How many of all calls may be tries again.
    #[must_use]
    pub fn budget(self, budget: RetryBudget) -> Retry {
        Retry { budget, ..self }
    }

    /// Errors that mean that nothing was sent, beside a refused connection: such a call is made again
    /// even if it may not be made twice. Asked with the error and with each of its sources.
    ///
    /// ```
    /// use hyper_util::client::legacy::Error;
    /// use tollgate_outbound::Retry;
    /// let retry = Retry::default()
    ///     .unsent(|error| error.downcast_ref::<Error>().is_some_and(Error::is_connect));
    /// ```
    #[must_use]
    pub fn unsent(
        self,
        tells: impl Fn(&(dyn Error + 'static)) -> bool + Send + Sync + 'static,
    ) -> Retry {
        Retry { unsent: Some(Arc::new(tells)), ..self }
    }

    pub(crate) fn budgeted(&self) -> RetryBudget {
        self.budget
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Retry { tries, backoff, least, longest_wait, budget, unsent: _ } = self;
        f.debug_struct("Retry")
            .field("tries", tries)
            .field("backoff", backoff)
            .field("least", least)
            .field("longest_wait", longest_wait)
            .field("budget", budget)
            .finish_non_exhaustive()
    }
}

/// The tries of one call.
#[derive(Debug)]
pub(crate) struct Tries<'r> {
    retry: &'r Retry,
    repeat: Repeats,
    failed: u32,
    drawn: Option<Span>,
}

/// Whether the call may be made twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    Allowed,
    OnlyUnsent,
}

impl<'r> Tries<'r> {
    pub(crate) fn new(retry: &'r Retry, repeat: Repeats) -> Tries<'r> {
        Tries { retry, repeat, failed: 0, drawn: None }
    }

    /// Whether another try may follow the one that is made now.
    pub(crate) fn may_follow(&self) -> bool {
        self.failed + 1 < self.retry.tries
    }

    /// How long to wait before the next try after this answer; `None` when it is the caller's.
    pub(crate) fn after_answer(&mut self, status: StatusCode, told: &Told) -> Option<Span> {
        let may_help = told.is_refusal() || matches!(status.as_u16(), 408 | 425 | 502 | 503 | 504);
        if !may_help || self.repeat != Repeats::Allowed {
            return None;
        }
        self.wait(told.retry_after())
    }

    /// How long to wait before the next try after this failure; `None` when it is the caller's.
    pub(crate) fn after_failure(&mut self, error: &(dyn Error + 'static)) -> Option<Span> {
        let retry = self.retry;
        if self.repeat == Repeats::Allowed || unsent::tells(error, retry.unsent.as_deref()) {
            return self.wait(None);
        }
        None
    }

    fn wait(&mut self, told: Option<Span>) -> Option<Span> {
        if !self.may_follow() {
            return None;
        }
        let Retry { backoff, least, longest_wait, .. } = *self.retry;
        let drawn = backoff.draw(self.failed, self.drawn);
        let wait = match told {
            None => drawn.max(least).min(longest_wait),
            Some(told) => {
                let told = told.max(least);
                let room = longest_wait.as_micros().checked_sub(told.as_micros())?;
                Span::from_micros(told.as_micros() + drawn.as_micros().min(room))
            }
        };
        self.failed += 1;
        self.drawn = Some(drawn);
        Some(wait)
    }
}

#[cfg(test)]
mod tests;
