//! One call, from its turn to its last try.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use tokio::time::{Instant, sleep, timeout_at};
use tollgate_core::Span;

use super::errand::{Copies, Delivered, Errand};
use super::failure::{BoxError, Failure};
use super::holds::SharedHolds;
use super::known::{Pace, later};
use super::line::{Departed, Line, Turn};
use super::lines::Lines;
use super::patience::{End, Patience};
use super::unless::unless;
use crate::breaker::Breakers;
use crate::error::{CallError, Error, Kind};
use crate::retry::{Repeat, Repeats, Retry, Tries};
use crate::throttle::{Permit, Throttle};
use crate::told::Told;
use crate::wall;

/// How many keys are known at once unless said otherwise.
const KEYS: usize = 1024;

/// Paces and repeats calls, whatever the client that makes them: what [`ClientLayer`] is made of, for
/// clients that are no tower services.
///
/// Clones share what servers told.
///
/// [`ClientLayer`]: crate::ClientLayer
#[derive(Clone, Debug)]
pub struct Courier {
    lines: Arc<Lines>,
    longest_wait: Span,
    longest_hold: Span,
    within: Option<Span>,
    retry: Option<Retry>,
    holds: Option<SharedHolds>,
    throttle: Option<Throttle>,
    circuits: Option<Breakers>,
}

impl Default for Courier {
    /// Waits of 30 s at most, holds of a day at most, 1,024 keys, no tries again.
    fn default() -> Courier {
        Courier {
            lines: Arc::new(Lines::new(KEYS)),
            longest_wait: Span::from_secs(30),
            longest_hold: Span::DAY,
            within: None,
            retry: None,
            holds: None,
            throttle: None,
            circuits: None,
        }
    }
}

impl Courier {
    /// The longest that a call waits before a try because of what its server told; one that would wait
    /// longer fails at once, or as soon as that is known.
    #[must_use]
    pub fn longest_wait(self, longest: impl Into<Span>) -> Courier {
        Courier { longest_wait: longest.into(), ..self }
    }

    /// For how long what a server tells is believed. After that one call asks again.
    #[must_use]
    pub fn longest_hold(self, longest: impl Into<Span>) -> Courier {
        Courier { longest_hold: longest.into(), ..self }
    }

    /// How long a call may take in all, with its waits and tries, up to the head of its answer.
    #[must_use]
    pub fn within(self, span: impl Into<Span>) -> Courier {
        Courier { within: Some(span.into()), ..self }
    }

    /// How many keys are known at once; 0 is 1. Those that nothing is known of are forgotten first.
    #[must_use]
    pub fn keys(self, most: usize) -> Courier {
        Courier { lines: Arc::new(Lines::new(most)), ..self }
    }

    /// Makes calls again that failed.
    #[must_use]
    pub fn retry(self, retry: Retry) -> Courier {
        Courier { retry: Some(retry), ..self }
    }

    /// Shares what holds all calls with other processes.
    #[must_use]
    pub fn share_holds(self, holds: SharedHolds) -> Courier {
        Courier { holds: Some(holds), ..self }
    }

    /// Takes a permit of this throttle for each try, at cost 1 under the key of the call; it is held
    /// until the answer's body has ended. What the server told is waited out before.
    #[must_use]
    pub fn throttle(self, throttle: Throttle) -> Courier {
        Courier { throttle: Some(throttle), ..self }
    }

    /// Turns calls away that wait here when the circuit of their key, without its scheme, opens, and
    /// tries none again while it is open. Whoever calls asks the circuit before, and reports to it.
    #[must_use]
    pub fn circuits(self, breakers: Breakers) -> Courier {
        Courier { circuits: Some(breakers), ..self }
    }

    /// Makes a call of this method under `key`: waits for its turn, tries, and tries again.
    ///
    /// The answer is given back whatever its status; if no other try is made also one that refuses.
    /// Dropped at any point, it leaves nothing behind.
    ///
    /// # Errors
    /// [`CallError::NotMade`] when not one try was made; [`CallError::Failed`] when the last one brought
    /// no answer, or an [`Error`] that is late or busy kept another from being made.
    pub async fn deliver<E: Errand>(
        &self,
        key: &str,
        method: &Method,
        repeat: Repeat,
        mut errand: E,
    ) -> Result<Delivered<E::Answer>, CallError<Failure>> {
        let line = self.lines.of(key);
        let deadline = self.within.map(|within| later(Instant::now(), within));
        let repeats = if repeat.allows(method) { Repeats::Allowed } else { Repeats::OnlyUnsent };
        let mut tries = self.retry.as_ref().map(|retry| Tries::new(retry, repeats));
        let first = self.depart(key, &line, deadline).await;
        let (mut departed, mut permit) = first.map_err(CallError::NotMade)?;
        line.first_try();
        loop {
            let copy = match &tries {
                Some(tries) if tries.may_follow() => Copies::Keep,
                _ => Copies::None,
            };
            let (outcome, wait) = match in_time(errand.send(copy), deadline).await {
                Ok(answer) => {
                    let (status, headers) = E::head(&answer);
                    let told = Told::read(status, headers, wall::now());
                    self.learn(key, departed, &told, deadline).await;
                    let wait = tries.as_mut().and_then(|tries| tries.after_answer(status, &told));
                    (Ok(Delivered { answer, told, permit }), wait)
                }
                Err(error) => {
                    drop((departed, permit));
                    let wait = tries.as_mut().and_then(|tries| tries.after_failure(&*error));
                    (Err(CallError::Failed(error.into())), wait)
                }
            };
            let (Some(wait), Some(retry)) = (wait, &self.retry) else { return outcome };
            if !errand.can_be_sent() || !self.fits(wait.max(line.free_in()), deadline) {
                return outcome;
            }
            let Some(another) = line.another_try(retry.budgeted()) else { return outcome };
            // The connection, and whatever else the answer holds, is free meanwhile.
            drop(outcome);
            sleep(Duration::from(wait)).await;
            let failed = |error: Error| CallError::Failed(error.into());
            (departed, permit) = self.depart(key, &line, deadline).await.map_err(failed)?;
            another.made();
        }
    }

