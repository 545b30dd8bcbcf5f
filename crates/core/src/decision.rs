//! What was decided, and how it is told.

use core::num::NonZeroU32;

use crate::algorithm::{Moment, Patience, State};
use crate::charge::{Effect, Receipt};
use crate::clock::{Span, Tick};
use crate::few::Few;
use crate::key::Key;
use crate::limit::Limit;

/// What a limit says of one charge.
///
/// A span is counted from the instant of the decision, not from the tick it lies in:
///
/// ```
/// use tollgate_core::algorithm::Ruling;
/// use tollgate_core::{Limit, Quota, Span, Tick, Verdict};
/// let limit = Limit::new("mail", Quota::per_hour(5))?; // ticks of 1 ms
/// let verdict = limit.verdict(Ruling::Deny(2), Tick::from_micros(300));
/// assert_eq!(verdict, Verdict::Deny(Span::from_micros(1_700)));
/// assert!(!verdict.passes());
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It passes at once.
    Allow,
    /// It passes and starts after this wait (only a queue says so).
    Wait(Span),
    /// It is refused; it passes after this span if nothing else is charged meanwhile.
    Deny(Span),
    /// It is refused and can never pass: the cost is above the capacity.
    Never,
}

impl Verdict {
    /// Whether the charge passes, at once or after a wait.
    #[inline]
    #[must_use]
    pub const fn passes(self) -> bool {
        matches!(self, Verdict::Allow | Verdict::Wait(_))
    }
}

/// What one limit answered: its verdict and where its key stands now.
///
/// `remaining` and `reset_after` are computed when they are read, so that a caller who only wants
/// the verdict pays for nothing else.
///
/// As a store makes one of what the rule said:
///
/// ```
/// use tollgate_core::algorithm::{Patience, Rule, State};
/// use tollgate_core::{Answer, Effect, Key, Limit, Quota, Span, Tick};
/// let limit = Limit::new("api", Quota::per_second(10))?;
/// let Rule::Words(rule) = limit.rule() else { unreachable!("a bucket keeps two words") };
/// let now = Tick::EPOCH;
/// let at = limit.moment(now, &Key::from("ann"));
/// let step = rule.ask(State::FRESH, at, 4, Patience::Wait);
/// let verdict = limit.verdict(step.ruling, now);
/// let answer = Answer::new(&limit, Effect::Enforce, verdict, 4, step.next, (now, at));
/// assert_eq!((answer.remaining(), answer.charged()), (6, 4));
/// assert_eq!(answer.reset_after(), Span::from_millis(400));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Debug)]
pub struct Answer<'l> {
    limit: &'l Limit,
    verdict: Verdict,
    effect: Effect,
    charged: u64,
    left: State,
    now: Tick,
    phase: u64,
    source: Source,
    receipt_taken: bool,
}

/// Who decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The store.
    #[default]
    Store,
    /// This instance alone, since the store could not be asked: by its share of the limit among so
    /// many ([`Limit::share`]).
    Share(NonZeroU32),
    /// Nobody: the store could not be asked, and the limit then lets everything pass
    /// ([`OnError::Allow`](crate::OnError::Allow)). There are no numbers to tell.
    Nobody,
}

