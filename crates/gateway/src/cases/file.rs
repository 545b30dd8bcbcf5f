//! The file of cases.

mod expects;

use std::path::Path;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use tollgate_core::{Span, Tick};
use tollgate_policy::Policy;
use tollgate_policy::config::{
    Problem, Reading, Section, Source, Text, Value, nearest, process_environment,
};

use super::Case;
use super::step::{Answer, Step};
use crate::described::{Described, HeaderLine, instant};
use expects::EXPECT;

/// Monday, 5 January 2026, 12:00 UTC: in the midst of a day, a week, a month and office hours.
const NOON: Tick = Tick::from_micros(1_767_614_400_000_000);

/// The most requests of a step.
const TIMES: u32 = 100_000;

const CASES: &str = "at least one `[[case]]`";
const NAME: &str = "a name for the case, such as `name = \"the sixth login is refused\"`";
const AFTER: &str = "the name of a case further up, from whose counts this one goes on";
const AT: &str = "an instant such as `2026-03-29T09:00:00Z` or `2026-03-29T09:00:00+02:00`";
const REQUEST: &str = "a method and a target, such as `POST /api/auth/login`, or a target alone";
const PEER: &str = "the address of who connects, such as `203.0.113.9`";
const HEADERS: &str = "a table of headers, each with a value or a list of values";
const CERTIFICATE: &str = "the name in the client's certificate";
const CLAIMS: &str = "the text of a claim";
const SPAN: &str = "a length of time such as `1s` or `15m`";

/// Reads the cases for a file of limits.
///
/// # Errors
/// All that is wrong with them, in the words for their author.
pub(crate) fn read(path: &Path, policy: &Policy) -> Result<Vec<Case>, String> {
    let source = Source::read(path).map_err(|error| format!("{error}\n"))?;
    let text = source.text().to_owned();
    let reading = Reading::new(source, &process_environment);
    let reader = Reader { reading: &reading, text: &text, policy };
    let cases = reader.cases();
    let problems = reading.finish();
    if problems.has_errors() { Err(problems.to_string()) } else { Ok(cases) }
}

struct Reader<'r> {
    reading: &'r Reading<'r>,
    text: &'r str,
    policy: &'r Policy,
}

