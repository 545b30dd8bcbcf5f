//! Several limits, one decision: all are charged or none.

mod kept;
mod proof;

use crate::algorithm::{Charged, Patience, Ruling, State, Step};
use crate::decision::Source;
use crate::key::Key;
use crate::limit::Limit;

pub use kept::KeptReceipt;
pub use proof::Proof;

/// One cost on one key of one limit.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'l, 'k> {
    /// The limit.
    pub limit: &'l Limit,
    /// Whose budget.
    pub key: Key<'k>,
    /// How much; 0 writes nothing and passes, except under `0/…`.
    pub cost: u64,
    /// Whether a refusal blocks or is only told.
    pub effect: Effect,
    /// Whether the caller can wait its turn in a queue.
    pub patience: Patience,
    /// The wider key beside which a store of many servers keeps this one, so that one of them can
    /// decide both: a client's, for a key of client and route. The key itself unless said.
    pub home: Key<'k>,
}

impl<'l, 'k> Charge<'l, 'k> {
    /// An enforced charge of 1.
    #[inline]
    #[must_use]
    pub fn new(limit: &'l Limit, key: impl Into<Key<'k>>) -> Charge<'l, 'k> {
        let key = key.into();
        Charge { limit, key, cost: 1, effect: Effect::Enforce, patience: Patience::Wait, home: key }
    }

    /// The same charge at another cost.
    #[inline]
    #[must_use]
    pub fn cost(self, cost: u64) -> Charge<'l, 'k> {
        Charge { cost, ..self }
    }

    /// The same charge, only watched.
    #[inline]
    #[must_use]
    pub fn shadow(self) -> Charge<'l, 'k> {
        Charge { effect: Effect::Shadow, ..self }
    }

    /// The same charge, kept beside what is charged to a wider key.
    #[inline]
    #[must_use]
    pub fn beside(self, home: impl Into<Key<'k>>) -> Charge<'l, 'k> {
        Charge { home: home.into(), ..self }
    }

    /// The same charge by a caller that cannot wait in a queue.
    #[inline]
    #[must_use]
    pub fn at_once(self) -> Charge<'l, 'k> {
        Charge { patience: Patience::Now, ..self }
    }
}

/// Whether a limit's refusal refuses the request.
///
/// ```
/// use tollgate_core::algorithm::Ruling;
/// use tollgate_core::{Effect, charge};
/// let watched = [(Effect::Enforce, Ruling::Allow), (Effect::Shadow, Ruling::Never)];
/// assert!(charge::passes(watched));
/// assert!(!charge::passes([(Effect::Enforce, Ruling::Never)]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It does.
    #[default]
    Enforce,
    /// It is decided and told, and never blocks. Charged if and only if it and every enforcing limit
    /// pass.
    Shadow,
}

/// What a decision may write.
///
/// The same ruling, written down in one mode and only told in the other:
///
/// ```
/// use tollgate_core::algorithm::{Ruling, State, Step};
/// use tollgate_core::{Mode, charge::Outcome};
/// let step = Step { ruling: Ruling::Allow, next: State(1, 0) };
/// let outcome = |mode| Outcome::of(mode, true, 1, State::FRESH, &step);
/// assert_eq!(outcome(Mode::Charge), Outcome::Charged);
/// assert_eq!(outcome(Mode::Peek), Outcome::Kept);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// All charges, if all pass.
    #[default]
    Charge,
    /// Nothing: it is told exactly what the charge would be told, `remaining` and `reset_after` too.
    Peek,
    /// As much of the cost as every enforcing limit has left, the same amount on each; refused when
    /// that is 0 (the wait is then until 1 passes). `cost` is the most wanted, the least of the
    /// charges' when they differ.
    UpTo,
}

/// Whether all enforcing charges pass.
#[inline]
pub fn passes(rulings: impl IntoIterator<Item = (Effect, Ruling)>) -> bool {
    rulings.into_iter().all(|(effect, ruling)| effect == Effect::Shadow || ruling.passes())
}

