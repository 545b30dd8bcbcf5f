//! The task that asks the store for one line, and sleeps for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::time::Instant;

use super::ask;
use super::shared::Shared;
use super::step::{Start, Step};
use super::wish::{Answer, Question};
use crate::key::OwnKey;
use crate::sync::{Runtime, Timer, now, timer};

/// Starts the driver of a line, unless it has one.
///
/// # Panics
/// Outside a tokio runtime with timers.
pub(crate) fn start(shared: &Arc<Shared>, key: &Arc<OwnKey>) {
    // Both before the line is told: without them nobody would drive it.
    let (runtime, timer) = (Runtime::here(), Box::pin(timer(now())));
    if shared.with(|lines| lines.start_driver(key)) == Start::Yes {
        let (shared, key) = (Arc::clone(shared), Arc::clone(key));
        runtime.spawn(Driver { shared, key, timer, armed: None, asked: None, work: Work::Left });
    }
}

/// The driver of a line. It lives as long as anybody waits there.
struct Driver {
    shared: Arc<Shared>,
    key: Arc<OwnKey>,
    timer: Pin<Box<Timer>>,
    /// For when the timer is set.
    armed: Option<Instant>,
    /// What a store that is elsewhere is being asked.
    asked: Option<Pin<Box<dyn Future<Output = Answer> + Send>>>,
    work: Work,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Left,
    Done,
}

impl Driver {
    fn ask(&self, question: Question) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
        let own = self.shared.part(&self.key);
        Box::pin(async move {
            let Question { cost, patience, terms, .. } = question;
            let parts = terms.as_ref().map_or(own.as_slice(), |terms| terms.parts());
            ask::ask(parts, cost, patience).await
        })
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(asked) = &mut self.asked {
                let answer = ready!(asked.as_mut().poll(context));
                self.asked = None;
                self.shared.with(|lines| lines.answered(&self.key, answer));
            }
            match self.shared.step(&self.key, context.waker()) {
                Step::Ask(question) => self.asked = Some(self.ask(question)),
                Step::At(due) => {
                    if self.armed != Some(due) {
                        self.timer.as_mut().reset(due);
                        self.armed = Some(due);
                    }
                    ready!(self.timer.as_mut().poll(context));
                    // One that ended early is armed again, for what is left.
                    self.armed = None;
                }
                Step::Parked => return Poll::Pending,
                Step::More => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Step::Over => {
                    self.work = Work::Done;
                    return Poll::Ready(());
                }
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if self.work == Work::Left {
            self.shared.with(|lines| lines.driver_gone(&self.key));
        }
    }
}
