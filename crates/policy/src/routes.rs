//! From a path to all patterns that match it, without looking at each.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use matchit::Router;
use smallvec::SmallVec;

use crate::group::Group;
use crate::path::Case;
use crate::pattern::PathPattern;

/// All patterns of a policy.
///
/// A router gives one answer per path, while one path may match `/*`, `/api/*` and `/api/{id}`. So
/// patterns that share a path stand in different routers: within one router at most one matches, and
/// its answer needs no check. There are as many routers as patterns lie above one another, which is
/// seldom more than three. Patterns that cover a single path need none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    literal: HashMap<Box<str>, usize>,
    layers: Vec<Router<usize>>,
    /// From the most to the least specific.
    nodes: Vec<Node>,
}

/// Patterns of one shape, and the limits that are for them.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pattern: PathPattern,
    name: Box<str>,
    limits: Vec<u32>,
    group: Group,
}

impl Node {
    /// The pattern as it was first written.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The limits that are for it.
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }
}

/// The nodes that match a path, from the most to the least specific.
pub(crate) type Found<'p> = SmallVec<[&'p Node; 8]>;

impl Routes {
    /// The routes of these patterns, each with the limit it is for, if any; `group` makes one of the
    /// limits of a pattern.
    pub(crate) fn new(
        patterns: impl IntoIterator<Item = (PathPattern, Option<u32>)>,
        case: Case,
        group: impl Fn(&[u32]) -> Group,
    ) -> Routes {
        let mut by_shape = BTreeMap::new();
        for (pattern, limit) in patterns {
            let folded = pattern.in_case(case);
            let node: &mut Node = by_shape.entry(folded.segments().to_vec()).or_insert_with(|| {
                let name = pattern.to_string().into();
                Node { name, pattern: folded, limits: Vec::new(), group: Group::default() }
            });
            node.limits.extend(limit);
        }
        let mut nodes: Vec<Node> = by_shape.into_values().collect();
        for node in &mut nodes {
            node.group = group(&node.limits);
        }
        let (literal, open): (Vec<_>, Vec<_>) =
            nodes.iter().enumerate().partition(|(_, node)| node.pattern.is_literal());
        let literal = literal.into_iter().flat_map(|(at, node)| {
            node.pattern.routes().map(move |route| (route.into_boxed_str(), at))
        });
        Routes { literal: literal.collect(), layers: layers(&open), nodes }
    }

    /// All that match `path`.
    pub(crate) fn find(&self, path: &str) -> Found<'_> {
        if self.nodes.is_empty() {
            return Found::new();
        }
        let open = self.layers.iter().filter_map(|layer| layer.at(path).ok());
        let mut found: SmallVec<[usize; 8]> = open.map(|hit| *hit.value).collect();
        found.extend(self.literal.get(path).copied());
        found.sort_unstable();
        found.into_iter().filter_map(|at| self.nodes.get(at)).collect()
    }
}

/// Puts each node into the first router that has none it overlaps.
fn layers(nodes: &[(usize, &Node)]) -> Vec<Router<usize>> {
    let mut layers: Vec<(Router<usize>, Vec<&PathPattern>)> = Vec::new();
    for (at, node) in nodes {
        let apart = |there: &[&PathPattern]| !there.iter().any(|p| p.overlaps(&node.pattern));
        let (router, there) = match layers.iter_mut().find(|(_, there)| apart(there)) {
            Some(layer) => layer,
            None => layers.push_mut((Router::new(), Vec::new())),
        };
        for route in node.pattern.routes() {
            let inserted = router.insert(route, *at);
            debug_assert!(inserted.is_ok(), "patterns without a common path agree: {inserted:?}");
        }
        there.push(&node.pattern);
    }
    layers.into_iter().map(|(router, _)| router).collect()
}
