//! Limits, lists and routes, compiled: asked of each request.

mod builder;
mod covered;
mod explain;
mod overrides;
mod replayed;
mod select;
mod view;
mod whose;

use std::sync::Arc;

use tollgate_core::{Limit, LimitError, Quota};

use crate::group::Group;
use crate::key::KeyPart;
use crate::limit_spec::LimitSpec;
use crate::list::List;
use crate::method::{MethodSet, Methods};
use crate::path::Case;
use crate::plans::Plans;
use crate::routes::Routes;

pub use builder::PolicyBuilder;
pub use explain::{Application, Explanation, Reason};
use overrides::Overrides;
pub use select::{Free, Lack, Matched, Matches, Refused, Scratch, Selection};

/// Which limits apply to which request.
///
/// Built from a file by [`Policy::read`] or from code by [`Policy::builder`]; never changed after.
///
/// ```
/// use tollgate_core::{Limit, Quota};
/// use tollgate_policy::{LimitSpec, Policy};
/// let login = LimitSpec::new(Limit::new("login", Quota::per_minute(5))?)
///     .when("POST /login".parse()?)
///     .also(Limit::new("login-day", Quota::per_day(100))?);
/// let policy = Policy::builder().limit(login).ipv6_prefix(56).build()?;
/// let login = policy.limits().next().ok_or("one limit was given")?;
/// assert_eq!((login.name(), login.limits().len()), ("login", 2));
/// assert_eq!(policy.ipv6_prefix(), 56);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Policy {
    limits: Vec<Compiled>,
    /// The limits that are for every path.
    everywhere: Group,
    routes: Routes,
    methods: Methods,
    allow: List,
    deny: List,
    preflights: Preflights,
    plans: Plans,
    case: Case,
    ipv6_prefix: u8,
}

/// A limit as it is asked.
#[derive(Clone, Debug)]
struct Compiled {
    spec: LimitSpec,
    methods: MethodSet,
    /// Shared by copies, since there may be 100,000; nothing when there is none.
    overrides: Option<Arc<Overrides>>,
}

/// What becomes of a browser's question before a request across origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preflights {
    /// It costs nothing: it is not the user's doing, and a refused one breaks the page.
    #[default]
    Free,
    /// It is limited like any other request.
    Limited,
}

impl Policy {
    /// A policy made by code.
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder::default()
    }

    /// The limits in the order they were given, disabled ones too.
    pub fn limits(&self) -> impl Iterator<Item = &LimitSpec> {
        self.limits.iter().map(|limit| &limit.spec)
    }

    /// The parts of a request that tell its plan.
    pub fn planned_by(&self) -> impl Iterator<Item = KeyPart> {
        self.plans.asked()
    }

    /// Whether a request may be under this plan.
    pub(crate) fn may_plan(&self, plan: &str) -> bool {
        self.plans.may_be(plan)
    }

    /// How the paths of requests have to be matched, for
    /// [`RequestPath::matched`](crate::RequestPath::matched).
    #[must_use]
    pub fn case(&self) -> Case {
        self.case
    }

    /// How many bits of an IPv6 address stand for one client.
    #[must_use]
    pub fn ipv6_prefix(&self) -> u8 {
        self.ipv6_prefix
    }

    /// The same policy with another number of bits of an IPv6 address for one client, 32 to 128;
    /// others are brought into that range.
    #[must_use]
    pub fn with_ipv6_prefix(self, bits: u8) -> Policy {
        Policy { ipv6_prefix: bits.clamp(32, 128), ..self }
    }

    /// The same policy under other quotas: `quota_of` is asked of every limit, overrides included, in
    /// the order of [`Policy::limits`] and [`LimitSpec::every_limit`]; nothing means that one stays.
    /// The counts are the same.
    ///
    /// ```
    /// use tollgate_core::{Limit, Quota};
    /// use tollgate_policy::{LimitSpec, Policy};
    /// let free = LimitSpec::new(Limit::new("plan", Quota::per_day(100))?);
    /// let policy = Policy::builder().limit(free).build()?;
    /// let paid = policy.with_quotas(|_| Some(Quota::per_day(5_000)))?;
    /// let capacities = paid.limits().flat_map(LimitSpec::limits).map(Limit::capacity);
    /// assert!(capacities.eq([5_000]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Limit::with_quota`].
    pub fn with_quotas(
        mut self,
        mut quota_of: impl FnMut(&Limit) -> Option<Quota>,
    ) -> Result<Policy, LimitError> {
        for limit in self.limits.iter_mut().flat_map(|limit| limit.spec.every_limit_mut()) {
            if let Some(quota) = quota_of(limit) {
                *limit = limit.with_quota(quota)?;
            }
        }
        Ok(self)
    }
}
