//! What a rule is, and the list of rules.
//!
//! A rule is a pure function over a few integers: `(state, now, cost) -> (verdict, next state)`. It
//! reads no clock and holds no lock; a store applies it atomically. State holds *debt*: a key never
//! seen and a key fully recovered are the same state, zero, so forgetting can only mean "back to
//! zero", and [`Answer::reset_after`](crate::Answer::reset_after) says from when that is safe.
//!
//! Inside a rule time is counted in the *ticks* of its limit (1 µs, 1 ms or 1 s, see
//! [`Resolution`]), and everything stays below 2^53, which is proved once, when a limit is built.

mod choice;
mod fixed_window;
mod leaky_bucket;
mod sliding_log;
mod sliding_window;
mod token_bucket;
pub mod twin;

pub use choice::{Algorithm, Anchor, Queue, Resolution};
pub use fixed_window::FixedWindow;
pub(crate) use fixed_window::Start;
pub use leaky_bucket::Patience;
pub use sliding_log::{Log, SlidingLog};
pub use sliding_window::SlidingWindow;
pub use token_bucket::Bucket;

/// What a rule keeps of one key: two integers, zero when it owes nothing.
///
/// Their meaning is the rule's; each rule's page says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State(pub u64, pub u64);

impl State {
    /// A key never seen, or fully recovered.
    pub const FRESH: State = State(0, 0);
}

/// The instant and the key's phase, in ticks, as a rule sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Ticks since the epoch, rounded down.
    pub now: u64,
    /// How far this key's windows are shifted, below the period.
    pub phase: u64,
}

/// What a rule says of one charge, waits in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It passes at once.
    Allow,
    /// It passes, and starts after this many ticks.
    Wait(u64),
    /// It passes at the earliest after this many ticks.
    Deny(u64),
    /// It never passes: the cost is above the capacity.
    Never,
}

impl Ruling {
    /// Whether the charge passes, at once or after a wait.
    #[inline]
    #[must_use]
    pub const fn passes(self) -> bool {
        matches!(self, Ruling::Allow | Ruling::Wait(_))
    }
}

/// A ruling and the state to write if the whole decision passes.
///
/// On a refusal `next` is the state as it was, or re-anchored: the one write a refusal may cause,
/// when the stored time lies so far ahead that the clock must have stepped back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What the rule says.
    pub ruling: Ruling,
    /// The state afterwards.
    pub next: State,
}

/// A rule ready to be applied: numbers proved to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A rule whose state is two words.
    Words(WordRule),
    /// The rule that keeps every charge.
    Log(SlidingLog),
}

/// A rule whose state is two words, kept in place by every store.
///
/// What a store does with one: ask it, and keep the next state if all passes.
///
/// ```
/// use tollgate_core::algorithm::{Patience, Rule, Ruling, State};
/// use tollgate_core::{Key, Limit, Quota, Tick};
/// let limit = Limit::new("api", Quota::per_second(2))?;
/// let Rule::Words(rule) = limit.rule() else { unreachable!("a bucket keeps two words") };
/// let at = limit.moment(Tick::EPOCH, &Key::from("ann"));
/// let two = rule.ask(State::FRESH, at, 2, Patience::Wait);
/// assert_eq!(two.ruling, Ruling::Allow);
/// let third = rule.ask(two.next, at, 1, Patience::Wait);
/// assert_eq!((third.ruling, third.next), (Ruling::Deny(500_000), two.next));
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordRule {
    /// Token bucket, and the leaky bucket as a queue.
    Bucket(Bucket),
    /// Fixed window.
    Fixed(FixedWindow),
    /// Sliding window counter.
    Sliding(SlidingWindow),
    /// `0/…`: nothing passes and nothing is written.
    Never,
}

impl WordRule {
    /// The state after a charge of `cost` that passes at once; `None` if it does not, or costs 0.
    // Always: it is what nearly every decision is, and a call costs that a tenth of its instructions.
    #[inline(always)]
    #[must_use]
    pub fn admit(&self, state: State, at: Moment, cost: u64) -> Option<State> {
        match self {
            _ if cost == 0 => None,
            WordRule::Bucket(rule) => rule.admit(state, at, cost),
            _ => self.admit_in_window(state, at, cost),
        }
    }

