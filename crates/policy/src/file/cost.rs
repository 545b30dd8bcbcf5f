//! The key `cost`: what a request costs.

use super::bytes::Bytes;
use crate::config::{Problem, Section, Text, Value};
use crate::cost::Cost;
use crate::key::KeyPart;
use crate::when::When;

/// The most a cost can be: what a rule counts exactly.
const MOST: u64 = 1 << 53;

/// Reads the key of a limit; `None` when it is not there, or something is wrong with it, which the
/// reading then tells.
pub(super) fn read(section: &mut Section<'_>) -> Option<Cost> {
    let value = section.take("cost")?;
    if value.is_list() { cases(value) } else { one(value) }
}

/// Costs by condition.
fn cases(value: Value<'_>) -> Option<Cost> {
    let (reading, span) = (value.reading(), value.span());
    let cases: Vec<_> = value
        .items()
        .into_iter()
        .map(|item| {
            let mut case = item.section()?;
            let before = case.reading().errors();
            let when = When::read(&mut case);
            let cost = case.require("cost", "what such a request costs").and_then(one);
            let is_wrong = case.reading().errors() > before;
            Some((when.unwrap_or_default(), cost?)).filter(|_| !is_wrong)
        })
        .collect();
    let cases: Vec<_> = cases.into_iter().collect::<Option<_>>()?;
    if cases.is_empty() {
        let message = "no cost at all";
        let expected = "a number, or costs such as `{ when = \"POST\", cost = 5 }`";
        reading.report(Problem::error(span, message, expected));
        return None;
    }
    let rest = cases.iter().position(|(when, _)| *when == When::default());
    if rest.is_some_and(|rest| rest + 1 < cases.len()) {
        let message = "what stands behind a cost without `when` is never reached";
        reading.report(Problem::error(span, message, "the cost without `when` at the end"));
        return None;
    }
    Some(Cost::Cases(cases))
}

/// One cost: a number, or a table that says where it comes from.
fn one(value: Value<'_>) -> Option<Cost> {
    if !value.is_table() {
        return value.integer(1..=MOST).map(Cost::Fixed);
    }
    let span = value.span();
    let mut table = value.section()?;
    let reading = table.reading();
    let bytes = table.text("bytes", Bytes::EXPECTED);
    let of = table.text("of", "`\"request\"`");
    let header = match bytes {
        Some(_) => None,
        None => table
            .require("header", "the name of a header that trusted peers send, such as `\"x-cost\"`")
            .and_then(|header| header.text("the name of a header, such as `\"x-cost\"`")),
    };
    if let Some(bytes) = bytes {
        return by_size(table, &bytes, of);
    }
    if let Some(of) = of {
        let why = "`of` belongs to `bytes`";
        reading.refuse(&of, why, "`of` only beside `bytes`");
    }
    let mut number = |key, otherwise| match table.take(key) {
        None => Some(otherwise),
        Some(value) => value.integer(1..=MOST),
    };
    let (default, min) = (number("default", 1), number("min", 1));
    let max = table.require("max", "the most a request may cost").and_then(|v| v.integer(1..=MOST));
    let (header, default, min, max) = (header?, default?, min?, max?);
    // A header's name is what a key part may have as one.
    if format!("header:{}", header.as_str()).parse::<KeyPart>().is_err() {
        let message = format!("`{}` is not the name of a header", header.shown());
        reading.refuse(&header, message, "the name of a header, such as `\"x-cost\"`");
        return None;
    }
    let cost = Cost::from_header(header.as_str(), default, min, max);
    if cost.is_none() {
        let message = "the default cost lies outside of `min` and `max`";
        reading.report(Problem::error(span, message, "`min` ≤ `default` ≤ `max`"));
    }
    cost
}

/// A cost by the size of the request.
fn by_size(mut table: Section<'_>, bytes: &Text, of: Option<Text>) -> Option<Cost> {
    let (reading, span) = (table.reading(), table.span());
    let unit = reading.parse::<Bytes>(bytes, Bytes::EXPECTED);
    let of_request = of.is_none_or(|of| {
        let is_request = of.as_str() == "request";
        if !is_request {
            let expected = "`\"request\"`; what an answer has is settled by `charge`";
            let why = format!("a request cannot cost the bytes of `{}`", of.shown());
            reading.refuse(&of, why, expected);
        }
        is_request
    });
    let default = table.require("default", "what a request costs that does not say its length");
    let default = default.and_then(|value| value.integer(1..=MOST));
    let max = match table.take("max") {
        None => None,
        Some(value) => Some(value.integer(1..=MOST)?),
    };
    let (unit, default) = (unit?, default?);
    let cost = Cost::from_bytes(unit.0, default, max);
    if cost.is_none() {
        let message = "the default cost is more than `max`";
        reading.report(Problem::error(span, message, "`default` ≤ `max`"));
    }
    cost.filter(|_| of_request)
}
