//! `[[route]]`: which requests go to which upstream, and what changes on the way.

use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderName, HeaderValue};
use tollgate_core::Span;
use tollgate_policy::When;
use tollgate_policy::config::{Problem, Section, Text, nearest};

use super::upstream::UpstreamSpec;
use crate::route::{Edits, Prefix, Refused, Rewrite, Route};
use crate::upstream::{Pool, Protocol, Silence};

/// One route of the file.
#[derive(Clone)]
pub(crate) struct RouteSpec {
    pub(crate) when: When,
    /// The place of its upstream in the file's list.
    pub(crate) upstream: usize,
    pub(crate) rewrite: Rewrite,
    pub(crate) silence: Silence,
    pub(crate) upgrades: Box<[Box<str>]>,
    pub(crate) request: Edits,
    pub(crate) response: Edits,
}

impl RouteSpec {
    /// Whether no request is left for the routes behind it.
    pub(super) fn takes_all(&self) -> bool {
        self.when == When::default() && self.rewrite.strip.is_none()
    }

    /// Reads one `[[route]]`. Each key is read whatever is wrong with the others.
    pub(super) fn read(mut section: Section<'_>, upstreams: &[UpstreamSpec]) -> Option<RouteSpec> {
        let when = when(&mut section);
        let upstream = upstream(&mut section, upstreams);
        let rewrite = Rewrite {
            strip: prefix(&mut section, "strip_prefix"),
            add: prefix(&mut section, "add_prefix"),
        };
        let silence = silence(&mut section).unwrap_or_default();
        let upgrades = upgrades(&mut section, upstream.and_then(|at| upstreams.get(at)));
        let request = edits(&mut section, "request_headers");
        let response = edits(&mut section, "response_headers");
        Some(RouteSpec {
            when: when.unwrap_or_default(),
            upstream: upstream?,
            rewrite,
            silence,
            upgrades,
            request,
            response,
        })
    }

    /// All requests to the upstream at this place, unchanged.
    pub(super) fn to(upstream: usize) -> RouteSpec {
        RouteSpec {
            when: When::default(),
            upstream,
            rewrite: Rewrite::default(),
            silence: Silence::default(),
            upgrades: usual_upgrades(),
            request: Edits::default(),
            response: Edits::default(),
        }
    }
}

impl RouteSpec {
    /// The route over a pool.
    pub(super) fn route(&self, pool: Arc<Pool>) -> Route {
        Route {
            when: self.when.clone(),
            pool,
            rewrite: self.rewrite.clone(),
            silence: self.silence,
            upgrades: self.upgrades.clone(),
            request: self.request.clone(),
            response: self.response.clone(),
        }
    }
}

fn when(section: &mut Section<'_>) -> Option<When> {
    let when = When::read(section)?;
    if !when.is_of_the_request_alone() {
        let message = "a route cannot depend on a plan or a schedule";
        let expected =
            "`method`, `path`, `host`, `header`, `query`, `client` or `not` in its `when`";
        section.reading().report(Problem::error(section.span(), message, expected));
    }
    Some(when)
}

fn upstream(section: &mut Section<'_>, upstreams: &[UpstreamSpec]) -> Option<usize> {
    let expected = "the `name` of an `[[upstream]]`";
    let name = section.require("upstream", expected)?.text(expected)?;
    let place = upstreams.iter().position(|upstream| upstream.name == name.as_str());
    if place.is_none() {
        let message = format!("`{}` is no upstream of this file", name.shown());
        let names = upstreams.iter().map(|upstream| &*upstream.name);
        let meant = nearest(name.as_str(), names).filter(|_| name.variable().is_none());
        let problem = Problem::error(name.span(), message, expected);
        section.reading().report(problem.suggest(meant));
    }
    place
}

fn prefix(section: &mut Section<'_>, key: &'static str) -> Option<Prefix> {
    let text = section.text(key, Prefix::EXPECTED)?;
    let parsed = Prefix::parse(text.as_str());
    if let Err(why) = parsed {
        section.reading().refuse(&text, why, Prefix::EXPECTED);
    }
    parsed.ok()
}

fn silence(section: &mut Section<'_>) -> Option<Silence> {
    const EXPECTED: &str = "a length of time such as `5s`, or `off`";
    let text = section.text("timeout", EXPECTED)?;
    if text.as_str() == "off" {
        return Some(Silence::Endless);
    }
    let span: Duration = section.reading().parse::<Span>(&text, EXPECTED)?.into();
    Some(Silence::AtMost(span))
}

fn usual_upgrades() -> Box<[Box<str>]> {
    ["websocket".into()].into()
}

fn upgrades(section: &mut Section<'_>, upstream: Option<&UpstreamSpec>) -> Box<[Box<str>]> {
    let expected = "names of protocols, such as `[\"websocket\"]`; `[]` for none";
    let Some(names) = section.texts("upgrades", expected) else { return usual_upgrades() };
    let reading = section.reading();
    let over_http2 = upstream.is_some_and(|upstream| upstream.protocol == Protocol::Http2);
    for name in &names {
        if name.as_str().eq_ignore_ascii_case("h2c") {
            let why =
                "to change to HTTP/2 in midst of a connection would be a way around the limits";
            reading.refuse(name, why, expected);
        } else if HeaderName::from_bytes(name.as_str().replace('/', "-").as_bytes()).is_err() {
            reading.refuse(name, "this is no name of a protocol", expected);
        } else if over_http2 {
            let why = "connections of `protocol = \"http2\"` cannot be switched";
            reading.refuse(
                name,
                why,
                "no `upgrades` on a route to this upstream, or `http1` there",
            );
        }
    }
    names.iter().map(|name| name.as_str().to_ascii_lowercase().into()).collect()
}

fn edits(section: &mut Section<'_>, key: &'static str) -> Edits {
    let Some(mut section) = section.section(key) else { return Edits::default() };
    let expected = "a table of headers, such as `set = { x-service = \"shop\" }`";
    let reading = section.reading();
    let mut edits = Edits::default();
    if let Some(mut set) = section.section("set") {
        for (name, value) in set.rest() {
            let header = header(&set, &name, Edits::refused_to_set);
            let Some(value) = value.text("the value of a header") else { continue };
            match (header, HeaderValue::from_str(value.as_str())) {
                (Some(header), Ok(value)) => edits.set.push((header, value)),
                (None, _) => {}
                (_, Err(_)) => reading.refuse(&value, "no header can have this value", expected),
            }
        }
    }
    let names = section.texts("remove", "names of headers, such as `[\"x-internal\"]`");
    for name in names.unwrap_or_default() {
        edits.remove.extend(header(&section, &name, Edits::refused_to_remove));
    }
    edits
}

fn header(
    section: &Section<'_>,
    text: &Text,
    refused: fn(&HeaderName) -> Option<Refused>,
) -> Option<HeaderName> {
    let expected = "the name of a header of the message itself";
    let Ok(name) = HeaderName::from_bytes(text.as_str().as_bytes()) else {
        section.reading().refuse(text, "this is no name of a header", expected);
        return None;
    };
    match refused(&name) {
        None => Some(name),
        Some(refused) => {
            section.reading().refuse(text, format!("`{name}` {}", refused.why()), expected);
            None
        }
    }
}
