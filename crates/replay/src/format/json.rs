//! JSON lines: one object for each request.

use std::fmt;
use std::io::Write as _;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tollgate_core::Span;
use tollgate_policy::KeyPart;

use super::combined::number;
use super::dialect::{Dialect, Unit};
use super::times::Times;
use super::{Field, Fields, Unreadable};
use crate::entry::{Client, Entry, Line, Others};

/// Which names of an object stand for which fields.
#[derive(Debug)]
pub(super) struct Map {
    names: Vec<Name>,
    took: Unit,
    found: Vec<Found>,
}

/// A name in an object: what its value tells, and the names in its value if that is an object.
#[derive(Debug)]
struct Name {
    name: Box<str>,
    tells: Vec<Told>,
    inner: Vec<Name>,
}

/// What a value tells. Of several places for one field that of the least rank counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    slot: Slot,
    rank: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Time,
    Client,
    User,
    Request,
    Method,
    Target,
    Host,
    Status,
    Bytes,
    Length,
    Took,
    Referer,
    Agent,
    Other(u16),
}

/// A value, in the scratch.
#[derive(Clone, Debug)]
struct Found {
    told: Told,
    text: Range<usize>,
}

impl Map {
    pub(super) fn new(dialect: &Dialect, fields: &Fields, wanted: &[KeyPart]) -> Map {
        let mut map = Map { names: Vec::new(), took: dialect.took, found: Vec::new() };
        let given = fields.given.iter().map(|(field, name)| (field, name.as_str()));
        let own = dialect.names.iter().map(|(field, name)| (field, *name));
        for ((field, place), rank) in given.chain(own).zip(0u16..) {
            if let Some(slot) = Slot::of(field, wanted) {
                map.tell(place, Told { slot, rank });
            }
        }
        for (part, nth) in wanted.iter().zip(0u16..) {
            if let KeyPart::Header(name) = part {
                let told = Told { slot: Slot::Other(nth), rank: u16::MAX };
                map.tell(&dialect.headers.place(name), told);
            }
        }
        map
    }

    /// Remembers what stands at a place: under this name, and, where there are dots in it, also under
    /// the last name in the objects that the others are.
    fn tell(&mut self, place: &str, told: Told) {
        name(&mut self.names, place).tells.push(told);
        if let Some((outer, inner)) = place.split_once('.') {
            let mut at = name(&mut self.names, outer);
            for part in inner.split('.') {
                at = name(&mut at.inner, part);
            }
            at.tells.push(told);
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
        // What comes first of equal rank stays first, so that a header's values keep their order.
        self.found.sort_by_key(|found| found.told.rank);
        let scratch: &'l [u8] = scratch;
        let text = |slot| {
            let found = self.found.iter().find(|found| found.told.slot == slot)?;
            let text = scratch.get(found.text.clone())?;
            (!matches!(text, b"" | b"-")).then_some(text)
        };
        let at = text(Slot::Time).and_then(|text| times.any(text));
        Ok(Entry {
            at: at.ok_or(Unreadable { expected: "a field that tells the time" })?,
            client: text(Slot::Client).map_or(Client::Absent, Client::read),
            user: text(Slot::User),
            request: request(text(Slot::Method), text(Slot::Target), text(Slot::Request))
                .ok_or(Unreadable { expected: "a field that tells the request or its path" })?,
            host: text(Slot::Host),
            status: text(Slot::Status).and_then(status),
            bytes: text(Slot::Bytes).and_then(number),
            length: text(Slot::Length).and_then(number),
            took: text(Slot::Took).and_then(|text| took(text, self.took)),
            referer: text(Slot::Referer),
            agent: text(Slot::Agent),
            others: others(&self.found, scratch),
        })
    }
}

impl Slot {
    fn of(field: &Field, wanted: &[KeyPart]) -> Option<Slot> {
        Some(match field {
            Field::Time => Slot::Time,
            Field::Client => Slot::Client,
            Field::User => Slot::User,
            Field::Request => Slot::Request,
            Field::Method => Slot::Method,
            Field::Target => Slot::Target,
            Field::Host => Slot::Host,
            Field::Status => Slot::Status,
            Field::Bytes => Slot::Bytes,
            Field::Length => Slot::Length,
            Field::Took => Slot::Took,
            Field::Referer => Slot::Referer,
            Field::Agent => Slot::Agent,
            Field::Part(part) => {
                let nth = wanted.iter().position(|wanted| wanted == part)?;
                Slot::Other(u16::try_from(nth).ok()?)
            }
        })
    }
}

fn name<'n>(names: &'n mut Vec<Name>, text: &str) -> &'n mut Name {
    let at = names.iter().position(|name| *name.name == *text).unwrap_or_else(|| {
        names.push(Name { name: text.into(), tells: Vec::new(), inner: Vec::new() });
        names.len() - 1
    });
    names.get_mut(at).expect("it was found or put there")
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

/// The further parts. If one is told in several places, that of the least rank alone counts.
fn others<'l>(found: &[Found], scratch: &'l [u8]) -> Others<'l> {
    let mut others = Others::new();
    for Found { told, text } in found {
        let Slot::Other(nth) = told.slot else { continue };
        let best = found.iter().find(|other| other.told.slot == told.slot);
        if best.is_some_and(|best| best.told.rank == told.rank)
            && let Some(text) = scratch.get(text.clone())
        {
            others.push((nth, text));
        }
    }
    others
}

/// Where values are put.
struct Sink<'s> {
    scratch: &'s mut Vec<u8>,
    found: &'s mut Vec<Found>,
}

impl Sink<'_> {
    fn put(&mut self, tells: &[Told], write: impl FnOnce(&mut Vec<u8>)) {
        if tells.is_empty() {
            return;
        }
        let from = self.scratch.len();
        write(self.scratch);
        let text = from..self.scratch.len();
        self.found.extend(tells.iter().map(|told| Found { told: *told, text: text.clone() }));
    }
}

/// An object whose names are known.
struct Object<'n, 's, 'k> {
    names: &'n [Name],
    sink: &'k mut Sink<'s>,
}

impl<'de> DeserializeSeed<'de> for Object<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Known { names: self.names })? {
            match name {
                Some(name) => map.next_value_seed(Value { name, sink: &mut *self.sink })?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A name that may be known.
struct Known<'n> {
    names: &'n [Name],
}

impl<'de, 'n> DeserializeSeed<'de> for Known<'n> {
    type Value = Option<&'n Name>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'n> Visitor<'_> for Known<'n> {
    type Value = Option<&'n Name>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.names.iter().find(|name| *name.name == *text))
    }
}

/// The value of a name that is known.
struct Value<'n, 's, 'k> {
    name: &'n Name,
    sink: &'k mut Sink<'s>,
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.sink.put(&self.name.tells, |scratch| scratch.extend_from_slice(text.as_bytes()));
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        // Writing to a vector does not fail, here and below.
        self.sink.put(&self.name.tells, |scratch| drop(write!(scratch, "{number}")));
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.sink.put(&self.name.tells, |scratch| drop(write!(scratch, "{number}")));
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.sink.put(&self.name.tells, |scratch| drop(write!(scratch, "{number}")));
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Value { name: self.name, sink: &mut *self.sink })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        Object { names: &self.name.inner, sink: self.sink }.visit_map(map)
    }
}