impl<'l> Answer<'l> {
    /// An answer as a store gives it: `charged` is what was written down (0 for nothing), `left` the
    /// state that now stands, or, in a peek, that the charge would have left. `at` is the moment of
    /// `now` for the key.
    #[inline]
    #[must_use]
    pub fn new(
        limit: &'l Limit,
        effect: Effect,
        verdict: Verdict,
        charged: u64,
        left: State,
        (now, at): (Tick, Moment),
    ) -> Answer<'l> {
        Answer {
            limit,
            verdict,
            effect,
            charged,
            left,
            now,
            phase: at.phase,
            source: Source::Store,
            receipt_taken: false,
        }
    }

    /// The answer of a limit that nobody was asked about: it passes.
    #[must_use]
    pub fn unasked(limit: &'l Limit, effect: Effect, now: Tick) -> Answer<'l> {
        let at = limit.moment_of(now, 0);
        let answer = Answer::new(limit, effect, Verdict::Allow, 0, State::FRESH, (now, at));
        Answer { source: Source::Nobody, ..answer }
    }

    /// The answer of a share as the whole limit's.
    #[must_use]
    pub fn for_whole<'w>(self, whole: &'w Limit, replicas: NonZeroU32) -> Answer<'w> {
        Answer { limit: whole, source: Source::Share(replicas), ..self }
    }

    /// Who decided.
    #[inline]
    #[must_use]
    pub fn source(&self) -> Source {
        self.source
    }

    /// The limit that was asked.
    #[inline]
    #[must_use]
    pub fn limit(&self) -> &'l Limit {
        self.limit
    }

    /// What it says.
    #[inline]
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Whether it enforces or only watches.
    #[inline]
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// What is left, 0 to [`Limit::capacity`], this charge taken into account.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.told(|limit, at| limit.remaining(self.left, at, Patience::Wait))
    }

    /// The same for a caller that cannot wait in a queue ([`Charge::at_once`](crate::Charge::at_once)),
    /// 0 to [`Limit::capacity_at_once`]: the places of the queue are not for it.
    #[must_use]
    pub fn remaining_at_once(&self) -> u64 {
        self.told(|limit, at| limit.remaining(self.left, at, Patience::Now))
    }

    /// How long until the key owes nothing, if nothing more is charged; from then on its state may
    /// be forgotten.
    #[must_use]
    pub fn reset_after(&self) -> Span {
        self.told(|limit, at| match limit.reset_after(self.left, at) {
            0 => Span::ZERO,
            ticks => limit.span(ticks, self.now),
        })
    }

    /// How long until the charge passes; `None` when it passed or never can.
    #[must_use]
    pub fn retry_after(&self) -> Option<Span> {
        match self.verdict {
            Verdict::Deny(span) => Some(span),
            _ => None,
        }
    }

    /// The instant of the decision, by the store's clock.
    #[must_use]
    pub fn now(&self) -> Tick {
        self.now
    }

    /// The state that the key was left in.
    #[must_use]
    pub fn state(&self) -> State {
        self.left
    }

    /// What was charged: the cost, or 0 after a refusal or a peek.
    #[must_use]
    pub fn charged(&self) -> u64 {
        self.charged
    }

    /// Tells something by the limit that decided: a share has numbers of its own.
    fn told<T>(&self, tell: impl FnOnce(&Limit, Moment) -> T) -> T {
        match self.source {
            Source::Store | Source::Nobody => {
                tell(self.limit, self.limit.moment_of(self.now, self.phase))
            }
            Source::Share(replicas) => {
                let share = self.limit.share(replicas);
                tell(&share, share.moment_of(self.now, self.phase))
            }
        }
    }

    /// Whether the request passes as far as this limit is asked.
    #[inline]
    fn lets_pass(&self) -> bool {
        self.effect == Effect::Shadow || self.verdict.passes()
    }

    /// The proof of the charge, to give it back or settle it: once, and only if something was
    /// charged. `key` must be the key that was charged.
    #[must_use]
    pub fn take_receipt<'k>(&mut self, key: Key<'k>) -> Option<Receipt<'k>>
    where
        'l: 'k,
    {
        let unspent = self.charged > 0 && !core::mem::replace(&mut self.receipt_taken, true);
        unspent.then(|| Receipt::new(self.limit, key, self.charged, self.left, self.source))
    }
}

/// The answer to one request: all its limits passed, or one refused.
///
/// A refusal is a value like any other. Every number here comes from one reading of the store.
///
/// The limit that refuses longest is the one the client is told of.
///
/// ```
/// use tollgate_core::algorithm::State;
/// use tollgate_core::{Answer, Decision, Effect, Key, Limit, Quota, Span, Tick, Verdict};
/// let (second, hour) =
///     (Limit::new("second", Quota::per_second(1))?, Limit::new("hour", Quota::per_hour(60))?);
/// let refused = |limit, after| {
///     let (now, at) = (Tick::EPOCH, Limit::moment(limit, Tick::EPOCH, &Key::from("ann")));
///     Answer::new(limit, Effect::Enforce, Verdict::Deny(after), 0, State::FRESH, (now, at))
/// };
/// let answers = [refused(&second, Span::SECOND), refused(&hour, Span::MINUTE)];
/// let decision = Decision::new(answers.into_iter().collect(), 1);
/// assert!(decision.is_denied());
/// assert_eq!(decision.retry_after(), Some(Span::MINUTE));
/// assert_eq!(decision.decisive().map(|answer| answer.limit().name()), Some("hour"));
/// assert_eq!(decision.granted(), 0);
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Debug)]
pub struct Decision<'l> {
    answers: Few<Answer<'l>>,
    granted: u64,
    passes: bool,
}

