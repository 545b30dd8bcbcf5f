//! Other quotas for some values of a key's first part, and for some plans.

use std::collections::HashMap;

use tollgate_core::Limit;

use crate::finding::Complaint;
use crate::key::{KeyPart, PartValue};
use crate::limit_spec::LimitSpec;
use crate::path::Case;
use crate::values::Values;

/// Other quotas of a limit: the numbers of its alternatives.
#[derive(Clone, Debug, Default)]
pub(super) struct Overrides {
    by_value: Values<u32>,
    by_plan: HashMap<Box<[u8]>, u32>,
}

impl Overrides {
    /// Those of a limit.
    ///
    /// # Errors
    /// When the key has no first part that could have another value, a value cannot be one of it,
    /// or stands there twice; each with the number of the override.
    pub(super) fn of(spec: &LimitSpec, case: Case) -> Result<Overrides, Vec<(usize, Complaint)>> {
        let mut overrides = Overrides::default();
        let mut complaints = Vec::new();
        for (nth, other) in spec.overrides.iter().enumerate() {
            let inserted = match spec.by.first() {
                None | Some(KeyPart::Global) => Err(Complaint::new(
                    "a key without a first part has no values to override",
                    "`by` to begin with the part whose values the overrides name",
                )),
                Some(part) => overrides.by_value.insert(part, case, &other.value, other.windows),
            };
            complaints.extend(inserted.err().map(|complaint| (nth, complaint)));
        }
        overrides.by_plan =
            spec.plans.iter().map(|(plan, at)| (plan.as_bytes().into(), *at)).collect();
        if complaints.is_empty() { Ok(overrides) } else { Err(complaints) }
    }

    /// The alternative for a value of the first part, if it has its own.
    #[inline]
    pub(super) fn find(&self, value: &PartValue<'_>) -> Option<u32> {
        self.by_value.find(value)
    }

    /// The alternative for a plan, if it has its own.
    #[inline]
    pub(super) fn of_plan<'v>(&self, plan: impl Fn() -> &'v [u8]) -> Option<u32> {
        if self.by_plan.is_empty() { None } else { self.by_plan.get(plan()).copied() }
    }
}

/// The windows of a limit for a value or a plan with its own, or for all others.
pub(super) fn windows(spec: &LimitSpec, other: Option<u32>) -> &[Limit] {
    let other = other.and_then(|at| spec.alternatives.get(usize::try_from(at).ok()?));
    other.unwrap_or(&spec.windows)
}
