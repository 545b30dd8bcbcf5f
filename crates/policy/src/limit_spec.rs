//! A limit and everything that decides to which requests it applies, and how.

use std::fmt;
use std::sync::Arc;

use tollgate_core::{Algorithm, Effect, Limit};

use crate::condition::Asked;
use crate::cost::Cost;
use crate::key::{KeyPart, Secret};
use crate::limit_answer::LimitAnswer;
use crate::message::Message;
use crate::settlement::Settlement;
use crate::statuses::Statuses;
use crate::when::When;

/// A limit with its policy: which requests it is for, whose budget they use, what they cost.
///
/// The config file and code build the same thing.
///
/// ```
/// use tollgate_core::{Algorithm, Limit};
/// use tollgate_policy::{Count, KeyPart, LimitSpec, Policy};
/// let rate = "5 per 15 minutes".parse()?;
/// let login = Limit::builder("login", rate).algorithm(Algorithm::SlidingWindow).build()?;
/// let login = LimitSpec::new(login)
///     .when("POST /api/auth/login".parse()?)
///     .by([KeyPart::Client])
///     .count(Count::Failures);
/// let policy = Policy::builder().limit(login).build()?;
/// assert_eq!(policy.limits().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LimitSpec {
    pub(crate) name: Box<str>,
    pub(crate) windows: Vec<Limit>,
    pub(crate) by: Vec<KeyPart>,
    pub(crate) fallback: Fallback,
    pub(crate) when: When,
    pub(crate) cost: Cost,
    pub(crate) count: Count,
    pub(crate) failures: Statuses,
    pub(crate) message: Option<Message>,
    pub(crate) answer: LimitAnswer,
    pub(crate) settlement: Option<Settlement>,
    pub(crate) effect: Effect,
    pub(crate) state: Switch,
    /// Other windows, for overrides and plans. Those of equal rates are there once.
    pub(crate) alternatives: Vec<Vec<Limit>>,
    /// Shared by copies, since there may be 100,000.
    pub(crate) overrides: Arc<Vec<Override>>,
    /// The file of those overrides that come from one.
    pub(crate) overrides_file: Option<Box<str>>,
    pub(crate) plans: Vec<(Box<str>, u32)>,
}

/// Whether a limit is in force at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    On,
    Off,
}

/// Another quota for one value of the key's first part.
#[derive(Clone)]
pub(crate) struct Override {
    pub(crate) value: Box<str>,
    /// Which of the alternatives.
    pub(crate) windows: u32,
    /// The line of the file it comes from.
    pub(crate) line: Option<u32>,
}

impl fmt::Debug for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = Secret::new(self.value.as_bytes());
        f.debug_struct("Override").field("value", &value).field("windows", &self.windows).finish()
    }
}

/// What happens to a request that lacks a part of the key.
///
/// ```
/// use tollgate_core::{Limit, Quota};
/// use tollgate_policy::{Fallback, KeyPart, LimitSpec};
/// let by_user = LimitSpec::new(Limit::new("user", Quota::per_hour(100))?).by([KeyPart::User]);
/// assert_eq!(by_user.on_missing(), &Fallback::Part(KeyPart::Client));
/// assert_eq!(by_user.fallback(Fallback::Skip).on_missing(), &Fallback::Skip);
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// This part stands in for the missing one; without it too, the request is refused.
    Part(KeyPart),
    /// The request is refused.
    Refuse,
    /// The limit does not apply.
    Skip,
}

impl Default for Fallback {
    /// The client: who does not say who he is shares the budget of his address.
    fn default() -> Fallback {
        Fallback::Part(KeyPart::Client)
    }
}