impl<'l> Decision<'l> {
    /// A decision over these answers; `granted` is what was, or would be, taken of each.
    #[inline]
    #[must_use]
    pub fn new(answers: Few<Answer<'l>>, granted: u64) -> Decision<'l> {
        let passes = answers.iter().all(Answer::lets_pass);
        Decision { answers, granted, passes }
    }

    /// A decision of one limit.
    #[inline]
    #[must_use]
    pub fn of_one(answer: Answer<'l>, granted: u64) -> Decision<'l> {
        let passes = answer.lets_pass();
        Decision { answers: Few::one(answer), granted, passes }
    }

    /// Whether the request passes, at once or after [`Decision::wait`].
    #[inline]
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.passes
    }

    /// Whether a limit refuses.
    #[inline]
    #[must_use]
    pub fn is_denied(&self) -> bool {
        !self.is_allowed()
    }

    /// Whether the store could not be asked about some limit, so that this instance decided alone.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.answers.iter().any(|answer| answer.source != Source::Store)
    }

    /// All limits' verdicts as one: any `Never` rules, else the longest refusal, else the longest
    /// wait.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.decisive().map_or(Verdict::Allow, |answer| match answer.verdict {
            Verdict::Allow | Verdict::Wait(_) if self.wait().is_zero() => Verdict::Allow,
            Verdict::Allow | Verdict::Wait(_) => Verdict::Wait(self.wait()),
            refusal => refusal,
        })
    }

    /// How long an allowed request waits before it starts: the longest wait; zero without a queue.
    #[must_use]
    pub fn wait(&self) -> Span {
        let waits = self.enforcing().map(|answer| match answer.verdict {
            Verdict::Wait(span) => span,
            _ => Span::ZERO,
        });
        waits.max().unwrap_or(Span::ZERO)
    }

    /// How long until a refused request passes: the largest of its limits'; `None` when it passed or
    /// never can.
    #[must_use]
    pub fn retry_after(&self) -> Option<Span> {
        self.decisive().and_then(Answer::retry_after)
    }

    /// The least that any enforcing limit has left; `u64::MAX` without limits.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.enforcing().map(Answer::remaining).min().unwrap_or(u64::MAX)
    }

    /// How long until the decisive limit's key owes nothing.
    #[must_use]
    pub fn reset_after(&self) -> Span {
        self.decisive().map_or(Span::ZERO, Answer::reset_after)
    }

    /// How much was granted: the cost asked, what was left of it in an "up to" decision, or 0.
    #[must_use]
    pub fn granted(&self) -> u64 {
        if self.is_allowed() { self.granted } else { 0 }
    }

    /// The one limit that single-valued headers speak of: the refusing one with the largest
    /// `retry_after` (one that never passes before all), else the one with the least left. `None`
    /// when no enforcing limit was asked.
    #[must_use]
    pub fn decisive(&self) -> Option<&Answer<'l>> {
        let refusing = self.enforcing().filter(|answer| !answer.verdict.passes());
        refusing
            .max_by_key(|answer| answer.retry_after().unwrap_or(Span::from_micros(u64::MAX)))
            .or_else(|| self.enforcing().min_by_key(|answer| answer.remaining()))
    }

    /// Every limit's answer, in the order they were asked, shadow limits among them.
    pub fn answers(&self) -> impl Iterator<Item = &Answer<'l>> {
        self.answers.iter()
    }

    /// The same, so that receipts can be taken of them.
    pub fn answers_mut(&mut self) -> impl Iterator<Item = &mut Answer<'l>> {
        self.answers.iter_mut()
    }

    /// The answers alone.
    pub fn into_answers(self) -> impl Iterator<Item = Answer<'l>> {
        self.answers.into_iter()
    }

    #[inline]
    fn enforcing(&self) -> impl Iterator<Item = &Answer<'l>> {
        self.answers
            .iter()
            .filter(|answer| answer.effect == Effect::Enforce && answer.source != Source::Nobody)
    }
}
