//! What is said of some values of a part of requests.

mod prints;

use crate::finding::Complaint;
use crate::host::host;
use crate::key::{KeyPart, PartValue};
use crate::method::Method;
use crate::network::{Network, NetworkError, Networks};
use crate::path::{Case, RequestPath};

use prints::Prints;

/// What is said of some values of one part of requests; of networks, the narrowest counts.
#[derive(Clone, Debug)]
pub(crate) struct Values<T> {
    by_value: Prints<T>,
    by_network: Networks<T>,
}

impl<T> Default for Values<T> {
    fn default() -> Values<T> {
        Values { by_value: Prints::default(), by_network: Networks::default() }
    }
}

impl<T: Copy> Values<T> {
    /// What is said of a value.
    #[inline]
    pub(crate) fn find(&self, value: &PartValue<'_>) -> Option<T> {
        match value {
            PartValue::Address(address) => self.by_network.find(*address).copied(),
            PartValue::Bytes(bytes) => self.by_value.find(bytes),
            PartValue::Missing | PartValue::Several => None,
        }
    }

    /// Says `about` of a value of `part`. No complaint quotes it, since it may be a customer's key.
    ///
    /// # Errors
    /// When it cannot be a value of the part, or something was said of it before.
    pub(crate) fn insert(
        &mut self,
        part: &KeyPart,
        case: Case,
        value: &str,
        about: T,
    ) -> Result<(), Complaint> {
        let before = match part {
            KeyPart::Client => {
                let network: Network = value.parse().map_err(|error| {
                    let message = format!("a client is {error}");
                    Complaint::new(message, NetworkError::EXPECTED)
                })?;
                self.by_network.insert(network, about)
            }
            KeyPart::Path => {
                let path = RequestPath::parse(value.as_bytes()).map_err(|error| {
                    Complaint::new(format!("a path is none: {error}"), "a path such as `/export`")
                })?;
                self.insert_value(&path.matched(case), about)
            }
            KeyPart::Host => self.insert_value(&host(value)?, about),
            KeyPart::Method => {
                let method: Method = value.to_ascii_uppercase().parse().map_err(|_| {
                    Complaint::new("no request has this method", "a method such as `POST`")
                })?;
                self.insert_value(method.as_str(), about)
            }
            KeyPart::Route if !value.starts_with('/') => {
                let expected = "the pattern of a route as it stands in the file or the \
                    application, such as `/users/{id}`";
                return Err(Complaint::new("no request has this route", expected));
            }
            _ if value.is_empty() => {
                let expected = "a value; an empty one counts as missing";
                return Err(Complaint::new(format!("`{part}` cannot be empty"), expected));
            }
            _ => self.insert_value(value, about),
        };
        match before {
            None => Ok(()),
            Some(_) => Err(Complaint::new("the same value stands here twice", "one of them")),
        }
    }

    fn insert_value(&mut self, value: &str, about: T) -> Option<T> {
        self.by_value.insert(value.as_bytes(), about)
    }
}
