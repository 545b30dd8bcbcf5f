//! The task that asks the store for one line, and sleeps for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::alarm::Alarm;
use super::ask;
use super::part::OwnPart;
use super::shared::Shared;
use super::step::{Start, Step};
use super::wish::{Answer, Question};
use crate::key::OwnKey;
use crate::sync::Runtime;

/// Starts the driver of a line, unless it has one.
///
/// # Panics
/// Outside a tokio runtime with timers.
pub(crate) fn start(shared: &Arc<Shared>, key: &Arc<OwnKey>) {
    // Both before the line is told: without them nobody would drive it.
    let (runtime, alarm) = (Runtime::here(), Alarm::new());
    if shared.with(|lines| lines.start_driver(key)) == Start::Yes {
        let (shared, key) = (Arc::clone(shared), Arc::clone(key));
        runtime.spawn(Driver { shared, key, alarm, asked: None, work: Work::Left });
    }
}

/// The driver of a line. It lives as long as anybody waits there.
struct Driver {
    shared: Arc<Shared>,
    key: Arc<OwnKey>,
    alarm: Alarm,
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
            let parts = match &terms {
                Some(terms) => terms.parts(),
                None => own.iter().map(OwnPart::lent).collect(),
            };
            ask::ask(&parts, cost, patience).await
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
                Step::At(due) => ready!(self.alarm.poll(due, context)),
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
