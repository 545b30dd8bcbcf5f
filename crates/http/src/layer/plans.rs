//! Quotas that a function of the request tells, such as those of its customer's plan.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use http::Request;
use smallvec::SmallVec;
use tollgate_core::{Limit, Quota};
use tollgate_policy::LimitSpec;
use tracing::error;

use super::head::Head;
use super::rules::Rules;

type QuotaOf = dyn Fn(&Head<'_>, &Limit) -> Option<Quota> + Send + Sync;

/// What differs from the policy, limit by limit in its order.
type Told = [Option<Quota>];

/// The function, and the rules under the quotas it has told.
pub(super) struct Plans {
    quota_of: Arc<QuotaOf>,
    known: RwLock<HashMap<Box<Told>, Arc<Rules>>>,
}

impl Plans {
    /// Kept at most; a table of plans has fewer, and beyond it all are made anew.
    const MOST: usize = 1_024;

    pub(super) fn new(quota_of: Arc<QuotaOf>) -> Plans {
        Plans { quota_of, known: RwLock::default() }
    }

    /// The same function, with nothing kept.
    pub(super) fn anew(&self) -> Plans {
        Plans::new(self.quota_of.clone())
    }
}

impl Rules {
    /// The rules of a request whose plan has other quotas than the policy.
    pub(super) fn planned<B>(&self, request: &Request<B>) -> Option<Arc<Rules>> {
        let plans = self.plans.as_deref()?;
        let head = self.head(request);
        let differing =
            |limit: &Limit| (plans.quota_of)(&head, limit).filter(|quota| *quota != limit.quota());
        let limits = self.policy.limits().flat_map(LimitSpec::every_limit);
        let told: SmallVec<[Option<Quota>; 4]> = limits.map(differing).collect();
        if told.iter().all(Option::is_none) {
            return None;
        }
        // A map is whole whenever its lock is let go.
        let known = plans.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = known.get(&*told) {
            return Some(rules.clone());
        }
        drop(known);
        let rules = Arc::new(self.under(&told));
        let mut known = plans.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Plans::MOST {
            known.clear();
        }
        known.insert(told.into_vec().into(), rules.clone());
        Some(rules)
    }

    /// The same rules under these quotas; one that cannot be is logged, and the policy's own holds.
    fn under(&self, told: &Told) -> Rules {
        let mut told = told.iter();
        let possible = |limit: &Limit| {
            let quota = (*told.next()?)?;
            let error = limit.with_quota(quota).err();
            if let Some(error) = &error {
                error!(%error, limit = limit.name(), "the quota of a plan cannot hold");
            }
            error.is_none().then_some(quota)
        };
        let policy = self.policy.clone().with_quotas(possible);
        let mut rules = self.clone();
        rules.policy = policy.unwrap_or_else(|_| self.policy.clone());
        rules.plans = None;
        rules.changed();
        rules
    }
}
