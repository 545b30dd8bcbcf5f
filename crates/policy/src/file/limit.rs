//! One `[[limit]]`.

use tollgate_core::{Algorithm, Anchor, OnError, Queue, Resolution, Span};

use super::overrides::Written;
use super::rates::{self, Burst, Form, Line};
use super::spots::{LimitSpots, Spots};
use super::{charge, cost, window};
use crate::calendar::Every;
use crate::config::{Problem, Reading, Section, Text, Value, nearest};
use crate::key::{KeyPart, KeyPartError};
use crate::limit_answer::LimitAnswer;
use crate::limit_spec::{Count, Fallback, LimitSpec};
use crate::message::Message;
use crate::statuses::Statuses;
use crate::when::When;

/// The algorithms by name. `gcra` is another name of the token bucket. The queue of a leaky bucket
/// stands in keys of its own.
const ALGORITHMS: [(&str, Algorithm); 6] = [
    ("token-bucket", Algorithm::TokenBucket),
    ("gcra", Algorithm::TokenBucket),
    ("leaky-bucket", Algorithm::LeakyBucket(Queue::Length(0))),
    ("fixed-window", Algorithm::FixedWindow(Anchor::Spread)),
    ("sliding-window", Algorithm::SlidingWindow),
    ("sliding-log", Algorithm::SlidingLog),
];

const TICKS: [(&str, Resolution); 3] =
    [("1us", Resolution::Micros), ("1ms", Resolution::Millis), ("1s", Resolution::Seconds)];

const ON_ERRORS: [(&str, OnError); 3] =
    [("local", OnError::Local), ("deny", OnError::Deny), ("allow", OnError::Allow)];

const COUNTS: [(&str, Count); 3] =
    [("all", Count::All), ("failures", Count::Failures), ("successes", Count::Successes)];

/// Reads one `[[limit]]`. Each key is read whatever is wrong with the others, so that all problems
/// are told at once.
pub(super) fn read_limit(mut section: Section<'_>, spots: &mut Spots) -> Option<LimitSpec> {
    let reading = section.reading();
    let mut own = LimitSpots::new(section.span());
    let spec = windows(&mut section, &mut own);
    let by = parts(&mut section);
    let fallback = fallback(&mut section);
    let when = When::read(&mut section);
    let cost = cost::read(&mut section);
    let settlement = charge::read(&mut section);
    let answer = answer(&mut section);
    let count = section.choice("count", &COUNTS);
    let failures = failures(&mut section, count);
    let message = section
        .text("message", "a text, perhaps with `{retry_after}`, `{limit}` or `{name}`")
        .and_then(|text| reading.parse::<Message>(&text, MESSAGE));
    let shadow = section.flag("shadow").unwrap_or(false);
    let enabled = section.flag("enabled").unwrap_or(true);

    let mut spec = spec?;
    if let Some(by) = by {
        spec = spec.by(by);
    }
    if let Some(failures) = failures {
        spec = spec.failures(failures);
    }
    if let Some(message) = message {
        spec = spec.message(message);
    }
    spec = spec.answer(answer);
    if let Some(settlement) = settlement {
        spec = spec.settle(settlement);
    }
    if let Some(cost) = cost {
        spec = spec.cost(cost);
    }
    spec = if shadow { spec.shadow() } else { spec };
    spec = if enabled { spec } else { spec.disabled() };
    own.section(&section);
    spots.limit(own);
    Some(
        spec.fallback(fallback.unwrap_or_default())
            .when(when.unwrap_or_default())
            .count(count.unwrap_or_default()),
    )
}

const MESSAGE: &str = "at most 1024 bytes with `{retry_after}`, `{limit}` or `{name}`";

/// The name, the rates and what they have in common.
fn windows(section: &mut Section<'_>, own: &mut LimitSpots) -> Option<LimitSpec> {
    let reading = section.reading();
    let name = section
        .require("name", "a name for the limit, such as `name = \"per-client\"`")
        .and_then(|name| name.text("a name, such as `\"per-client\"`"));
    let rates = section.require("rate", rates::EXPECTED).and_then(|r| r.texts(rates::EXPECTED));
    let burst = section.take("burst").map(Burst::read);
    let (algorithm, every) = algorithm(section).unzip();
    let queue = queue(section, algorithm);
    let resolution = section.choice("tick", &TICKS);
    let on_error = section.choice("on_error", &ON_ERRORS).unwrap_or_default();
    let lease = section.text("lease", LEASE).map(|text| lease(reading, &text, algorithm));
    let others = Written::take(section);

    let (name, rates, algorithm) = (name?, rates?, algorithm?);
    let lease = lease.unwrap_or(Some(0))?;
    let every = every.flatten();
    let form = Form { name: name.as_str(), algorithm, every, queue, resolution, on_error, lease };
    // A burst that cannot be read was told; the rates alone would mean something else.
    let windows = match burst {
        Some(None) => None,
        burst => rates::windows(reading, &form, &rates, burst.flatten().as_ref()),
    };
    let spec = windows.map(|windows| LimitSpec::windows(name.as_str().into(), windows));
    others.read(reading, &form, spec, own)
}

const LEASE: &str = "a part of the capacity from `\"1%\"` to `\"50%\"`";

/// So many per cent.
fn lease(reading: &Reading<'_>, text: &Text, algorithm: Option<Algorithm>) -> Option<u8> {
    let percent = text.as_str().strip_suffix('%').and_then(|digits| digits.trim().parse().ok());
    match (percent, algorithm) {
        (_, Some(Algorithm::LeakyBucket(_))) => {
            let why = "a leaky-bucket leases nothing, since its places have an order";
            reading.refuse(text, why, "no `lease` beside `algorithm = \"leaky-bucket\"`");
            None
        }
        (Some(percent @ 1..=50), _) => Some(percent),
        _ => {
            reading.refuse(text, format!("`{}` is no such part", text.shown()), LEASE);
            None
        }
    }
}

