//! JSON lines: one object for each request.

mod object;

use serde::de::DeserializeSeed as _;
use tollgate_core::Span;
use tollgate_policy::KeyPart;

use super::combined::number;
use super::dialect::{Dialect, Unit};
use super::times::Times;
use super::{Field, Fields, Unreadable};
use crate::entry::{Client, Entry, Line, Others};
use object::{Found, Name, Object, Sink, name};

/// Which names of an object stand for which fields.
#[derive(Debug)]
pub(super) struct Map {
    names: Vec<Name>,
    /// What each of them tells. Of several places for one field the first one here counts.
    tells: Vec<Told>,
    took: Unit,
    found: Vec<Found>,
}

/// What a value tells.
#[derive(Debug)]
struct Told {
    field: Field,
    /// Its number among the further parts that are wanted, if it is one of those.
    nth: Option<u16>,
}

impl Map {
    pub(super) fn new(dialect: &Dialect, fields: &Fields, wanted: &[KeyPart]) -> Map {
        let (names, tells, found) = (Vec::new(), Vec::new(), Vec::new());
        let mut map = Map { names, tells, took: dialect.took, found };
        let given = fields.given.iter().map(|(field, name)| (field, name.as_str()));
        let own = dialect.names.iter().map(|(field, name)| (field, *name));
        for (field, place) in given.chain(own) {
            map.tell(place, field.clone(), wanted);
        }
        for part in wanted {
            if let KeyPart::Header(name) = part {
                map.tell(&dialect.headers.place(name), Field::Part(part.clone()), wanted);
            }
        }
        map
    }

    /// Remembers what stands at a place: under this name, and, where there are dots in it, also under
    /// the last name in the objects that the others are. A part that nobody wants is left out.
    fn tell(&mut self, place: &str, field: Field, wanted: &[KeyPart]) {
        let nth = match &field {
            Field::Part(part) => {
                let nth = wanted.iter().zip(0_u16..).find(|(wanted, _)| *wanted == part);
                let Some((_, nth)) = nth else { return };
                Some(nth)
            }
            _ => None,
        };
        let tells = self.tells.len();
        self.tells.push(Told { field, nth });
        name(&mut self.names, place).tells.push(tells);
        if let Some((outer, inner)) = place.split_once('.') {
            let mut at = name(&mut self.names, outer);
            for part in inner.split('.') {
                at = name(&mut at.inner, part);
            }
            at.tells.push(tells);
        }
    }

    pub(super) fn parse<'l>(
        &mut self,
        line: &[u8],
        times: &mut Times,
        scratch: &'l mut Vec<u8>,
    ) -> Result<Entry<'l>, Unreadable> {
        scratch.clear();
        self.found.clear();
        let mut json = serde_json::Deserializer::from_slice(line);
        let mut sink = Sink { scratch, found: &mut self.found };
        let object = Object { names: &self.names, sink: &mut sink };
        let read = object.deserialize(&mut json).and_then(|()| json.end());
        read.map_err(|_| Unreadable { expected: "one JSON object" })?;
        // What comes first of one place stays first, so that a header's values keep their order.
        self.found.sort_by_key(|found| found.tells);
        let scratch: &'l [u8] = scratch;
        let text = |field| {
            let is_told = |found: &&Found| {
                self.tells.get(found.tells).is_some_and(|told| told.field == field)
            };
            let text = scratch.get(self.found.iter().find(is_told)?.text.clone())?;
            (!matches!(text, b"" | b"-")).then_some(text)
        };
        let at = text(Field::Time).and_then(|text| times.any(text));
        Ok(Entry {
            at: at
                .ok_or(Unreadable { expected: "a field that tells the time, of 1970 to 2255" })?,
            client: text(Field::Client).map_or(Client::Absent, Client::read),
            user: text(Field::User),
            request: request(text(Field::Method), text(Field::Target), text(Field::Request))
                .ok_or(Unreadable { expected: "a field that tells the request or its path" })?,
            host: text(Field::Host),
            status: text(Field::Status).and_then(status),
            bytes: text(Field::Bytes).and_then(number),
            length: text(Field::Length).and_then(number),
            took: text(Field::Took).and_then(|text| took(text, self.took)),
            referer: text(Field::Referer),
            agent: text(Field::Agent),
            others: self.others(scratch),
        })
    }

    /// The further parts. If one is told in several places, the first of those alone counts.
    fn others<'l>(&self, scratch: &'l [u8]) -> Others<'l> {
        let mut others = Others::new();
        let mut last = None;
        for found in &self.found {
            let Some(nth) = self.tells.get(found.tells).and_then(|told| told.nth) else { continue };
            let is_told = others.iter().any(|(other, _)| *other == nth);
            if (!is_told || last == Some(found.tells))
                && let Some(text) = scratch.get(found.text.clone())
            {
                others.push((nth, text));
                last = Some(found.tells);
            }
        }
        others
    }
}

/// The request by its method and target, or by its whole line. A target alone is taken for a GET.
fn request<'l>(
    method: Option<&'l [u8]>,
    target: Option<&'l [u8]>,
    line: Option<&'l [u8]>,
) -> Option<Line<'l>> {
    match (method, target, line) {
        (method, Some(target), _) => {
            Some(Line::of(method.unwrap_or(b"GET"), target).unwrap_or(Line::Garbled(target)))
        }
        (_, None, Some(line)) => Some(Line::read(line)),
        (_, None, None) => None,
    }
}

/// Envoy and Caddy write 0 where a client was never answered.
fn status(text: &[u8]) -> Option<u16> {
    number(text).and_then(|status| u16::try_from(status).ok()).filter(|status| *status > 0)
}

fn took(text: &[u8], unit: Unit) -> Option<Span> {
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let seconds = match unit {
        Unit::Seconds => number,
        Unit::Millis => number / 1e3,
        Unit::Nanos => number / 1e9,
    };
    std::time::Duration::try_from_secs_f64(seconds).ok().map(Span::from)
}
