//! What a request gives for a part of a key.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::KeyPart;
use crate::request::{Given, Request};

/// What a request gives for a part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PartValue<'r> {
    Address(IpAddr),
    Bytes(Cow<'r, [u8]>),
    /// Not there, or empty: an empty API key is none.
    Missing,
    /// There more than once.
    Several,
}

impl<'r> PartValue<'r> {
    /// What `request` gives for `part`. Route, method and plan are what the policy makes of
    /// them.
    pub(crate) fn of<R: Request + ?Sized>(
        part: &KeyPart,
        request: &'r R,
        route: &'r str,
        method: &'r str,
        plan: &'r [u8],
    ) -> PartValue<'r> {
        match part {
            KeyPart::Global => PartValue::Bytes(Cow::Borrowed(&[])),
            KeyPart::Route => PartValue::Bytes(Cow::Borrowed(route.as_bytes())),
            KeyPart::Path => PartValue::Bytes(Cow::Borrowed(request.path().as_bytes())),
            KeyPart::Method => PartValue::Bytes(Cow::Borrowed(method.as_bytes())),
            KeyPart::Client => request.client().map_or(PartValue::Missing, PartValue::Address),
            KeyPart::User => PartValue::present(request.user().map(Cow::Borrowed)),
            KeyPart::Host => {
                PartValue::present(request.host().map(|host| Cow::Borrowed(host.as_bytes())))
            }
            KeyPart::Header(name) => PartValue::given(request.header(name)),
            KeyPart::Query(name) => PartValue::given(request.query(name)),
            KeyPart::Cookie(name) => PartValue::given(request.cookie(name)),
            KeyPart::Certificate => PartValue::present(request.certificate().map(Cow::Borrowed)),
            KeyPart::Claim(name) => PartValue::given(request.claim(name)),
            KeyPart::Plan => PartValue::present(Some(Cow::Borrowed(plan))),
        }
    }

    fn given(given: Given<'r>) -> PartValue<'r> {
        match given {
            Given::Nothing => PartValue::Missing,
            Given::One(value) => PartValue::present(Some(value)),
            Given::Several => PartValue::Several,
        }
    }

    fn present(value: Option<Cow<'r, [u8]>>) -> PartValue<'r> {
        value.filter(|value| !value.is_empty()).map_or(PartValue::Missing, PartValue::Bytes)
    }
}

/// A value of a key that a config names: perhaps an API key, so `Debug` does not show it. There may be
/// 100,000 of them, so that copies share it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Secret(Arc<[u8]>);

impl Secret {
    pub(crate) fn new(value: &[u8]) -> Secret {
        Secret(value.into())
    }

    pub(crate) fn is(&self, value: &[u8]) -> bool {
        *self.0 == *value
    }
}

// Hashed and compared as the bytes it holds.
impl Borrow<[u8]> for Secret {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
