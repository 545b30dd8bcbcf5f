//! Where requests go: the upstreams of the file and the routes to them.

use std::collections::HashSet;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tollgate_http::Head;
use tollgate_policy::config::{Problem, Section};
use tollgate_policy::{Case, When};

use super::route::RouteSpec;
use super::upstream::{UpstreamSpec, UpstreamWaits};
use crate::route::{Otherwise, Routes};
use crate::upstream::{Address, Gate, GateSpec, Meters, Pool};

/// The upstreams of the file and the routes to them.
#[derive(Clone)]
pub(crate) struct Destinations {
    pub(crate) upstreams: Vec<UpstreamSpec>,
    /// In the order of the file.
    pub(crate) routes: Vec<RouteSpec>,
    /// For what fits none of the routes.
    pub(crate) otherwise: Option<RouteSpec>,
    pub(crate) waits: UpstreamWaits,
}

impl Destinations {
    /// Reads `upstream` of `[server]`, every `[[upstream]]` and every `[[route]]`. `listen` are the
    /// addresses of the gateway itself.
    pub(super) fn read(
        root: &mut Section<'_>,
        server: Option<&mut Section<'_>>,
        listen: &[SocketAddr],
        waits: UpstreamWaits,
    ) -> Destinations {
        let single = server.and_then(|server| {
            let text = server.text("upstream", Address::EXPECTED)?;
            UpstreamSpec::single(server, &text, listen, &waits)
        });
        let otherwise = single.as_ref().map(|_| RouteSpec::to(0));
        let mut upstreams: Vec<UpstreamSpec> = single.into_iter().collect();
        let named = upstreams.len();
        let mut spans = Vec::new();
        let mut broken = false;
        for section in root.sections("upstream") {
            let (reading, span) = (section.reading(), section.span());
            let Some(spec) = UpstreamSpec::read(section, listen, &waits) else {
                broken = true;
                continue;
            };
            if upstreams.iter().any(|other| other.name == spec.name) {
                let message = format!("there is an upstream `{}` before", spec.name);
                let expected =
                    "a name of its own for every upstream; that of `[server]` is `default`";
                reading.report(Problem::error(span.clone(), message, expected));
            }
            spans.push(span);
            upstreams.push(spec);
        }
        let sections = root.sections("route");
        let reading = root.reading();
        // A route to an upstream that could not be read would be told of twice.
        let routes: Vec<RouteSpec> = if broken {
            sections.into_iter().for_each(Section::ignore_rest);
            Vec::new()
        } else {
            sections.into_iter().filter_map(|one| RouteSpec::read(one, &upstreams)).collect()
        };
        let used: HashSet<usize> = routes.iter().map(|route| route.upstream).collect();
        let own = upstreams.iter().enumerate().skip(named).zip(&spans);
        for ((_, spec), span) in own.filter(|((place, _), _)| !broken && !used.contains(place)) {
            let message = format!("no route goes to the upstream `{}`", spec.name);
            let expected = format!("a `[[route]]` with `upstream = \"{}\"`", spec.name);
            reading.report(Problem::warning(span.clone(), message, expected));
        }
        Destinations { upstreams, routes, otherwise, waits }
    }

    /// What stands before upstreams, for people: a line for each that has a gate.
    pub(crate) fn gates(&self) -> Gates<'_> {
        Gates(self)
    }

    /// The files that are named, whose changes matter.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.upstreams.iter().filter_map(|upstream| upstream.ca_file.as_deref())
    }
}

/// The upstreams that are open.
#[derive(Default)]
pub(crate) struct Pools(Mutex<Vec<Open>>);

/// An upstream, and what it was opened from.
#[derive(Clone)]
struct Open {
    spec: UpstreamSpec,
    waits: UpstreamWaits,
    pool: Arc<Pool>,
}

impl Open {
    /// Whether it is one of those that are described.
    fn is_of(&self, described: &Destinations) -> bool {
        let same = |spec: &UpstreamSpec| self.spec.is_as(spec);
        self.waits == described.waits && described.upstreams.iter().any(same)
    }
}

