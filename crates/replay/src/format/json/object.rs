//! An object, read without a tree: the values of known names are put aside, all others passed over.

use std::fmt;
use std::io::Write as _;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A name in an object: what its value tells, by places among what is told, and the names in its value if
/// that is an object.
#[derive(Debug)]
pub(super) struct Name {
    name: Box<str>,
    pub(super) tells: Vec<usize>,
    pub(super) inner: Vec<Name>,
}

/// A value, in the scratch, and what it tells.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) tells: usize,
    pub(super) text: Range<usize>,
}

/// The name of this text, which is put there if it is not.
pub(super) fn name<'n>(names: &'n mut Vec<Name>, text: &str) -> &'n mut Name {
    let at = names.iter().position(|name| *name.name == *text).unwrap_or_else(|| {
        names.push(Name { name: text.into(), tells: Vec::new(), inner: Vec::new() });
        names.len() - 1
    });
    names.get_mut(at).expect("it was found or put there")
}

/// Where values are put.
pub(super) struct Sink<'s> {
    pub(super) scratch: &'s mut Vec<u8>,
    pub(super) found: &'s mut Vec<Found>,
}

impl Sink<'_> {
    fn put(&mut self, tells: &[usize], write: impl FnOnce(&mut Vec<u8>)) {
        if tells.is_empty() {
            return;
        }
        let from = self.scratch.len();
        write(self.scratch);
        let text = from..self.scratch.len();
        self.found.extend(tells.iter().map(|tells| Found { tells: *tells, text: text.clone() }));
    }
}

/// An object whose names are known.
pub(super) struct Object<'n, 's, 'k> {
    pub(super) names: &'n [Name],
    pub(super) sink: &'k mut Sink<'s>,
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
