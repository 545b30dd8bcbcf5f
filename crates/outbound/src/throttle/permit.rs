//! What a call holds while it is underway.

use std::fmt;

use tollgate_core::StoreError;

use super::paid::Paid;
use super::stage::Stage;

/// Leave to go, for as long as it is held: dropped, it lets the next one go.
///
/// A permit cannot leak: whatever ends the call (an answer, an error, a panic, a dropped future) drops
/// it. What was charged stays charged, unless the permit is given back.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use tollgate_core::{Limit, Limiter};
/// # use tollgate_memory::Memory;
/// # use tollgate_outbound::Throttle;
/// let limiter = Limiter::<Memory>::new([Limit::new("tokens", "1000/day".parse()?)?]);
/// let throttle = Throttle::over(limiter.clone());
/// throttle.acquire("model", 300).await?.settle(120).await?; // it took fewer than were estimated
/// throttle.acquire("model", 300).await?.give_back(); // the call was not made after all
/// assert_eq!(limiter.peek("model", 0).remaining(), 880);
/// # Ok(())
/// # }
/// ```
#[must_use = "a permit that is dropped at once limits nothing in flight"]
pub struct Permit {
    // The charge first: who waits is woken by the holds.
    paid: Paid,
    /// Of the throttles that were passed before the last, to be dropped with it.
    _before: Vec<Hold>,
    hold: Hold,
}

impl Permit {
    pub(super) fn new(hold: Hold, paid: Paid) -> Permit {
        Permit { paid, _before: Vec::new(), hold }
    }

    /// The same of one that was passed through other throttles before.
    pub(super) fn behind(self, before: impl IntoIterator<Item = Hold>) -> Permit {
        Permit { _before: before.into_iter().collect(), ..self }
    }

    /// Gives back what was charged, for a call that was not made after all. In a bucket that is as
    /// much as has not leaked away since; in a window, all of it, if the window has not ended.
    pub fn give_back(mut self) {
        let paid = std::mem::take(&mut self.paid);
        let Stage { shared, key } = &self.hold.stage;
        shared.give_back(key, paid);
    }

    /// Replaces what was charged by what the call has turned out to cost, and ends it.
    ///
    /// # Errors
    /// When a store could not be asked: its charge stays as it was.
    pub async fn settle(mut self, actual: u64) -> Result<(), StoreError> {
        let (paid, stage) = (std::mem::take(&mut self.paid), self.hold.stage.clone());
        // A store may have heard of it also where it fails, or this is dropped.
        let _then = paid.forgiving(move || stage.forgive());
        paid.settle(actual).await
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("charged", &self.paid).finish_non_exhaustive()
    }
}

/// A place in flight under one key of one throttle; dropped, it is free.
pub(super) struct Hold {
    stage: Stage,
    turn: Passed,
}

/// Whether others may go before this one has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passed {
    Yes,
    No,
}

impl Hold {
    pub(super) fn new(stage: Stage) -> Hold {
        Hold { stage, turn: Passed::Yes }
    }

    /// One that nobody passes before [`Hold::pass_on`].
    pub(super) fn with_turn(stage: Stage) -> Hold {
        Hold { stage, turn: Passed::No }
    }

    /// Lets the next one go, if there is room for it.
    pub(super) fn pass_on(mut self) -> Hold {
        self.turn = Passed::Yes;
        self.stage.shared.with(|lines| lines.pass_on(&self.stage.key));
        self
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Stage { shared, key } = &self.stage;
        shared.with(|lines| {
            if self.turn == Passed::No {
                lines.pass_on(key);
            }
            lines.release(key);
        });
    }
}
