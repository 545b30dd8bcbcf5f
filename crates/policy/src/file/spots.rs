//! Where in the file each part of a policy was written.

use std::collections::HashMap;
use std::ops::Range;

use crate::config::{Problem, Section, Text};
use crate::finding::{Finding, Place};
use crate::list::Which;

/// Where in the file each part of a policy was written.
#[derive(Default)]
pub(super) struct Spots {
    limits: Vec<LimitSpots>,
    routes: Vec<Spot>,
    allow: Vec<Spot>,
    deny: Vec<Spot>,
}

/// Where one limit's keys were written.
pub(super) struct LimitSpots {
    whole: Spot,
    keys: HashMap<&'static str, Spot>,
    overrides: Vec<Spot>,
}

/// Bytes of the file, and the variable that holds what they stand for.
#[derive(Clone)]
struct Spot {
    span: Range<usize>,
    variable: Option<String>,
}

impl Spot {
    fn of(text: &Text) -> Spot {
        Spot { span: text.span(), variable: text.variable().map(str::to_owned) }
    }
}

impl Spots {
    pub(super) fn limit(&mut self, limit: LimitSpots) {
        self.limits.push(limit);
    }

    pub(super) fn route(&mut self, route: &Text) {
        self.routes.push(Spot::of(route));
    }

    /// A value of a list, under a key that may come from a variable as well.
    pub(super) fn listed(&mut self, which: Which, key: &Text, value: &Text) {
        let variable = value.variable().or(key.variable()).map(str::to_owned);
        let spot = Spot { span: value.span(), variable };
        match which {
            Which::Allow => self.allow.push(spot),
            Which::Deny => self.deny.push(spot),
        }
    }

    /// What was found, at its place.
    pub(super) fn problem(
        &self,
        tell: impl Fn(Range<usize>, String, String) -> Problem,
        finding: &Finding,
    ) -> Problem {
        let limit = |nth: usize| self.limits.get(nth);
        let spot = match finding.place {
            Place::Limit(nth, key) => limit(nth).map(|limit| limit.spot(key)),
            Place::Override(nth, at) => limit(nth).map(|limit| limit.overridden_at(at)),
            Place::Allow(nth) => self.allow.get(nth),
            Place::Deny(nth) => self.deny.get(nth),
            Place::Route(nth) => self.routes.get(nth),
            Place::Whole => None,
        };
        let span = spot.map_or(0..0, |spot| spot.span.clone());
        let variable = match finding.place {
            Place::Limit(nth, _) => limit(nth).and_then(|limit| limit.variable(finding.quoted())),
            _ => spot.and_then(|spot| spot.variable.as_deref()),
        };
        let message = match variable {
            None => finding.message().to_owned(),
            Some(name) => Text::hidden(name),
        };
        tell(span, message, finding.expected().to_owned())
    }
}

impl LimitSpots {
    /// The spots of a limit that begins at `span`.
    pub(super) fn new(span: Range<usize>) -> LimitSpots {
        let whole = Spot { span, variable: None };
        LimitSpots { whole, keys: HashMap::new(), overrides: Vec::new() }
    }

    /// Remembers where the values of a section's keys stand, and which came from a variable.
    pub(super) fn section(&mut self, section: &Section<'_>) {
        for (key, span, variable) in section.places() {
            self.keys.insert(key, Spot { span, variable: variable.map(str::to_owned) });
        }
    }

    /// Remembers where an override stands: the value that has other rates.
    pub(super) fn overridden(&mut self, value: &Text) {
        self.overrides.push(Spot::of(value));
    }

    /// Where the override of this number stands, or the file it comes from.
    fn overridden_at(&self, at: usize) -> &Spot {
        self.overrides.get(at).unwrap_or_else(|| self.spot("overrides_file"))
    }

    fn spot(&self, key: &str) -> &Spot {
        self.keys.get(key).unwrap_or(&self.whole)
    }

    /// The variable that the value of one of these keys came from.
    fn variable(&self, keys: &[&'static str]) -> Option<&str> {
        keys.iter().find_map(|key| self.keys.get(key)?.variable.as_deref())
    }
}
