//! What a case expects.

use http::{HeaderName, StatusCode};
use tollgate_core::Span;
use tollgate_policy::config::{Problem, Section, Text, Value, nearest};

use super::{Reader, SPAN, TIMES};
use crate::cases::expected::{Expected, Header};

pub(super) const EXPECT: &str = "a status, `\"200 x5\"` for five in a row, a table such as \
    `{ status = 429, limit = \"login\", retry_after = \"15m\" }`, or a list of these";
const LIMIT: &str = "the name of a limit of the file";

impl Reader<'_> {
    /// What is expected, each so often in a row; `times` is how often in all, if it is said.
    #[expect(clippy::option_option, reason = "whether it is said, and whether it is a number")]
    pub(super) fn expects(
        &self,
        value: Value<'_>,
        times: Option<Option<u64>>,
    ) -> Option<Vec<(u32, Expected)>> {
        let span = value.span();
        // Each is read whatever is wrong with the others.
        let each: Vec<_> = value.items().into_iter().map(|item| self.expected(item)).collect();
        let mut expects = each.into_iter().collect::<Option<Vec<_>>>()?;
        let sum: u64 = expects.iter().map(|(times, _)| u64::from(*times)).sum();
        match (times, expects.as_mut_slice()) {
            (Some(None), _) => return None,
            (Some(Some(times)), [(one @ 1, _)]) => *one = u32::try_from(times).ok()?,
            (Some(Some(times)), _) if sum != times => {
                let message = format!("{sum} answers are expected to {times} requests");
                self.error(span, &message, "as many as `times` says, or no `times`");
                return None;
            }
            (None, []) => {
                self.error(span, "nothing is expected", EXPECT);
                return None;
            }
            _ if sum > TIMES.into() => {
                self.error(span, "these are too many requests", "at most 100000 in a step");
                return None;
            }
            _ => {}
        }
        Some(expects)
    }

    /// How often in a row, and what.
    fn expected(&self, value: Value<'_>) -> Option<(u32, Expected)> {
        if value.is_number() {
            let status = Some(self.status(value)?);
            return Some((1, Expected { status, ..Expected::default() }));
        }
        if value.is_table() {
            return self.expected_table(value.section()?);
        }
        let text = value.text(EXPECT)?;
        let (status, times) = match text.as_str().split_once(" x") {
            None => (text.as_str(), Some(1)),
            Some((status, times)) => (status, times.parse().ok()),
        };
        let times = times.filter(|times| (1..=TIMES).contains(times));
        let status = status.parse::<u16>().ok().filter(|status| (200..=599).contains(status));
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        if times.is_none() || status.is_none() {
            let why = format!("`{}` is no answer", text.shown());
            self.reading.refuse(&text, why, EXPECT);
        }
        Some((times?, Expected { status: Some(status?), ..Expected::default() }))
    }

    fn expected_table(&self, mut section: Section<'_>) -> Option<(u32, Expected)> {
        let times = section.integer("times", 1..=TIMES.into()).unwrap_or(1);
        let status = section.take("status").and_then(|status| self.status(status));
        let limit = section.text("limit", LIMIT);
        if let Some(limit) = &limit {
            self.know(limit);
        }
        let retry_after = section.text("retry_after", SPAN);
        let retry_after = retry_after.and_then(|text| self.reading.parse::<Span>(&text, SPAN));
        let wait = section.text("wait", SPAN).and_then(|text| self.length(&text));
        let remaining = section.integer("remaining", 0..=1 << 53);
        let upstream = section.text("upstream", "the name of an upstream");
        let headers = section.section("headers").map(|headers| self.wanted(headers));
        Some((
            u32::try_from(times).ok()?,
            Expected {
                status,
                limit: limit.map(Text::into_string),
                retry_after: retry_after.map(Span::as_secs_ceil),
                wait,
                remaining,
                upstream: upstream.map(Text::into_string),
                headers: headers.unwrap_or_default(),
            },
        ))
    }

    /// Complains of a limit that the file does not have: no answer could be by it.
    fn know(&self, limit: &Text) {
        let windows = self
            .policy
            .limits()
            .flat_map(|spec| spec.limits().iter().map(|window| window.name()).chain([spec.name()]));
        let names: Vec<_> = windows.collect();
        if !names.contains(&limit.as_str()) {
            let message = format!("there is no limit `{}`", limit.shown());
            let meant = nearest(limit.as_str(), names);
            self.reading.report(Problem::error(limit.span(), message, LIMIT).suggest(meant));
        }
    }

    fn wanted(&self, mut section: Section<'_>) -> Vec<(HeaderName, Header)> {
        let mut wanted = Vec::new();
        for (name, value) in section.rest() {
            let header = self.header(&name);
            let is = match value.is_flag() {
                true => value.flag().map(|there| match there {
                    true => Header::Present,
                    false => Header::Absent,
                }),
                false => value
                    .text("the value of a header, `true` for any, or `false` for none")
                    .map(|text| Header::Is(text.into_string())),
            };
            wanted.extend(header.zip(is));
        }
        wanted
    }
}
