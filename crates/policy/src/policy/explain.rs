//! Why each limit applies to a request, or does not.

use tollgate_core::{Key, Limit};

use super::overrides::windows;
use super::select::Lack;
use super::view::View;
use super::whose::{NoKey, part_value};
use super::{Compiled, Policy};
use crate::condition::Asked;
use crate::key::{KeyPart, PartValue};
use crate::limit_spec::LimitSpec;
use crate::pattern::PathPattern;
use crate::request::Request;
use crate::when::Unmet;

/// What a policy makes of a request, limit by limit. For people; it allocates as it likes.
///
/// It says nothing of the lists: [`Policy::select`] tells first whether limits are asked at all.
#[derive(Clone, Debug)]
pub struct Explanation<'p> {
    /// The pattern by which keys by route know the request; empty when no pattern matches.
    pub route: String,
    /// Every limit of the policy, in its order, and why it applies or does not.
    pub limits: Vec<(&'p LimitSpec, Reason<'p>)>,
}

/// Why a limit applies, or does not.
#[derive(Clone, Debug)]
pub enum Reason<'p> {
    /// It applies.
    Applies(Application<'p>),
    /// It is switched off.
    Disabled,
    /// It is for other methods.
    OtherMethod,
    /// It is for other paths.
    OtherPath,
    /// It asks for something else of a request.
    Unmet(Unmet<'p>),
    /// It skips requests that lack this part.
    Skips(&'p KeyPart),
    /// It refuses the request, which lacks this part or has several of it. A limit that only watches
    /// lets it pass.
    Refuses(&'p KeyPart, Lack),
}

/// How a limit applies.
#[derive(Clone, Debug)]
pub struct Application<'p> {
    /// Its pattern that the path matches; `None` when it is for every path.
    pub path: Option<&'p PathPattern>,
    /// The parts of the key and their values, as people read them. A part that stands in for a
    /// missing one is here in its place.
    pub key: Vec<(&'p KeyPart, String)>,
    /// The windows that are charged.
    pub windows: &'p [Limit],
    /// Whether those are the windows of an override.
    pub overridden: bool,
    /// The plan of the request, if those are its windows.
    pub plan: Option<String>,
    /// What the request costs.
    pub cost: u64,
}

impl Policy {
    /// Why each limit applies to `request`, or does not.
    pub fn explain<R: Request + ?Sized>(&self, request: &R) -> Explanation<'_> {
        let view = self.view(request);
        let limits = self.limits.iter();
        Explanation {
            route: view.route().unwrap_or_default().to_owned(),
            limits: limits.map(|limit| (&limit.spec, self.reason(limit, request, &view))).collect(),
        }
    }

    /// The plan of a request, if it has one.
    pub fn plan<R: Request + ?Sized>(&self, request: &R) -> Option<String> {
        let plan = self.plans.of(request);
        (!plan.is_empty()).then(|| String::from_utf8_lossy(&plan).into_owned())
    }

    fn reason<'p: 'v, 'v, R: Request + ?Sized>(
        &self,
        limit: &'p Compiled,
        request: &R,
        view: &View<'p, 'v, R>,
    ) -> Reason<'p> {
        let when = &limit.spec.when;
        if !limit.spec.is_enabled() {
            return Reason::Disabled;
        }
        let covers = |path: &PathPattern| path.covers(request.path(), self.case);
        if !when.paths().is_empty() && !when.paths().iter().any(covers) {
            return Reason::OtherPath;
        }
        if !view.has_method(limit) {
            return Reason::OtherMethod;
        }
        if let Some(part) = limit.spec.unclear(view) {
            return Reason::Refuses(part, Lack::Several);
        }
        if let Some(unmet) = when.unmet(view, true) {
            return Reason::Unmet(unmet);
        }
        match self.application(limit, request, view) {
            Ok(application) => Reason::Applies(application),
            Err(NoKey::Skipped(part)) => Reason::Skips(part),
            Err(NoKey::Refused(part, lack)) => Reason::Refuses(part, lack),
        }
    }

    fn application<'p: 'v, 'v, R: Request + ?Sized>(
        &self,
        limit: &'p Compiled,
        request: &R,
        view: &View<'p, 'v, R>,
    ) -> Result<Application<'p>, NoKey<'p>> {
        let (spec, mut key, mut other) = (&limit.spec, Vec::new(), None);
        let overrides = limit.overrides.as_deref();
        for (nth, part) in spec.by.iter().enumerate() {
            let (used, value) = part_value(spec, part, request, view)?;
            if nth == 0 && std::ptr::eq(used, part) {
                other = overrides.and_then(|others| others.find(&value));
            }
            key.push((used, self.shown(&value)));
        }
        let path = spec.when.paths().iter().find(|path| path.covers(request.path(), self.case));
        let of_plan = match other {
            None => overrides.and_then(|others| others.of_plan(|| view.plan())),
            Some(_) => None,
        };
        let plan = of_plan.map(|_| String::from_utf8_lossy(view.plan()).into_owned());
        Ok(Application {
            path,
            key,
            windows: windows(spec, other.or(of_plan)),
            overridden: other.is_some(),
            plan,
            cost: spec.cost.of(request, view),
        })
    }

    fn shown(&self, value: &PartValue<'_>) -> String {
        match value {
            PartValue::Bytes(bytes) => String::from_utf8_lossy(bytes).escape_debug().to_string(),
            PartValue::Address(address) => match Key::network(*address, self.ipv6_prefix) {
                Key::Net(net) if address.to_canonical().is_ipv6() => {
                    format!("{}/{}", std::net::Ipv6Addr::from_bits(net.bits()), net.prefix())
                }
                _ => address.to_canonical().to_string(),
            },
            PartValue::Missing | PartValue::Several => String::new(),
        }
    }
}
