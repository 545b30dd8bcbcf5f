//! From a path to all patterns that match it, without looking at each.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use matchit::Router;
use smallvec::SmallVec;

use crate::group::Group;
use crate::path::Case;
use crate::pattern::{PathPattern, Segment};

/// All patterns of a policy.
///
/// A router gives one answer per path, while one path may match `/*`, `/api/*` and `/api/{id}`. So
/// patterns that share a path stand in different routers: within one router at most one matches, and
/// its answer needs no check. There are as many routers as patterns lie above one another, which is
/// seldom more than three. Patterns that cover a single path need none. Those that begin with a name
/// stand by that name, so that a router of ten thousand is not needed, and few are compared with one
/// another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    literal: HashMap<Box<str>, usize>,
    /// Of patterns that begin with this name.
    by_name: HashMap<Box<str>, Named>,
    /// Of all others.
    open: Layers,
    /// From the most to the least specific.
    nodes: Vec<Node>,
}

type Layers = Vec<Router<usize>>;

/// Patterns that begin with one name.
#[derive(Clone, Debug)]
enum Named {
    /// So few that comparing them is less than walking a router.
    Few(SmallVec<[usize; 4]>),
    Many(Layers),
}

impl Named {
    fn new(nodes: &[(usize, &Node)]) -> Named {
        match nodes.len() {
            ..=4 => Named::Few(nodes.iter().map(|(at, _)| *at).collect()),
            _ => Named::Many(layers(nodes)),
        }
    }
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
        let literal = literal.collect();
        let mut named: HashMap<&str, Vec<(usize, &Node)>> = HashMap::new();
        let mut others = Vec::new();
        for (at, node) in open {
            match node.pattern.segments().first() {
                Some(Segment::Literal(name)) => named.entry(name).or_default().push((at, node)),
                _ => others.push((at, node)),
            }
        }
        let by_name = named.into_iter().map(|(name, nodes)| (name.into(), Named::new(&nodes)));
        Routes { literal, by_name: by_name.collect(), open: layers(&others), nodes }
    }

    /// All patterns, from the most to the least specific.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &PathPattern> {
        self.nodes.iter().map(|node| &node.pattern)
    }

    /// The limits of each pattern.
    pub(crate) fn groups_mut(&mut self) -> impl Iterator<Item = &mut Group> {
        self.nodes.iter_mut().map(|node| &mut node.group)
    }

    /// All that match `path`.
    pub(crate) fn find(&self, path: &str) -> Found<'_> {
        if self.nodes.is_empty() {
            return Found::new();
        }
        let inner = path.strip_prefix('/').unwrap_or(path);
        let named = match self.by_name.is_empty() {
            true => None,
            false => self.by_name.get(inner.split('/').next().unwrap_or_default()),
        };
        let hits = |layers: &Layers| {
            let hits = layers.iter().filter_map(|layer| layer.at(path).ok());
            hits.map(|hit| *hit.value).collect::<SmallVec<[usize; 8]>>()
        };
        let mut found = hits(&self.open);
        match named {
            None => {}
            Some(Named::Many(layers)) => found.extend(hits(layers)),
            Some(Named::Few(few)) => {
                let covers = |at: &&usize| {
                    self.nodes.get(**at).is_some_and(|node| node.pattern.covers(path, Case::Kept))
                };
                found.extend(few.iter().filter(covers).copied());
            }
        }
        found.extend(self.literal.get(path).copied());
        found.sort_unstable();
        found.into_iter().filter_map(|at| self.nodes.get(at)).collect()
    }
}

/// Puts each node into the first router that has none it overlaps.
fn layers(nodes: &[(usize, &Node)]) -> Layers {
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
