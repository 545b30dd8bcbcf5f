//! Which limits apply to a request.

use smallvec::SmallVec;
use tollgate_core::{Charge, Effect, Key, Limit};

use super::overrides::windows;
use super::whose::{NoKey, Whose};
use super::{Compiled, Policy, Preflights};
use crate::key::{Encoded, KeyBytes, KeyPart};
use crate::limit_spec::LimitSpec;
use crate::list::Listed;
use crate::request::{Given, Request};

/// What a policy says of a request.
///
/// [`Request`] shows a selection at work.
#[derive(Debug)]
pub enum Selection<'p, 's> {
    /// No limit applies, whatever the limits say.
    Free(Free<'p>),
    /// It is forbidden by a list that has this part of it.
    Forbidden(&'p KeyPart),
    /// It lacks what a limit needs, so nobody can tell whose budget it is.
    Refused(Refused<'p>),
    /// These limits apply, perhaps none.
    Limits(Matches<'p, 's>),
}

/// Why a request is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Free<'p> {
    /// A list has this part of it.
    Listed(&'p KeyPart),
    /// It is a browser's question before a request across origins.
    Preflight,
}

/// What a request lacks.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'p> {
    /// The limit that needs it; `None` when it is the list of who is forbidden.
    pub limit: Option<&'p LimitSpec>,
    /// The part that is needed.
    pub part: &'p KeyPart,
    /// What is the matter with it.
    pub lack: Lack,
}

/// What is the matter with a part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// It is missing or empty.
    Missing,
    /// It is given more than once, and servers disagree on which one counts.
    Several,
}

/// The limits that apply to a request.
#[derive(Clone, Copy, Debug)]
pub struct Matches<'p, 's> {
    policy: &'p Policy,
    scratch: &'s Scratch,
}

/// One limit that applies: what is charged, and to whom.
///
/// [`Request`] shows how one is come by.
#[derive(Clone, Copy, Debug)]
pub struct Matched<'p, 's> {
    /// The limit with its policy.
    pub spec: &'p LimitSpec,
    /// The window of it that is charged here, after overrides.
    pub limit: &'p Limit,
    /// Whose budget.
    pub key: Key<'s>,
    /// The client's part of the key (its first part, if none tells one client from another), as it is
    /// a key alone: beside it a store of many servers keeps all that this client is charged.
    pub home: Key<'s>,
    /// How much, at least 1.
    pub cost: u64,
    /// Whether a refusal blocks or is only told.
    pub effect: Effect,
}

impl<'p, 's> Matched<'p, 's> {
    /// The charge to ask a store for.
    #[must_use]
    pub fn charge(&self) -> Charge<'p, 's> {
        let charge = Charge::new(self.limit, self.key).cost(self.cost).beside(self.home);
        Charge { effect: self.effect, ..charge }
    }
}

/// Room for the keys of one request: reused, or made anew for each.
///
/// It holds four limits with keys of up to 128 bytes in itself; for more it allocates.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    bytes: KeyBytes,
    entries: SmallVec<[Entry; 4]>,
}

impl Scratch {
    /// Empty room.
    #[must_use]
    pub fn new() -> Scratch {
        Scratch::default()
    }

    fn key(&self, key: &Encoded) -> Key<'_> {
        match key {
            Encoded::Whole(key) => *key,
            Encoded::Bytes(range) => Key::Bytes(self.bytes.get(range.clone()).unwrap_or_default()),
        }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    limit: u32,
    whose: Whose,
    cost: u64,
}

impl Policy {
    /// Which limits apply to `request`. The keys are kept in `scratch`, whatever it held before.
    ///
    /// Does not allocate for up to 4 limits, 8 patterns that match the path, and keys of up to 128
    /// bytes. What is forbidden goes before what is free.
    pub fn select<'p, 's, R: Request + ?Sized>(
        &'p self,
        request: &R,
        scratch: &'s mut Scratch,
    ) -> Selection<'p, 's> {
        scratch.bytes.clear();
        scratch.entries.clear();
        match self.deny.find(request) {
            Listed::Yes(part) => return Selection::Forbidden(part),
            Listed::Unclear(part) => {
                return Selection::Refused(Refused { limit: None, part, lack: Lack::Several });
            }
            Listed::No => {}
        }
        if let Some(free) = self.free(request) {
            return Selection::Free(free);
        }
        let view = self.view(request);
        if let Some((limit, part)) = view.unclear() {
            let limit = self.limit(limit).map(|limit| &limit.spec);
            return Selection::Refused(Refused { limit, part, lack: Lack::Several });
        }
        let found = view.found();
        for &at in found.as_slice() {
            let Some(limit) = self.limit(at) else { continue };
            if !view.is_met(limit) {
                continue;
            }
            match self.whose(limit, request, &view, &mut scratch.bytes) {
                Ok(whose) => {
                    let cost = limit.spec.cost.of(request, &view);
                    scratch.entries.push(Entry { limit: at, whose, cost });
                }
                Err(NoKey::Refused(part, lack)) if limit.spec.effect == Effect::Enforce => {
                    let limit = Some(&limit.spec);
                    return Selection::Refused(Refused { limit, part, lack });
                }
                // A limit that only watches must not refuse for want of a key either.
                Err(NoKey::Refused(..) | NoKey::Skipped(_)) => {}
            }
        }
        Selection::Limits(Matches { policy: self, scratch })
    }

    fn free<R: Request + ?Sized>(&self, request: &R) -> Option<Free<'_>> {
        match self.allow.find(request) {
            Listed::Yes(part) => Some(Free::Listed(part)),
            _ if self.preflights == Preflights::Free && is_preflight(request) => {
                Some(Free::Preflight)
            }
            _ => None,
        }
    }

    /// How many limits `request` has to be compared with.
    #[cfg(test)]
    pub(crate) fn compared<R: Request + ?Sized>(&self, request: &R) -> usize {
        self.view(request).found().as_slice().len()
    }

    pub(super) fn limit(&self, at: u32) -> Option<&Compiled> {
        self.limits.get(usize::try_from(at).ok()?)
    }
}

/// A browser's question before a request across origins (Fetch, "CORS-preflight request").
fn is_preflight<R: Request + ?Sized>(request: &R) -> bool {
    request.method() == "OPTIONS"
        && request.header("origin") != Given::Nothing
        && request.header("access-control-request-method") != Given::Nothing
}

impl<'p, 's> Matches<'p, 's> {
    /// The limits in the order of the policy, one item for each window.
    pub fn iter(&self) -> impl Iterator<Item = Matched<'p, 's>> + use<'p, 's> {
        let Matches { policy, scratch } = *self;
        scratch.entries.iter().flat_map(move |entry| {
            let Entry { whose, cost, .. } = entry;
            let key = scratch.key(&whose.key);
            let home = whose.home.as_ref().map_or(key, |home| scratch.key(home));
            let spec = policy.limit(entry.limit).map(|limit| &limit.spec);
            spec.into_iter().flat_map(move |spec| {
                windows(spec, whose.windows).iter().map(move |limit| Matched {
                    spec,
                    limit,
                    key,
                    home,
                    cost: *cost,
                    effect: spec.effect,
                })
            })
        })
    }

    /// Whether no limit applies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scratch.entries.is_empty()
    }
}
