//! Other quotas for some values of a key's first part.

use std::collections::HashMap;

use tollgate_core::Limit;

use crate::finding::Complaint;
use crate::host::host;
use crate::key::{KeyPart, PartValue, Secret};
use crate::limit_spec::LimitSpec;
use crate::method::Method;
use crate::network::{Network, NetworkError, Networks};
use crate::path::{Case, RequestPath};

/// Other quotas for some values of a key's first part.
#[derive(Clone, Debug, Default)]
pub(super) struct Overrides {
    by_value: HashMap<Secret, usize>,
    by_network: Networks<usize>,
}

impl Overrides {
    /// The overrides of a limit, each with its number there.
    ///
    /// # Errors
    /// When the key has no first part that could have another value, a value cannot be one of it,
    /// or stands there twice; each with the number of the override.
    pub(super) fn of(spec: &LimitSpec, case: Case) -> Result<Overrides, Vec<(usize, Complaint)>> {
        let mut overrides = Overrides::default();
        let complaints: Vec<_> = (spec.overrides.iter().enumerate())
            .filter_map(|(nth, other)| {
                let inserted = overrides.insert(spec.by.first(), case, &other.value, nth);
                Some((nth, inserted.err()?))
            })
            .collect();
        if complaints.is_empty() { Ok(overrides) } else { Err(complaints) }
    }

    /// The windows for a value of the first part, if it has its own.
    pub(super) fn find(&self, value: &PartValue<'_>) -> Option<usize> {
        match value {
            PartValue::Address(address) => self.by_network.find(*address).copied(),
            PartValue::Bytes(bytes) => self.by_value.get(&**bytes).copied(),
            PartValue::Missing | PartValue::Several => None,
        }
    }

    fn insert(
        &mut self,
        part: Option<&KeyPart>,
        case: Case,
        value: &str,
        nth: usize,
    ) -> Result<(), Complaint> {
        let before = match part {
            None | Some(KeyPart::Global) => {
                return Err(Complaint::new(
                    "a key without a first part has no values to override",
                    "`by` to begin with the part whose values the overrides name",
                ));
            }
            Some(KeyPart::Client) => {
                let network: Network = value.parse().map_err(|error| {
                    let message = format!("an override for a client is {error}");
                    Complaint::new(message, NetworkError::EXPECTED)
                })?;
                self.by_network.insert(network, nth)
            }
            Some(KeyPart::Path) => {
                let path = RequestPath::parse(value.as_bytes()).map_err(|error| {
                    let message = format!("an override for a path is none: {error}");
                    Complaint::new(message, "a path such as `/export`")
                })?;
                self.insert_value(&path.matched(case), nth)
            }
            Some(KeyPart::Host) => self.insert_value(&host(value)?, nth),
            Some(KeyPart::Method) => {
                let method: Method = value.to_ascii_uppercase().parse().map_err(|_| {
                    Complaint::new("no request has this method", "a method such as `POST`")
                })?;
                self.insert_value(method.as_str(), nth)
            }
            Some(KeyPart::Route) if !value.starts_with('/') => {
                let expected = "the pattern of a route as it stands in the file or the \
                    application, such as `/users/{id}`";
                return Err(Complaint::new("no request has this route", expected));
            }
            Some(_) => self.insert_value(value, nth),
        };
        match before {
            None => Ok(()),
            Some(_) => Err(Complaint::new("two overrides are for the same value", "one of them")),
        }
    }

    fn insert_value(&mut self, value: &str, nth: usize) -> Option<usize> {
        self.by_value.insert(Secret::new(value.as_bytes()), nth)
    }
}

/// The windows of a limit for a value with its own, or for all others.
pub(super) fn windows(spec: &LimitSpec, other: Option<usize>) -> &[Limit] {
    other.and_then(|nth| spec.overrides.get(nth)).map_or(&spec.windows, |other| &other.windows)
}
