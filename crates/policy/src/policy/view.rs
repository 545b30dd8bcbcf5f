//! What a policy makes of a request before it asks each limit.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::net::IpAddr;

use tollgate_core::{Effect, Tick};

use super::{Compiled, Policy};
use crate::condition::{Asked, named};
use crate::group::Found;
use crate::key::KeyPart;
use crate::method::MethodSet;
use crate::path::Case;
use crate::request::{Given, Request};
use crate::routes;

/// A request as a policy sees it: what it gives, and what only the policy knows of it, worked out
/// once and only if a limit asks.
pub(super) struct View<'p, 'r, R: ?Sized> {
    policy: &'p Policy,
    request: &'r R,
    routes: routes::Found<'p>,
    method: OnceCell<(MethodSet, &'p str)>,
    plan: OnceCell<Cow<'r, [u8]>>,
}

/// Limits that may be for a request, in ascending order.
pub(super) enum Candidates<'p> {
    /// Those that are for every path, and for no other reason.
    Everywhere(&'p [u32]),
    Some(Found),
}

impl Candidates<'_> {
    pub(super) fn as_slice(&self) -> &[u32] {
        match self {
            Candidates::Everywhere(all) => all,
            Candidates::Some(some) => some,
        }
    }
}

impl Policy {
    pub(super) fn view<'p, 'r, R>(&'p self, request: &'r R) -> View<'p, 'r, R>
    where
        R: Request + ?Sized,
    {
        View {
            policy: self,
            request,
            routes: self.routes.find(request.path()),
            method: OnceCell::new(),
            plan: OnceCell::new(),
        }
    }
}

impl<'p: 'r, 'r, R: Request + ?Sized> View<'p, 'r, R> {
    /// The limits that have to be compared with the request, in ascending order.
    pub(super) fn found(&self) -> Candidates<'p> {
        let everywhere = &self.policy.everywhere;
        if let (true, Some(all)) = (self.routes.is_empty(), everywhere.constant()) {
            return Candidates::Everywhere(all);
        }
        let mut some = Found::new();
        everywhere.find(self, &mut some);
        self.routes.iter().for_each(|node| node.group().find(self, &mut some));
        some.sort_unstable();
        some.dedup();
        Candidates::Some(some)
    }

    /// The first limit that has to know what the request gives more than once, and what that is.
    pub(super) fn unclear(&self) -> Option<(u32, &'p KeyPart)> {
        let groups = self.routes.iter().map(|node| node.group());
        let methods = || self.method().0;
        [&self.policy.everywhere]
            .into_iter()
            .chain(groups)
            .find_map(|group| group.unclear(self, methods))
    }

    /// Whether a limit whose path it has is for it. One that refuses what it cannot tell apart has done
    /// so before; one that only watches lets it pass.
    pub(super) fn is_met(&self, limit: &Compiled) -> bool {
        let when = &limit.spec.when;
        let watches = limit.spec.effect == Effect::Shadow;
        self.has_method(limit)
            && (when.is_plain() || when.unmet(self, true).is_none())
            && !(watches && limit.spec.unclear(self).is_some())
    }

    /// Whether a limit is for the method.
    pub(super) fn has_method(&self, limit: &Compiled) -> bool {
        limit.methods == MethodSet::ALL || limit.methods.meets(self.method().0)
    }

    /// The method as limits know it.
    pub(super) fn method(&self) -> (MethodSet, &'p str) {
        *self.method.get_or_init(|| self.policy.methods.find(self.request.method()))
    }

    /// The pattern by which keys by route know the request.
    pub(super) fn route(&self) -> Option<&'r str> {
        self.request.route().or(self.routes.first().map(|node| node.name()))
    }
}

impl<'p: 'r, 'r, R: Request + ?Sized> Asked for View<'p, 'r, R> {
    fn method(&self) -> &str {
        self.request.method()
    }

    fn path(&self) -> &str {
        self.request.path()
    }

    fn case(&self) -> Case {
        self.policy.case
    }

    fn named(&self, part: &KeyPart) -> Given<'_> {
        named(self.request, part)
    }

    fn host(&self) -> Option<&str> {
        self.request.host()
    }

    fn client(&self) -> Option<IpAddr> {
        self.request.client()
    }

    fn plan(&self) -> &[u8] {
        self.plan.get_or_init(|| self.policy.plans.of(self.request))
    }

    fn now(&self) -> Option<Tick> {
        self.request.now()
    }
}
