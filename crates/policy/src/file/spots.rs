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
        let spot = match finding.place {
            Place::Limit(nth, key) => self.limits.get(nth).map(|limit| limit.spot(key)),
            Place::Allow(nth) => self.allow.get(nth),
            Place::Deny(nth) => self.deny.get(nth),
            Place::Route(nth) => self.routes.get(nth),
            Place::Whole => None,
        };
        let (span, variable) = match spot {
            Some(spot) => (spot.span.clone(), spot.variable.as_deref()),
            None => (0..0, None),
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
        LimitSpots { whole: Spot { span, variable: None }, keys: HashMap::new() }
    }

    /// Remembers where the values of a section's keys stand.
    pub(super) fn section(&mut self, section: &Section<'_>) {
        for (key, span) in section.places() {
            self.keys.entry(key).or_insert(Spot { span, variable: None });
        }
    }

    /// Remembers that one of a key's texts came from a variable.
    pub(super) fn texts(&mut self, key: &'static str, texts: &[Text]) {
        if let Some(text) = texts.iter().find(|text| text.variable().is_some()) {
            self.keys.insert(key, Spot::of(text));
        }
    }

    fn spot(&self, key: &str) -> &Spot {
        self.keys.get(key).unwrap_or(&self.whole)
    }
}
