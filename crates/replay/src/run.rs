//! Deciding the requests of a log as they would have been decided live.

use std::net::IpAddr;

use smallvec::SmallVec;
use tollgate_core::{Charge, Clock as _, Decision, LocalStore, ManualClock, Mode, Span};
use tollgate_memory::Memory;
use tollgate_policy::{
    Count, Free, KeyPart, LimitSpec, Matches, Measure, PathError, Policy, Refused, Request as _,
    Scratch, Selection,
};

use crate::entry::{Entry, Line};
use crate::format::Field;
use crate::lacks::{self, Lack, Then};
use crate::seen::{Addresses, Paths, Seen};

/// Whether limits refuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effects {
    /// As the policy says.
    #[default]
    AsGiven,
    /// All limits only watch: each is decided and charged as it would be live with `shadow = true`.
    Shadow,
}

/// Decides the requests of a log, by the times of the log, as the HTTP layer over a store in this
/// process would have decided them.
///
/// What a log does not tell:
///
/// * Limits that ask for it are left out; see [`Replay::lacks`].
/// * A request of OPTIONS is taken for a browser's preflight.
/// * What is given back or settled once a request is answered is so at once, since logs tell one time.
/// * A request that is refused here has an answer in the log all the same. What the client would have
///   done next, had it been refused, nobody knows.
#[derive(Debug)]
pub struct Replay {
    policy: Policy,
    wanted: Vec<KeyPart>,
    lacks: Vec<Lack>,
    paths: Paths,
    memory: Memory,
    clock: ManualClock,
    addresses: Addresses,
    scratch: Scratch,
    afterwards: Afterwards,
}

/// Whether any charge may be given back or settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Afterwards {
    Some,
    None,
}

/// One request, decided.
#[derive(Debug)]
pub struct Decided<'d, 'l> {
    /// The request.
    pub entry: &'d Entry<'l>,
    /// The address that the client is limited by.
    pub client: IpAddr,
    /// Its route: the pattern of the policy that its path fits, or the first segment of its path.
    pub route: Route<'d>,
    /// What became of it.
    pub outcome: Outcome<'d>,
    /// The limits that were asked, in the order of the decision's answers.
    pub matches: Option<Matches<'d, 'd>>,
}

/// What becomes of a request.
#[derive(Debug)]
pub enum Outcome<'p> {
    /// It was no HTTP, and reached no limit.
    Garbled,
    /// No limit is asked, whatever limits say.
    Free(Free<'p>),
    /// No limit is for it.
    Uncovered,
    /// It is on the list of what is forbidden, by this part.
    Forbidden(&'p KeyPart),
    /// Its path can be read in two ways.
    Unreadable(PathError),
    /// It lacks what a limit needs.
    Keyless(Refused<'p>),
    /// Limits were asked. Their decision is large, and so is lent.
    Limited(&'p Decision<'p>),
}

/// What a request comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It passes at once.
    Passed,
    /// It passes after this wait.
    Delayed(Span),
    /// It is refused.
    Refused,
    /// It never reaches a limit.
    Unasked,
}

impl Outcome<'_> {
    /// What the request comes to.
    #[must_use]
    pub fn fate(&self) -> Fate {
        match self {
            Outcome::Garbled => Fate::Unasked,
            Outcome::Free(_) | Outcome::Uncovered => Fate::Passed,
            Outcome::Forbidden(_) | Outcome::Unreadable(_) | Outcome::Keyless(_) => Fate::Refused,
            Outcome::Limited(decision) if decision.is_denied() => Fate::Refused,
            Outcome::Limited(decision) => match decision.wait() {
                Span::ZERO => Fate::Passed,
                wait => Fate::Delayed(wait),
            },
        }
    }

    /// Whether a limit that only watches would have refused it.
    #[must_use]
    pub fn would_refuse(&self) -> bool {
        let Outcome::Limited(decision) = self else { return false };
        decision.is_allowed() && decision.answers().any(|answer| !answer.verdict().passes())
    }
}