    #[cfg(test)]
    pub(super) fn line(&self, key: &str) -> Arc<Line> {
        self.lines.of(key)
    }

    /// Waits until a call may leave, and lets it, unless its circuit is open or opens before.
    async fn depart<'l>(
        &self,
        key: &str,
        line: &'l Line,
        deadline: Option<Instant>,
    ) -> Result<(Departed<'l>, Option<Permit>), Error> {
        let departing = self.wait(key, line, deadline);
        let Some(breakers) = &self.circuits else { return departing.await };
        let place = key.split_once("://").map_or(key, |(_, place)| place);
        let mut departing = pin!(departing);
        loop {
            // From before the look at the circuit, so that no opening is missed.
            let opening = breakers.opening();
            if let Some(open) = breakers.bars(place) {
                return Err(open);
            }
            if let Some(departed) = unless(opening, departing.as_mut()).await {
                return departed;
            }
        }
    }

    async fn wait<'l>(
        &self,
        key: &str,
        line: &'l Line,
        deadline: Option<Instant>,
    ) -> Result<(Departed<'l>, Option<Permit>), Error> {
        let mut patience = Patience::new(self.longest_wait, deadline);
        let asks = self.holds.is_some() || self.throttle.is_some();
        let mut kept = None;
        loop {
            let turn = line.turn(kept.take(), &mut patience).await?;
            // From before the look at the pace, so that no change of it is missed.
            let slowed = line.slowed();
            // Whoever asks elsewhere lets the next one ask too; a throttle has lines of its own. But
            // where calls leave one by one, those who ask before their turn would ask in vain.
            let turn = Some(turn).filter(|_| !asks || line.pace() == Pace::Slow);
            if let Some(held) = self.held(key, line, turn.as_ref(), &mut patience).await? {
                line.hold(held);
                kept = turn;
                continue;
            }
            let permit = match &self.throttle {
                None => None,
                Some(throttle) => {
                    let (permit, since) = (self.permit(throttle, key, deadline), Instant::now());
                    let permit = line.wait_for(permit, turn.as_ref(), slowed).await;
                    patience.lengthen(since.elapsed());
                    let Some(permit) = permit else { continue };
                    Some(permit?)
                }
            };
            if let Some(departed) = line.depart() {
                return Ok((departed, permit));
            }
            // Something was told meanwhile that has to be waited for.
            if let Some(permit) = permit {
                permit.give_back();
            }
            kept = turn;
        }
    }

    async fn permit(
        &self,
        throttle: &Throttle,
        key: &str,
        deadline: Option<Instant>,
    ) -> Result<Permit, Error> {
        let call = throttle.call(key);
        let call = match deadline {
            Some(deadline) => call.within(deadline.saturating_duration_since(Instant::now())),
            None => call,
        };
        call.acquire().await
    }

    /// How long another process was told to wait, as far as a server is believed; nothing, if the store
    /// does not answer.
    async fn held(
        &self,
        key: &str,
        line: &Line,
        turn: Option<&Turn<'_>>,
        patience: &mut Patience,
    ) -> Result<Option<Span>, Error> {
        let Some(holds) = &self.holds else { return Ok(None) };
        let _visit = turn.map(|turn| line.visit(turn));
        let since = Instant::now();
        let held = timeout_at(patience.until(), holds.held(key)).await;
        let is_late = held.is_err() && patience.end() == End::Deadline;
        patience.lengthen(since.elapsed());
        match held {
            Err(_) if is_late => Err(Kind::Late.into()),
            held => {
                let held = held.ok().flatten().map(|span| span.min(self.longest_hold));
                Ok(held.filter(|span| !span.is_zero()))
            }
        }
    }

    async fn learn(
        &self,
        key: &str,
        departed: Departed<'_>,
        told: &Told,
        deadline: Option<Instant>,
    ) {
        let held = departed.answered(told, self.longest_hold).filter(|span| !span.is_zero());
        if let (Some(holds), Some(span)) = (&self.holds, held) {
            let until = Patience::new(self.longest_wait, deadline).until();
            drop(timeout_at(until, holds.hold(key, span)).await);
        }
    }

    /// Whether the caller would rather wait this long than have what there is.
    fn fits(&self, wait: Span, deadline: Option<Instant>) -> bool {
        let before = |deadline| later(Instant::now(), wait) < deadline;
        wait <= self.longest_wait && deadline.is_none_or(before)
    }
}

/// What comes of a try before the deadline.
async fn in_time<A>(
    sent: impl Future<Output = Result<A, BoxError>>,
    deadline: Option<Instant>,
) -> Result<A, BoxError> {
    match deadline {
        None => sent.await,
        Some(deadline) => match timeout_at(deadline, sent).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::from(Kind::Late).into()),
        },
    }
}