/// Which answers are charged in the end.
///
/// ```
/// use tollgate_core::{Limit, Quota};
/// use tollgate_policy::{Count, LimitSpec};
/// let login = LimitSpec::new(Limit::new("login", Quota::per_hour(5))?)
///     .count(Count::Failures)
///     .failures("401, 403".parse()?);
/// assert!(login.gives_back(200) && login.gives_back(500));
/// assert!(!login.gives_back(401));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// All.
    #[default]
    All,
    /// Those that fail; the others give their charge back.
    Failures,
    /// Those that do not fail.
    Successes,
}

impl LimitSpec {
    /// The most costs by condition of one limit: each is asked in turn.
    pub const MOST_CASES: usize = 64;

    /// A limit for every request, by client, at cost 1.
    #[must_use]
    pub fn new(limit: Limit) -> LimitSpec {
        LimitSpec::windows(limit.name().into(), vec![limit])
    }

    pub(crate) fn windows(name: Box<str>, windows: Vec<Limit>) -> LimitSpec {
        LimitSpec {
            name,
            windows,
            by: vec![KeyPart::Client],
            fallback: Fallback::default(),
            when: When::default(),
            cost: Cost::default(),
            count: Count::default(),
            failures: Statuses::errors(),
            message: None,
            answer: LimitAnswer::default(),
            settlement: None,
            effect: Effect::Enforce,
            state: Switch::On,
            alternatives: Vec::new(),
            overrides: Arc::default(),
            overrides_file: None,
            plans: Vec::new(),
        }
    }

    /// The same with a further window: a request is charged on all of them or on none.
    #[must_use]
    pub fn also(mut self, window: Limit) -> LimitSpec {
        self.windows.push(window);
        self
    }

    /// The same for these requests only.
    #[must_use]
    pub fn when(self, when: When) -> LimitSpec {
        LimitSpec { when, ..self }
    }

    /// The same with one budget for each combination of these parts.
    #[must_use]
    pub fn by(self, parts: impl IntoIterator<Item = KeyPart>) -> LimitSpec {
        LimitSpec { by: parts.into_iter().collect(), ..self }
    }

    /// The same with this for requests that lack a part of the key.
    #[must_use]
    pub fn fallback(self, fallback: Fallback) -> LimitSpec {
        LimitSpec { fallback, ..self }
    }

    /// The same at this cost.
    #[must_use]
    pub fn cost(self, cost: Cost) -> LimitSpec {
        LimitSpec { cost, ..self }
    }

    /// The same, charging only some answers in the end; window algorithms only.
    #[must_use]
    pub fn count(self, count: Count) -> LimitSpec {
        LimitSpec { count, ..self }
    }

    /// The same with these statuses as failures, instead of 400 and above.
    #[must_use]
    pub fn failures(self, failures: Statuses) -> LimitSpec {
        LimitSpec { failures, ..self }
    }

    /// The same with a text for whoever is refused.
    #[must_use]
    pub fn message(self, message: Message) -> LimitSpec {
        LimitSpec { message: Some(message), ..self }
    }

    /// The same with an answer of its own for whoever is refused.
    #[must_use]
    pub fn answer(self, answer: LimitAnswer) -> LimitSpec {
        LimitSpec { answer, ..self }
    }

    /// The same, charged an estimate at first and settled when the answer tells the cost.
    #[must_use]
    pub fn settle(self, settlement: Settlement) -> LimitSpec {
        let cost = Cost::Fixed(settlement.estimate());
        LimitSpec { settlement: Some(settlement), cost, ..self }
    }

    /// The same, decided and told but never blocking.
    #[must_use]
    pub fn shadow(self) -> LimitSpec {
        LimitSpec { effect: Effect::Shadow, ..self }
    }

    /// The same, not in force.
    #[must_use]
    pub fn disabled(self) -> LimitSpec {
        LimitSpec { state: Switch::Off, ..self }
    }

    /// The same with other windows for one value of the first part of the key: an API key, a user,
    /// an address or a network.
    #[must_use]
    pub fn override_for(
        mut self,
        value: impl Into<String>,
        windows: impl IntoIterator<Item = Limit>,
    ) -> LimitSpec {
        let windows = self.alternative(windows.into_iter().collect());
        self.add_override(Override { value: value.into().into(), windows, line: None });
        self
    }