/// Where requests go, coarsely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route<'e> {
    /// A pattern of the policy.
    Pattern(&'e str),
    /// A path of one segment.
    Path(&'e [u8]),
    /// All paths that begin with this segment.
    Below(&'e [u8]),
    /// No path.
    None,
}

impl Replay {
    /// A replay of these limits on a log of these fields. `keys` is how many keys are counted at most,
    /// as in `[server]` of the file.
    ///
    /// # Errors
    /// When so many keys cannot be kept.
    pub fn new(
        policy: Policy,
        known: &[Field],
        effects: Effects,
        keys: Option<u64>,
    ) -> Result<Replay, String> {
        let lacks = lacks::lacks(&policy, known);
        let left_out = |spec: &LimitSpec| {
            let of = |lack: &Lack| lack.limit.as_deref() == Some(spec.name());
            lacks.iter().any(|lack| lack.then == Then::LeftOut && of(lack))
        };
        let wanted = lacks::wanted(&policy);
        let policy = policy.keeping(|spec| !left_out(spec));
        let policy = match effects {
            Effects::AsGiven => policy,
            Effects::Shadow => policy.watching(),
        };
        let clock = ManualClock::default();
        // By the time of the log each request would pay for all that recovers until the next one.
        let mut memory = Memory::builder().clock(clock.clone()).sweep_every(Span::DAY);
        if let Some(keys) = keys {
            memory = memory.max_entries(keys);
        }
        let memory = memory.build().map_err(|error| error.to_string())?;
        let paths = match policy.limits().any(LimitSpec::looks_at_paths) {
            true => Paths::Matter(policy.case()),
            false => Paths::Ignored,
        };
        let may_change =
            |spec: &LimitSpec| spec.counted() != Count::All || spec.settlement().is_some();
        let afterwards = match policy.limits().any(may_change) {
            true => Afterwards::Some,
            false => Afterwards::None,
        };
        Ok(Replay {
            policy,
            wanted,
            lacks,
            paths,
            memory,
            clock,
            addresses: Addresses::default(),
            scratch: Scratch::new(),
            afterwards,
        })
    }

    /// The limits that are replayed.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What limits ask for and the log does not tell.
    #[must_use]
    pub fn lacks(&self) -> &[Lack] {
        &self.lacks
    }

    /// The store that counts.
    #[must_use]
    pub fn store(&self) -> &Memory {
        &self.memory
    }

    /// Decides the next request. Requests come in the order of their times.
    pub fn decide(&mut self, entry: &Entry<'_>, tell: impl FnOnce(&Decided<'_, '_>)) {
        let Replay { policy, wanted, paths, memory, clock, addresses, scratch, .. } = self;
        let client = addresses.of(&entry.client);
        let Line::Asked { method, target } = entry.request else {
            let (route, outcome) = (Route::None, Outcome::Garbled);
            return tell(&Decided { entry, client, route, outcome, matches: None });
        };
        let (request, fault) = Seen::of(entry, (method, target), client, *paths, wanted);
        let route = route(policy, &request, target);
        let mut asked = None;
        let mut decision;
        let outcome = match (fault, policy.select(&request, scratch)) {
            (_, Selection::Forbidden(part)) => Outcome::Forbidden(part),
            (_, Selection::Free(free)) => Outcome::Free(free),
            (Some(fault), _) => Outcome::Unreadable(fault),
            (None, Selection::Refused(refused)) => Outcome::Keyless(refused),
            (None, Selection::Limits(matches)) if matches.is_empty() => Outcome::Uncovered,
            (None, Selection::Limits(matches)) => {
                clock.set(entry.at);
                asked = Some(matches);
                decision = charge(memory, matches, clock);
                if self.afterwards == Afterwards::Some && decision.is_allowed() {
                    settle(memory, matches, &mut decision, entry);
                }
                Outcome::Limited(&decision)
            }
        };
        tell(&Decided { entry, client, route, outcome, matches: asked });
    }

    /// The same replay of a log that was opened for these further parts of requests, in this order.
    pub(crate) fn of_log_with(mut self, wanted: Vec<KeyPart>) -> Replay {
        self.wanted = wanted;
        self
    }
}

impl Route<'_> {
    /// Writes it as people read it.
    pub(crate) fn label(&self, label: &mut Vec<u8>) {
        let parts: [&[u8]; 3] = match self {
            Route::Pattern(pattern) => [pattern.as_bytes(), b"", b""],
            Route::Path(name) => [b"/", name, b""],
            Route::Below(name) => [b"/", name, b"/*"],
            Route::None => [b"(no path)", b"", b""],
        };
        parts.iter().for_each(|part| label.extend_from_slice(part));
    }
}

fn charge<'p>(memory: &Memory, matches: Matches<'p, '_>, clock: &ManualClock) -> Decision<'p> {
    let mut charges: SmallVec<[Charge<'_, '_>; 4]> = SmallVec::new();
    matches.iter().for_each(|matched| charges.push(matched.charge()));
    memory.decide_at(clock.now(), Mode::Charge, &charges)
}

/// Gives back what the answer's status does not count, and settles what its size tells.
fn settle<'p>(
    memory: &Memory,
    matches: Matches<'p, '_>,
    decision: &mut Decision<'p>,
    entry: &Entry<'_>,
) {
    for (matched, answer) in matches.iter().zip(decision.answers_mut()) {
        let given_back = entry.status.is_some_and(|status| matched.spec.gives_back(status));
        let cost = match matched.spec.settlement() {
            _ if given_back => 0,
            Some(settlement) => match (settlement.measure(), entry.bytes) {
                (Measure::Bytes(_), Some(bytes)) => settlement.of_bytes(bytes),
                // The estimate stays.
                _ => continue,
            },
            None => continue,
        };
        if let Some(receipt) = answer.take_receipt(matched.key) {
            memory.give_now(receipt.beside(matched.home), cost);
        }
    }
}

/// The route of a request.
fn route<'d>(policy: &'d Policy, request: &Seen<'_, '_>, target: &'d [u8]) -> Route<'d> {
    if let Some(pattern) = policy.route(request.path()) {
        return Route::Pattern(pattern);
    }
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let Some(inner) = path.strip_prefix(b"/") else { return Route::None };
    match memchr::memchr(b'/', inner) {
        Some(at) => Route::Below(inner.get(..at).unwrap_or_default()),
        None => Route::Path(inner),
    }
}
