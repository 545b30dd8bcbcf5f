//! The key `charge`: a cost that only the answer tells.

use super::bytes::Bytes;
use crate::config::{Problem, Reading, Section, Text};
use crate::key::KeyPart;
use crate::settlement::{Measure, Settlement};

const EXPECTED: &str = "one of `header`, `json` and `bytes`, as in \
    `{ header = \"x-tokens-used\", estimate = 500 }`";

/// The most keys within each other that lead to a number in JSON.
const DEEPEST: usize = 16;

/// Reads the key of a limit; `None` when it is not there, or something is wrong with it, which the
/// reading then tells.
pub(super) fn read(section: &mut Section<'_>) -> Option<Settlement> {
    let mut table = section.section("charge")?;
    let (reading, span) = (table.reading(), table.span());
    let header = table.text("header", "the name of a header of the answer");
    let json = table.text("json", "keys with dots between, such as `\"usage.total_tokens\"`");
    let bytes = table.text("bytes", Bytes::EXPECTED);
    let of = table.text("of", "`\"answer\"`");
    let estimate = table.integer("estimate", 1..=Settlement::MOST);
    let most = table.integer("most", 1..=Settlement::MOST).unwrap_or(Settlement::MOST);
    let is_of_bytes = bytes.is_some();
    let measure = match (header, json, bytes) {
        (Some(header), None, None) => of_header(reading, &header),
        (None, Some(json), None) => of_json(reading, &json),
        (None, None, Some(bytes)) => {
            let unit = reading.parse::<Bytes>(&bytes, Bytes::EXPECTED);
            unit.map(|unit| Measure::Bytes(unit.0))
        }
        _ => {
            let message = "`charge` has to say where the answer tells the cost, once";
            reading.report(Problem::error(span.clone(), message, EXPECTED));
            None
        }
    };
    if let Some(of) = of.filter(|of| !is_of_bytes || of.as_str() != "answer") {
        let why = format!("what is settled cannot be `of = \"{}\"`", of.shown());
        let expected = "`of = \"answer\"` beside `bytes`; what a request has is a `cost`";
        reading.refuse(&of, why, expected);
        return None;
    }
    let settlement = Settlement::new(measure?, estimate.unwrap_or(1), most);
    if settlement.is_none() {
        let message = "the estimate is more than `most`";
        reading.report(Problem::error(span, message, "`estimate` ≤ `most`"));
    }
    settlement
}

fn of_header(reading: &Reading<'_>, name: &Text) -> Option<Measure> {
    match format!("header:{}", name.as_str()).parse() {
        Ok(KeyPart::Header(name)) => Some(Measure::Header(name)),
        _ => {
            let message = format!("`{}` is not the name of a header", name.shown());
            reading.refuse(name, message, "the name of a header, such as `\"x-tokens-used\"`");
            None
        }
    }
}

fn of_json(reading: &Reading<'_>, path: &Text) -> Option<Measure> {
    let keys: Vec<Box<str>> = path.as_str().split('.').map(Box::from).collect();
    if keys.len() > DEEPEST || keys.iter().any(|key| key.is_empty()) {
        let message = format!("`{}` does not lead to a number in JSON", path.shown());
        let expected = "up to 16 keys with dots between, such as `\"usage.total_tokens\"`";
        reading.refuse(path, message, expected);
        return None;
    }
    Some(Measure::Json(keys))
}