    /// The same with other windows for requests of a plan whose value has no windows of its own.
    #[must_use]
    pub fn plan(mut self, plan: &str, windows: impl IntoIterator<Item = Limit>) -> LimitSpec {
        let windows = self.alternative(windows.into_iter().collect());
        self.plans.push((plan.into(), windows));
        self
    }

    /// The number of further windows.
    pub(crate) fn alternative(&mut self, windows: Vec<Limit>) -> u32 {
        self.alternatives.push(windows);
        u32::try_from(self.alternatives.len() - 1).unwrap_or(u32::MAX)
    }

    pub(crate) fn add_override(&mut self, other: Override) {
        Arc::make_mut(&mut self.overrides).push(other);
    }

    /// The name, as in the file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The limits it stands for, one for each window, without its overrides.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        &self.windows
    }

    /// The parts of its key.
    #[must_use]
    pub fn key(&self) -> &[KeyPart] {
        &self.by
    }

    /// What happens to a request that lacks a part of the key.
    #[must_use]
    pub fn on_missing(&self) -> &Fallback {
        &self.fallback
    }

    /// Which requests it is for.
    #[must_use]
    pub fn condition(&self) -> &When {
        &self.when
    }

    /// What a request costs.
    #[must_use]
    pub fn price(&self) -> &Cost {
        &self.cost
    }

    /// Which answers are charged in the end.
    #[must_use]
    pub fn counted(&self) -> Count {
        self.count
    }

    /// Whether an answer of this status gives its charge back.
    #[must_use]
    pub fn gives_back(&self, status: u16) -> bool {
        match self.count {
            Count::All => false,
            Count::Failures => !self.failures.contains(status),
            Count::Successes => self.failures.contains(status),
        }
    }

    /// The text for whoever is refused, if the limit has its own.
    #[must_use]
    pub fn refusal(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// What its answer to whoever is refused has of its own.
    #[must_use]
    pub fn own_answer(&self) -> &LimitAnswer {
        &self.answer
    }

    /// How a charge is settled when the answer tells the cost, if it is.
    #[must_use]
    pub fn settlement(&self) -> Option<&Settlement> {
        self.settlement.as_ref()
    }

    /// Whether its refusal blocks or is only told.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Whether it is in force.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.state == Switch::On
    }

    /// How many values of its key have other quotas.
    #[must_use]
    pub fn overrides(&self) -> usize {
        self.overrides.len()
    }

    /// The plans with other quotas.
    pub fn plans(&self) -> impl Iterator<Item = &str> {
        self.plans.iter().map(|(plan, _)| &**plan)
    }

    /// All its limits, those of overrides and plans included; equal ones of several overrides in a
    /// file once.
    pub fn every_limit(&self) -> impl Iterator<Item = &Limit> {
        self.windows.iter().chain(self.alternatives.iter().flatten())
    }

    /// Its condition and those of its costs.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = &When> {
        std::iter::once(&self.when).chain(self.cost.conditions())
    }

    /// The header or query parameter that its conditions ask for and a request gives more than once.
    pub(crate) fn unclear(&self, asked: &impl Asked) -> Option<&KeyPart> {
        self.conditions().find_map(|when| when.unclear(asked))
    }

    pub(crate) fn every_limit_mut(&mut self) -> impl Iterator<Item = &mut Limit> {
        self.windows.iter_mut().chain(self.alternatives.iter_mut().flatten())
    }
}

/// Whether a charge under the algorithm can be given back to the last bit.
pub(crate) fn is_window(algorithm: Algorithm) -> bool {
    matches!(
        algorithm,
        Algorithm::FixedWindow(_) | Algorithm::SlidingWindow | Algorithm::SlidingLog
    )
}
