//! Whether every request is under some limit.

use std::collections::HashMap;

use super::Policy;
use crate::limit_spec::{Fallback, LimitSpec};
use crate::method::MethodSet;
use crate::pattern::{PathPattern, Segment};

/// A limit that holds for every method and asks for nothing beyond paths.
struct Holding<'p> {
    spec: &'p LimitSpec,
    /// The paths that are excepted.
    except: Vec<&'p PathPattern>,
}

/// What is known of patterns: whether all their requests are under a limit. One that is just looked at is
/// taken for not covered, so that limits that except one another cover nothing.
type Known<'p> = HashMap<&'p [Segment], bool>;

impl Policy {
    /// Whether every request is under a limit: those for every path are for every method, do not skip who
    /// lacks a part of their key, and what they except is under others.
    pub(crate) fn covers_everything(&self) -> bool {
        let holds = |spec: &LimitSpec| spec.is_enabled() && spec.fallback != Fallback::Skip;
        let everywhere = self.limits.iter().filter(|limit| {
            let spec = &limit.spec;
            holds(spec) && spec.when.is_plain() && spec.when.is_for_every_path()
        });
        let methods =
            everywhere.fold(MethodSet::EMPTY, |methods, limit| methods.union(limit.methods));
        if methods == MethodSet::ALL {
            return true;
        }
        let of_all_methods = self.limits.iter().filter(|limit| limit.methods == MethodSet::ALL);
        let holding = of_all_methods.filter(|limit| holds(&limit.spec)).filter_map(|limit| {
            Some(Holding { spec: &limit.spec, except: limit.spec.when.excepted_paths()? })
        });
        let holding: Vec<Holding<'_>> = holding.collect();
        let mut known = Known::new();
        let mut open = holding.iter().filter(|one| one.spec.when.is_for_every_path());
        open.any(|one| one.except.iter().all(|pattern| covers(&holding, pattern, &mut known)))
    }
}

/// Whether all requests for a pattern are under a limit: for it, or for what that excepts.
fn covers<'p>(holding: &[Holding<'p>], pattern: &'p PathPattern, known: &mut Known<'p>) -> bool {
    if let Some(is_covered) = known.get(pattern.segments()) {
        return *is_covered;
    }
    known.insert(pattern.segments(), false);
    let is_for = |one: &&Holding<'_>| {
        one.spec.when.paths().iter().any(|path| path.segments() == pattern.segments())
    };
    let is_covered = (holding.iter().filter(is_for))
        .any(|one| one.except.iter().all(|pattern| covers(holding, pattern, known)));
    known.insert(pattern.segments(), is_covered);
    is_covered
}
