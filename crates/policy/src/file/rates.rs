//! The rates of a limit: its windows, and those of its overrides.

use tollgate_core::{
    Algorithm, Limit, LimitError, OnError, Queue, Quota, QuotaError, Resolution, Span,
};

use crate::calendar::Every;
use crate::config::{Problem, Reading, Text, Value};

/// How rates are written, for messages.
pub(super) const EXPECTED: &str = "an amount and its period, such as `\"100/minute\"`, \
    `\"5 per 15 minutes\"` or `\"10/s burst 20\"`";

/// Several rates need windows of several lengths, and a calendar has one.
pub(super) const ONE_RATE: &str = "one rate beside a `window` of a calendar";

/// The largest burst: what a quota can hold.
const MOST: u64 = 1 << 53;

/// What all windows of a limit have in common.
pub(super) struct Form<'f> {
    pub(super) name: &'f str,
    pub(super) algorithm: Algorithm,
    /// What of a calendar the windows are, if they are.
    pub(super) every: Option<Every>,
    pub(super) queue: Line,
    pub(super) resolution: Option<Resolution>,
    pub(super) on_error: OnError,
    /// Per cent.
    pub(super) lease: u8,
}

/// How long the queue of a leaky bucket may grow, by whatever is said of it.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) length: Option<u64>,
    pub(super) max_wait: Option<Span>,
}

impl Line {
    /// The shorter of the two for a rate.
    fn of(self, quota: Quota) -> Queue {
        let places = |wait: Span| {
            let passing = u128::from(quota.amount()) * u128::from(wait.as_micros());
            passing.checked_div(u128::from(quota.period().as_micros())).unwrap_or(0)
        };
        match (self.length, self.max_wait) {
            (None, None) => Queue::Length(0),
            (Some(length), Some(wait)) if u128::from(length) > places(wait) => Queue::MaxWait(wait),
            (Some(length), _) => Queue::Length(length),
            (None, Some(wait)) => Queue::MaxWait(wait),
        }
    }
}

impl Form<'_> {
    /// The quota that a rate writes.
    ///
    /// # Errors
    /// What was expected.
    pub(super) fn quota(&self, rate: &str) -> Result<Quota, String> {
        let Some(every) = self.every else {
            let expected = |error: QuotaError| {
                let said = error.to_string();
                said.split_once("expected ").map_or(EXPECTED, |(_, expected)| expected).to_owned()
            };
            return rate.parse().map_err(expected);
        };
        // Units of a calendar are not equally long: what is told is the longest.
        let (unit, length) = match every {
            Every::Day => ("day", "1d"),
            Every::Week => ("week", "7d"),
            Every::Month => ("month", "31d"),
        };
        let amount = rate.trim_end().strip_suffix(unit).map(str::trim_end);
        let amount = amount.and_then(|a| a.strip_suffix('/').or_else(|| a.strip_suffix(" per")));
        let quota = amount.and_then(|amount| format!("{amount}/{length}").parse().ok());
        quota.ok_or_else(|| {
            format!("an amount for the unit of the calendar in `window`, such as `\"1000/{unit}\"`")
        })
    }

    /// Whether so many rates can be windows of one limit.
    pub(super) fn takes(&self, rates: usize) -> bool {
        self.every.is_none() || rates < 2
    }

    /// The limit of one of so many rates.
    pub(super) fn limit(&self, quota: Quota, rates: usize) -> Result<Limit, LimitError> {
        let name = match rates {
            1 => self.name.to_owned(),
            _ => format!("{}-{}", self.name, quota.period()),
        };
        let algorithm = match self.algorithm {
            Algorithm::LeakyBucket(_) => Algorithm::LeakyBucket(self.queue.of(quota)),
            other => other,
        };
        let mut limit = Limit::builder(&name, quota)
            .algorithm(algorithm)
            .on_error(self.on_error)
            .lease(self.lease);
        if let Some(resolution) = self.resolution {
            limit = limit.resolution(resolution);
        }
        limit.build()
    }
}

/// A burst that stands in a key of its own.
pub(super) struct Burst {
    burst: u64,
    span: std::ops::Range<usize>,
    /// Whether a variable holds it, so that no message may quote it.
    secret: bool,
}

impl Burst {
    pub(super) fn read(value: Value<'_>) -> Option<Burst> {
        let (span, secret) = (value.span(), !value.is_number());
        value.integer(1..=MOST).map(|burst| Burst { burst, span, secret })
    }
}

/// The windows that `rates` write; all problems are told before the list is given up.
pub(super) fn windows(
    reading: &Reading<'_>,
    form: &Form<'_>,
    rates: &[Text],
    burst: Option<&Burst>,
) -> Option<Vec<Limit>> {
    if let (Some(burst), [_, _, ..]) = (burst, rates) {
        reading.report(Problem::error(
            burst.span.clone(),
            "one `burst` for several rates",
            "the burst within each rate, as in `\"10/s burst 20\"`",
        ));
        return None;
    }
    if let (false, [_, second, ..]) = (form.takes(rates.len()), rates) {
        reading.refuse(second, "several rates in one calendar", ONE_RATE);
        return None;
    }
    let windows: Vec<_> = rates
        .iter()
        .map(|rate| {
            let quota = with_burst(reading, rate, quota(reading, form, rate)?, burst)?;
            let secret = burst.is_some_and(|burst| burst.secret);
            let limit = form.limit(quota, rates.len());
            limit.map_err(|error| refuse(reading, rate, secret, &error)).ok()
        })
        .collect();
    windows.into_iter().collect()
}

fn quota(reading: &Reading<'_>, form: &Form<'_>, rate: &Text) -> Option<Quota> {
    let quota = form.quota(rate.as_str());
    let refuse = |expected| {
        reading.refuse(rate, format!("`{}` is not a rate", rate.shown()), expected);
    };
    quota.map_err(refuse).ok()
}

fn with_burst(
    reading: &Reading<'_>,
    rate: &Text,
    quota: Quota,
    burst: Option<&Burst>,
) -> Option<Quota> {
    let Some(burst) = burst else { return Some(quota) };
    if quota.burst().is_some() {
        let message = format!("the burst is given twice, here and in the rate `{}`", rate.shown());
        let expected = "the burst in one of the two places";
        reading.report(Problem::error(burst.span.clone(), message, expected));
        return None;
    }
    let with_burst = quota.with_burst(burst.burst);
    with_burst
        .map_err(|_| {
            let message = "a rate of nothing has no burst";
            let expected = "no `burst` beside a rate of 0";
            reading.report(Problem::error(burst.span.clone(), message, expected));
        })
        .ok()
}

fn refuse(reading: &Reading<'_>, rate: &Text, secret: bool, error: &LimitError) {
    let why = if secret { "the burst does not fit the rate".to_owned() } else { error.to_string() };
    let expected = match error.fitting_tick() {
        Some(tick) if !secret => {
            format!("a rate that can be counted exactly, or `tick = \"{tick}\"`")
        }
        _ => "a rate that the algorithm can count exactly".to_owned(),
    };
    reading.refuse(rate, why, expected);
}
