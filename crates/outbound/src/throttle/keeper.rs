//! The task that speaks for this process about one key of permits shared with others.

use std::future::Future;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tollgate_core::{Held, Hold, StoreError};

use super::alarm::Alarm;
use super::lease::{Keep, Message};
use super::rules::Sharing;
use super::shared::Shared;
use super::step::Start;
use crate::dice;
use crate::key::OwnKey;
use crate::sync::Runtime;

/// After how many milliseconds it asks again for permits that others have: nobody here is told when
/// they come back. Drawn at random, so that processes do not ask in step.
const PAUSE: RangeInclusive<u64> = 50..=150;

/// Starts the keeper of a line, unless it has one.
///
/// # Panics
/// Outside a tokio runtime with timers.
pub(crate) fn start(shared: &Arc<Shared>, key: &Arc<OwnKey>) {
    let Some(sharing) = shared.sharing.clone() else { return };
    // Both before the line is told: without them nobody would speak for it.
    let (runtime, alarm) = (Runtime::here(), Alarm::new());
    if shared.with(|lines| lines.start_keeper(key)) == Start::Yes {
        let (shared, key) = (Arc::clone(shared), Arc::clone(key));
        runtime.spawn(Keeper { shared, key, sharing, alarm, said: None, over: Over::No });
    }
}

type Said = Pin<Box<dyn Future<Output = Result<Held, StoreError>> + Send>>;

/// The keeper of a line's shared permits. It lives until nothing is in use here and that is known where
/// the permits are counted, or the lease has ended.
struct Keeper {
    shared: Arc<Shared>,
    key: Arc<OwnKey>,
    sharing: Sharing,
    alarm: Alarm,
    said: Option<Said>,
    over: Over,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Yes,
    No,
}

impl Keeper {
    fn say(&self, message: Message, turn: u64) -> Said {
        let (sharing, key) = (self.sharing.clone(), Arc::clone(&self.key));
        Box::pin(async move {
            let hold = Hold {
                name: &sharing.name,
                key: key.lent(),
                limit: sharing.most,
                holder: sharing.holder,
                turn,
                held: message.held,
                wanted: message.wanted,
                lease: sharing.lease.into(),
            };
            sharing.permits.hold(hold).await
        })
    }
}

impl Future for Keeper {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(said) = &mut self.said {
                let answer = ready!(said.as_mut().poll(context));
                self.said = None;
                let pause = Duration::from_millis(dice::between(PAUSE));
                self.shared.with(|lines| lines.kept(&self.key, answer, pause));
            }
            let (keep, turn) = self.shared.keep(&self.key, context.waker());
            match keep {
                Keep::Say(message) => self.said = Some(self.say(message, turn)),
                Keep::Parked => return Poll::Pending,
                Keep::At(due) => ready!(self.alarm.poll(due, context)),
                Keep::Over => {
                    self.over = Over::Yes;
                    return Poll::Ready(());
                }
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if self.over == Over::No {
            self.shared.with(|lines| lines.keeper_gone(&self.key));
        }
    }
}