/// The algorithm, and the unit of the calendar that its windows are, if they are one.
fn algorithm(section: &mut Section<'_>) -> Option<(Algorithm, Option<Every>)> {
    let written = section.take("algorithm");
    let algorithm = match written {
        None => Some(Algorithm::TokenBucket),
        Some(value) => value.choice(&ALGORITHMS),
    };
    let Some(window) = section.take("window") else { return Some((algorithm?, None)) };
    let (reading, span) = (section.reading(), window.span());
    let (anchor, every) = window::read(window)?;
    match algorithm? {
        Algorithm::FixedWindow(_) => Some((Algorithm::FixedWindow(anchor), every)),
        other => {
            let message = format!("`window` means nothing to a {other}");
            let expected = "`window` only beside `algorithm = \"fixed-window\"`";
            reading.report(Problem::error(span, message, expected));
            None
        }
    }
}

/// How long the queue of a leaky bucket may grow; who comes too early is refused where nothing says.
fn queue(section: &mut Section<'_>, algorithm: Option<Algorithm>) -> Line {
    let reading = section.reading();
    let length = section.take("queue");
    let max_wait = section.take("max_wait");
    let spans = [("queue", length.as_ref()), ("max_wait", max_wait.as_ref())];
    for (key, value) in spans.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        if let Some(other) = algorithm
            && !matches!(other, Algorithm::LeakyBucket(_))
        {
            let message = format!("`{key}` means nothing to a {other}");
            let expected = format!("`{key}` only beside `algorithm = \"leaky-bucket\"`");
            reading.report(Problem::error(value.span(), message, expected));
        }
    }
    const WAIT: &str = "the longest wait, such as `\"2s\"`";
    Line {
        length: length.and_then(|value| value.integer(1..=1_000_000)),
        max_wait: max_wait
            .and_then(|value| value.text(WAIT))
            .and_then(|text| reading.parse::<Span>(&text, WAIT)),
    }
}

fn parts(section: &mut Section<'_>) -> Option<Vec<KeyPart>> {
    let texts = section.texts("by", KeyPart::EXPECTED)?;
    let parts: Vec<_> = texts.iter().map(|text| part(section.reading(), text)).collect();
    parts.into_iter().collect()
}

fn part(reading: &Reading<'_>, text: &Text) -> Option<KeyPart> {
    let parsed = text.as_str().parse::<KeyPart>();
    parsed
        .map_err(|error| {
            let message = format!("`{}` is not a part of a key", text.shown());
            let meant = error.suggestion().filter(|_| text.variable().is_none());
            reading.report(Problem::error(text.span(), message, KeyPart::EXPECTED).suggest(meant));
        })
        .ok()
}

fn fallback(section: &mut Section<'_>) -> Option<Fallback> {
    let expected = format!("`refuse`, `skip` or one of {}", KeyPart::EXPECTED);
    let text = section.text("fallback", &expected)?;
    let parsed = match text.as_str() {
        "refuse" => Ok(Fallback::Refuse),
        "skip" => Ok(Fallback::Skip),
        part => part.parse().map(Fallback::Part),
    };
    parsed
        .map_err(|error: KeyPartError| {
            let message = format!("`{}` cannot stand in for a part of a key", text.shown());
            let meant = nearest(text.as_str(), ["refuse", "skip"]).or(error.suggestion());
            let meant = meant.filter(|_| text.variable().is_none());
            section.reading().report(Problem::error(text.span(), message, expected).suggest(meant));
        })
        .ok()
}

/// What whoever is refused gets beside or instead of the usual.
fn answer(section: &mut Section<'_>) -> LimitAnswer {
    let reading = section.reading();
    let mut answer = LimitAnswer::default();
    let status = section.integer("status", 400..=599);
    if let Some(status) = status.and_then(|status| u16::try_from(status).ok()) {
        answer = answer.with_status(status);
    }
    let content_type = section.text("content_type", "a type such as `\"application/json\"`");
    if let Some(content_type) = content_type {
        answer = answer.with_content_type(content_type.as_str());
    }
    let body = section.text("body", "a text, perhaps with `{retry_after}`, `{limit}` or `{name}`");
    if let Some(body) = body.and_then(|text| reading.parse::<Message>(&text, MESSAGE)) {
        answer = answer.with_body(body);
    }
    answer
}

fn failures(section: &mut Section<'_>, count: Option<Count>) -> Option<Statuses> {
    let value = section.take("failures")?;
    let (reading, span) = (section.reading(), value.span());
    if count.unwrap_or_default() == Count::All {
        let message = "`failures` means nothing while every answer counts";
        let expected = "`count = \"failures\"` or `count = \"successes\"` beside it";
        reading.report(Problem::warning(span.clone(), message, expected));
    }
    let items: Vec<_> = value.items().into_iter().map(|item| statuses(reading, item)).collect();
    let sets: Vec<Statuses> = items.into_iter().collect::<Option<_>>()?;
    let set = sets.into_iter().reduce(Statuses::and);
    if set.is_none() {
        reading.report(Problem::error(span, "no status at all fails", Statuses::EXPECTED));
    }
    set
}

fn statuses(reading: &Reading<'_>, item: Value<'_>) -> Option<Statuses> {
    if item.is_number() {
        return item.integer(100..=599).and_then(|status| status.to_string().parse().ok());
    }
    reading.parse(&item.text(Statuses::EXPECTED)?, Statuses::EXPECTED)
}