    /// The same for the rules that divide: out of the way of the one that does not.
    #[inline(never)]
    fn admit_in_window(&self, state: State, at: Moment, cost: u64) -> Option<State> {
        match self {
            WordRule::Fixed(rule) => rule.admit(state, at, cost),
            WordRule::Sliding(rule) => rule.admit(state, at, cost),
            WordRule::Bucket(_) | WordRule::Never => None,
        }
    }

    /// What becomes of a charge of `cost` at a moment. Cost 0 passes and writes nothing, except under
    /// `0/…`, which passes nothing at all.
    // Always, for the same reason: a refusal is to cost no more than what is admitted.
    #[inline(always)]
    #[must_use]
    pub fn ask(&self, state: State, at: Moment, cost: u64, patience: Patience) -> Step {
        match self {
            WordRule::Bucket(rule) if cost > 0 => rule.ask(state, at, cost, patience),
            _ => self.ask_in_window(state, at, cost),
        }
    }

    /// The same for the rules that divide, and for what costs nothing.
    #[inline(never)]
    fn ask_in_window(&self, state: State, at: Moment, cost: u64) -> Step {
        let allow = |next| Step { ruling: Ruling::Allow, next };
        match self {
            WordRule::Never => Step { ruling: Ruling::Never, next: state },
            WordRule::Fixed(rule) if cost > 0 => {
                rule.admit(state, at, cost).map_or_else(|| rule.refuse(state, at, cost), allow)
            }
            WordRule::Sliding(rule) if cost > 0 => {
                rule.admit(state, at, cost).map_or_else(|| rule.refuse(state, at, cost), allow)
            }
            _ => allow(state),
        }
    }

    /// The largest cost that would pass at a moment.
    #[inline]
    #[must_use]
    pub fn room(&self, state: State, at: Moment, patience: Patience) -> u64 {
        match self {
            WordRule::Bucket(rule) => rule.room(state, at, patience),
            WordRule::Fixed(rule) => rule.room(state, at),
            WordRule::Sliding(rule) => rule.room(state, at),
            WordRule::Never => 0,
        }
    }

    /// Ticks until the state is as good as fresh, if nothing more is charged.
    #[inline]
    #[must_use]
    pub fn reset_after(&self, state: State, at: Moment) -> u64 {
        match self {
            WordRule::Bucket(rule) => rule.reset_after(state, at),
            WordRule::Fixed(rule) => rule.reset_after(state, at),
            WordRule::Sliding(rule) => rule.reset_after(state, at),
            WordRule::Never => 0,
        }
    }

    /// The state once a charge of `charged.cost` turns out to cost `actual`; 0 gives it all back.
    ///
    /// A charge made under another algorithm or period changes nothing.
    #[must_use]
    pub fn give(&self, state: State, at: Moment, charged: &Charged, actual: u64) -> State {
        match (self, charged.under) {
            (WordRule::Bucket(rule), Rule::Words(WordRule::Bucket(then)))
                if rule.period == then.period =>
            {
                rule.give(state, at, &then, charged, actual)
            }
            (WordRule::Fixed(rule), Rule::Words(WordRule::Fixed(then)))
                if rule.window == then.window =>
            {
                rule.give(state, charged, actual)
            }
            (WordRule::Sliding(rule), Rule::Words(WordRule::Sliding(then)))
                if rule.window == then.window =>
            {
                rule.give(state, at, charged, actual)
            }
            _ => state,
        }
    }
}

/// What is remembered of a charge, to give it back or settle it.
///
/// ```
/// use tollgate_core::algorithm::{Charged, Patience, Rule, State};
/// use tollgate_core::{Key, Limit, Quota, Tick};
/// let limit = Limit::new("tokens", Quota::per_minute(100))?;
/// let Rule::Words(rule) = limit.rule() else { unreachable!("a bucket keeps two words") };
/// let at = limit.moment(Tick::EPOCH, &Key::from("ann"));
/// let estimated = rule.ask(State::FRESH, at, 80, Patience::Wait).next;
/// let charged = Charged { cost: 80, left: estimated, under: *limit.rule() };
/// let settled = rule.give(estimated, at, &charged, 30);
/// assert_eq!(rule.room(settled, at, Patience::Wait), 70);
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charged {
    /// What it cost.
    pub cost: u64,
    /// The state it left (for the log: the count, and the time of its own entry).
    pub left: State,
    /// The rule it was charged under.
    pub under: Rule,
}