impl Reader<'_> {
    fn cases(&self) -> Vec<Case> {
        let mut root = self.reading.root();
        let sections = root.sections("case");
        if sections.is_empty() {
            self.error(0..0, "there is no case", CASES);
        }
        let mut cases: Vec<Case> = Vec::new();
        for section in sections {
            if let Some(case) = self.case(section, &cases) {
                cases.push(case);
            }
        }
        cases
    }

    fn case(&self, mut section: Section<'_>, earlier: &[Case]) -> Option<Case> {
        let name = section.require("name", NAME).and_then(|name| name.text(NAME));
        let beginning = self.beginning(&mut section, earlier);
        let usual = self.request(&mut section, &Usual::default());
        let steps = section.take("step");
        let steps = match steps {
            Some(steps) => {
                let steps = steps.sections().into_iter().map(|mut step| {
                    let request = self.request(&mut step, &usual);
                    self.step(step, request)
                });
                // Each is read whatever is wrong with the others.
                let steps: Vec<_> = steps.collect();
                steps.into_iter().collect::<Option<Vec<_>>>()
            }
            None => self.step(section, usual).map(|step| vec![step]),
        };
        let name = name?;
        if earlier.iter().any(|case| case.name == name.as_str()) {
            let message = "there is a case of this name before";
            self.reading.refuse(&name, message, "a name of its own for every case");
        }
        let (start, after) = beginning?;
        Some(Case { name: name.into_string(), start, after, steps: steps? })
    }

    /// When counts are fresh, and the place of the case that it goes on from.
    fn beginning(
        &self,
        section: &mut Section<'_>,
        earlier: &[Case],
    ) -> Option<(Tick, Option<usize>)> {
        let at = section.text("at", AT);
        let Some(after) = section.text("after", AFTER) else {
            let start = at.map(|at| self.instant(&at));
            return Some((start.unwrap_or(Some(NOON))?, None));
        };
        if let Some(at) = at {
            let why = "a case goes on when the one before it has ended";
            self.reading.refuse(&at, why, "`wait` instead of `at` beside `after`");
        }
        let found = (0..).zip(earlier).find(|(_, case)| case.name == after.as_str());
        if found.is_none() {
            let message = format!("there is no case `{}` above this one", after.shown());
            let meant = nearest(after.as_str(), earlier.iter().map(|case| &*case.name));
            self.reading.report(Problem::error(after.span(), message, AFTER).suggest(meant));
        }
        found.map(|(place, case)| (case.start, Some(place)))
    }

    fn instant(&self, text: &Text) -> Option<Tick> {
        let instant = instant(text.as_str());
        if instant.is_none() {
            let why = format!("`{}` is no instant since 1970", text.shown());
            self.reading.refuse(text, why, AT);
        }
        instant
    }

    /// What is sent and what the service behind answers; what is not said is as usual.
    fn request(&self, section: &mut Section<'_>, usual: &Usual) -> Usual {
        let mut own = usual.clone();
        if let Some(text) = section.text("request", REQUEST) {
            own.request = self.line(&text).or(own.request);
            own.is_wrong |= own.request.is_none();
        }
        let peer = section.text("peer", PEER);
        if let Some(peer) = peer.and_then(|text| self.reading.parse(&text, PEER)) {
            own.described.peer = peer;
        }
        if let Some(headers) = section.section("headers") {
            own.described.headers = self.headers(headers);
        }
        if let Some(certificate) = section.text("certificate", CERTIFICATE) {
            own.described.certificate = Some(certificate.into_string());
        }
        if let Some(mut claims) = section.section("claims") {
            let claims = claims.rest().into_iter().filter_map(|(name, value)| {
                Some((name.into_string(), value.text(CLAIMS)?.into_string()))
            });
            own.described.claims = claims.collect();
        }
        if let Some(answer) = section.take("answer").and_then(|answer| self.answer(answer)) {
            own.answer = answer;
        }
        own
    }

    fn line(&self, text: &Text) -> Option<(Method, Uri)> {
        let (method, target) = text.as_str().split_once(' ').unwrap_or(("GET", text.as_str()));
        let parsed = Method::from_bytes(method.as_bytes()).ok().zip(target.parse::<Uri>().ok());
        // Else a method alone would be taken for a host.
        let parsed = parsed.filter(|_| target.starts_with('/') || target.contains("://"));
        if parsed.is_none() {
            let why = format!("`{}` is no request", text.shown());
            self.reading.refuse(text, why, REQUEST);
        }
        parsed
    }

    fn headers(&self, mut section: Section<'_>) -> Vec<HeaderLine> {
        let mut lines = Vec::new();
        for (name, value) in section.rest() {
            let Some(header) = self.header(&name) else { continue };
            for text in value.texts(HEADERS).unwrap_or_default() {
                match HeaderValue::from_str(text.as_str()) {
                    Ok(value) => lines.push(HeaderLine(header.clone(), value)),
                    Err(_) => self.reading.refuse(&text, "no header can have this value", HEADERS),
                }
            }
        }
        lines
    }

    fn header(&self, name: &Text) -> Option<HeaderName> {
        let parsed = HeaderName::from_bytes(name.as_str().as_bytes()).ok();
        if parsed.is_none() {
            self.reading.refuse(name, "this is no name of a header", HEADERS);
        }
        parsed
    }

    /// A status alone, or all of an answer.
    fn answer(&self, value: Value<'_>) -> Option<Answer> {
        if !value.is_table() {
            return Some(Answer { status: self.status(value)?, ..Answer::default() });
        }
        let mut section = value.section()?;
        let mut answer = Answer::default();
        if let Some(status) = section.take("status").and_then(|status| self.status(status)) {
            answer.status = status;
        }
        if let Some(headers) = section.section("headers") {
            let lines = self.headers(headers).into_iter();
            answer.headers =
                lines.fold(HeaderMap::new(), |mut headers, HeaderLine(name, value)| {
                    headers.append(name, value);
                    headers
                });
        }
        if let Some(body) = section.text("body", "the body of the answer") {
            answer.body = body.into_string().into();
        }
        Some(answer)
    }

    fn status(&self, value: Value<'_>) -> Option<StatusCode> {
        let status = value.integer(200..=599).and_then(|status| u16::try_from(status).ok())?;
        StatusCode::from_u16(status).ok()
    }

    fn step(&self, mut section: Section<'_>, usual: Usual) -> Option<Step> {
        let span = section.span();
        let line = self.text.get(..span.start).unwrap_or_default().matches('\n').count() + 1;
        let times = section.take("times").map(|times| times.integer(1..=TIMES.into()));
        let (every, wait) = (self.span(&mut section, "every"), self.span(&mut section, "wait"));
        let expects = section.require("expect", EXPECT).and_then(|e| self.expects(e, times));
        let Usual { request, is_wrong, mut described, answer } = usual;
        match request {
            Some((method, target)) => (described.method, described.target) = (method, target),
            None if is_wrong => return None,
            None => {
                self.error(span, "`request` is missing", REQUEST);
                return None;
            }
        }
        Some(Step { described, answer, wait: wait?, every: every?, expects: expects?, line })
    }

    fn span(&self, section: &mut Section<'_>, key: &'static str) -> Option<Span> {
        match section.text(key, SPAN) {
            None => Some(Span::ZERO),
            Some(text) => self.length(&text),
        }
    }

    /// A length of time that may be none.
    fn length(&self, text: &Text) -> Option<Span> {
        match text.as_str() {
            "0s" => Some(Span::ZERO),
            _ => self.reading.parse(text, SPAN),
        }
    }

    fn error(&self, span: std::ops::Range<usize>, message: &str, expected: &str) {
        self.reading.report(Problem::error(span, message, expected));
    }
}

/// What is sent unless a step says otherwise.
#[derive(Clone, Default)]
struct Usual {
    request: Option<(Method, Uri)>,
    /// Whether a request was written that is none.
    is_wrong: bool,
    described: Described,
    answer: Answer,
}