/// What becomes of one charge of a decision.
///
/// A limit that would pass is not charged when another one refuses the request.
///
/// ```
/// use tollgate_core::algorithm::{Ruling, State, Step};
/// use tollgate_core::{Effect, Mode, charge, charge::Outcome};
/// let step = Step { ruling: Ruling::Allow, next: State(1, 0) };
/// let other = Ruling::Deny(500);
/// let passes = charge::passes([(Effect::Enforce, step.ruling), (Effect::Enforce, other)]);
/// assert_eq!(Outcome::of(Mode::Charge, passes, 1, State::FRESH, &step), Outcome::Kept);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The step's state is written: this was charged.
    Charged,
    /// The step's state is written, though nothing was charged: the clock had stepped back.
    ReAnchored,
    /// Nothing is written.
    Kept,
}

impl Outcome {
    /// What becomes of a charge whose key held `state` and got `step`, in a decision that
    /// `passes` or not.
    #[inline]
    #[must_use]
    pub fn of(mode: Mode, decision_passes: bool, cost: u64, state: State, step: &Step) -> Outcome {
        let this_passes = step.ruling.passes();
        if mode == Mode::Peek || cost == 0 {
            Outcome::Kept
        } else if this_passes && decision_passes {
            Outcome::Charged
        } else if !this_passes && step.next != state {
            Outcome::ReAnchored
        } else {
            Outcome::Kept
        }
    }
}

/// The proof of one charge: gives it back, or settles an estimated cost by the actual one.
///
/// Single use. A refund lands in the window it was charged in or nowhere, never below zero; in a
/// bucket it gives back only what has not leaked away since.
///
/// ```
/// use tollgate_core::algorithm::{Patience, Rule, State};
/// use tollgate_core::{Answer, Effect, Key, Limit, Quota, Tick, Verdict};
/// let limit = Limit::new("tokens", Quota::per_minute(100))?;
/// let Rule::Words(rule) = limit.rule() else { unreachable!("a bucket keeps two words") };
/// let (now, key) = (Tick::EPOCH, Key::from("ann"));
/// let at = limit.moment(now, &key);
/// let left = rule.ask(State::FRESH, at, 80, Patience::Wait).next;
/// let mut answer = Answer::new(&limit, Effect::Enforce, Verdict::Allow, 80, left, (now, at));
/// let receipt = answer.take_receipt(key).expect("80 were charged");
/// let settled = rule.give(left, at, &receipt.charged(), 30);
/// assert_eq!(rule.room(settled, at, Patience::Wait), 70);
/// assert!(answer.take_receipt(key).is_none());
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Debug)]
#[must_use = "a receipt that is dropped leaves the charge as it is"]
pub struct Receipt<'k> {
    limit: &'k Limit,
    key: Key<'k>,
    cost: u64,
    left: State,
    source: Source,
    home: Key<'k>,
}

impl<'k> Receipt<'k> {
    pub(crate) fn new(
        limit: &'k Limit,
        key: Key<'k>,
        cost: u64,
        left: State,
        source: Source,
    ) -> Receipt<'k> {
        Receipt { limit, key, cost, left, source, home: key }
    }

    /// Who made the charge: only there can it be given back.
    #[must_use]
    pub fn source(&self) -> Source {
        self.source
    }

    /// The receipt of a share's charge as the share's own.
    pub fn for_share<'s>(self, share: &'s Limit) -> Receipt<'s>
    where
        'k: 's,
    {
        Receipt { limit: share, source: Source::Store, ..self }
    }

    /// The limit that was charged.
    #[must_use]
    pub fn limit(&self) -> &'k Limit {
        self.limit
    }

    /// The key that was charged.
    #[must_use]
    pub fn key(&self) -> Key<'k> {
        self.key
    }

    /// The wider key beside which it was kept: the charge's [`home`](Charge::home).
    #[must_use]
    pub fn home(&self) -> Key<'k> {
        self.home
    }

    /// The receipt of a charge that was made [`beside`](Charge::beside) a wider key.
    pub fn beside(self, home: Key<'k>) -> Receipt<'k> {
        Receipt { home, ..self }
    }

    /// What a rule needs to know of it.
    #[must_use]
    pub fn charged(&self) -> Charged {
        Charged { cost: self.cost, left: self.left, under: *self.limit.rule() }
    }
}