impl Destinations {
    /// Opens the upstreams: their servers are asked after from now on. Those that are open as they are
    /// described stay as they are, with what is known of their servers; others are closed.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn open(&self, meters: &Meters, open: &Pools, case: Case) -> Routes {
        // Pools are whole whenever they are not locked.
        let mut open = open.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (stay, go): (Vec<_>, Vec<_>) = open.drain(..).partition(|one| one.is_of(self));
        go.iter().for_each(|one| one.pool.forget(meters));
        // Whatever else of an upstream has changed, its gate goes on with what it holds and knows.
        let gate = |name: &str, spec: GateSpec| {
            let before = go.iter().find(|one| one.spec.name == name);
            let before = before.and_then(|one| one.pool.gate());
            Gate::renewed(name, spec, before.map(|gate| &**gate), &meters.gates)
        };
        let is_named = |name: &str| self.upstreams.iter().any(|spec| spec.name == name);
        for gone in go.iter().filter(|one| !is_named(&one.spec.name)) {
            gate(&gone.spec.name, GateSpec::default());
        }
        *open = (self.upstreams.iter())
            .map(|spec| {
                let stays = stay.iter().find(|one| one.spec.name == spec.name);
                stays.cloned().unwrap_or_else(|| Open {
                    spec: spec.clone(),
                    waits: self.waits,
                    pool: Pool::new(spec.plan(&self.waits, gate(&spec.name, spec.gate)), meters),
                })
            })
            .collect();
        let pools: Vec<_> = open.iter().map(|one| one.pool.clone()).collect();
        let open = |spec: &RouteSpec| Some(spec.route(pools.get(spec.upstream)?.clone()));
        let otherwise = match (&self.otherwise, self.routes.is_empty()) {
            (Some(route), _) => open(route).map(Box::new).map(Otherwise::Upstream),
            (None, true) => Some(Otherwise::Echo),
            (None, false) => None,
        };
        Routes {
            routes: self.routes.iter().filter_map(open).collect(),
            otherwise: otherwise.unwrap_or(Otherwise::Nothing),
            case,
        }
    }
}

/// Where a request goes, as the file says it.
pub(crate) enum Way<'d> {
    /// To the upstream of this name through its gate, by a route of this condition or, without one, as
    /// all others.
    Upstream { name: &'d str, gate: GateSpec, when: Option<&'d When> },
    /// To the echo, where a file names no upstream at all.
    Echo,
    /// It is answered 404.
    Nowhere,
}

impl Destinations {
    /// The way of a request, for people; nothing is opened for it.
    pub(crate) fn way(&self, head: &Head<'_>, case: Case) -> Way<'_> {
        let to = |route: &RouteSpec, when| match self.upstreams.get(route.upstream) {
            Some(upstream) => Way::Upstream { name: &upstream.name, gate: upstream.gate, when },
            None => Way::Nowhere,
        };
        let first = self.routes.iter().find(|route| {
            route.when.fits(head, case) && route.rewrite.target(head.uri()).is_some()
        });
        match (first, &self.otherwise) {
            (Some(route), _) => to(route, Some(&route.when)),
            (None, Some(route)) => to(route, None),
            (None, None) if self.routes.is_empty() => Way::Echo,
            (None, None) => Way::Nowhere,
        }
    }
}

impl fmt::Display for Destinations {
    /// A line for each way of a request.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for route in &self.routes {
            let Some(upstream) = self.upstreams.get(route.upstream) else { continue };
            writeln!(f, "  {} to {upstream}", route.when)?;
        }
        let otherwise =
            self.otherwise.as_ref().and_then(|route| self.upstreams.get(route.upstream));
        // A route that takes every request leaves nothing for what comes behind it.
        if self.routes.iter().any(RouteSpec::takes_all) {
            return Ok(());
        }
        match (otherwise, self.routes.is_empty()) {
            (Some(upstream), true) => writeln!(f, "  in front of {upstream}"),
            (Some(upstream), false) => writeln!(f, "  everything else to {upstream}"),
            (None, true) => writeln!(f, "  in front of an echo, since the file names no upstream"),
            (None, false) => writeln!(f, "  everything else is answered 404"),
        }
    }
}

/// The gates of upstreams, for people.
pub(crate) struct Gates<'d>(&'d Destinations);

impl fmt::Display for Gates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for upstream in self.0.upstreams.iter().filter(|upstream| !upstream.gate.is_open()) {
            writeln!(f, "  upstream {}: {}", upstream.name, upstream.gate)?;
        }
        Ok(())
    }
}
