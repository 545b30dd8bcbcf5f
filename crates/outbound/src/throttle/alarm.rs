//! A timer that is set again and again, for one instant at a time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::time::Instant;

use crate::sync::{Timer, now, timer};

/// A timer, and for when it is set.
pub(super) struct Alarm {
    timer: Pin<Box<Timer>>,
    due: Option<Instant>,
}

impl Alarm {
    /// One that is not set.
    ///
    /// # Panics
    /// Outside a tokio runtime with timers.
    pub(super) fn new() -> Alarm {
        Alarm { timer: Box::pin(timer(now())), due: None }
    }

    /// Waits for this instant, whatever was waited for before.
    pub(super) fn poll(&mut self, due: Instant, context: &mut Context<'_>) -> Poll<()> {
        if self.due != Some(due) {
            self.timer.as_mut().reset(due);
            self.due = Some(due);
        }
        ready!(self.timer.as_mut().poll(context));
        // One that ended early is set again, for what is left.
        self.due = None;
        Poll::Ready(())
    }
}
