//! Methods as a small set.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::key::is_token;

/// A method as limits know it: in capitals, HEAD as GET.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Method(Box<str>);

impl Method {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a request of the method `sent` is of this one.
    pub(crate) fn is(&self, sent: &str) -> bool {
        self.0.eq_ignore_ascii_case(canonical(sent))
    }
}

impl FromStr for Method {
    type Err = MethodError;

    fn from_str(name: &str) -> Result<Method, MethodError> {
        let may_stand = |byte: u8| is_token(byte) && !byte.is_ascii_lowercase();
        if name.is_empty() || name.len() > 32 || !name.bytes().all(may_stand) {
            return Err(MethodError);
        }
        Ok(Method(canonical(name).into()))
    }
}

/// HEAD counts as GET: it asks for the same thing.
fn canonical(name: &str) -> &str {
    if name.eq_ignore_ascii_case("HEAD") { "GET" } else { name }
}

/// Why a text is no method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MethodError;

impl fmt::Display for MethodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a method in capitals, such as `POST`")
    }
}

impl Error for MethodError {}

/// The methods a policy knows: those of HTTP and those that its limits name, at most 63.
///
/// All others are one method, so that a client cannot make itself budgets by inventing them.
#[derive(Clone, Debug)]
pub(crate) struct Methods(Vec<Method>);

/// A set of the methods of one [`Methods`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MethodSet(u64);

/// The name of the methods nobody named.
const OTHER: &str = "other";

/// The bit of all methods nobody named.
const OTHER_BIT: u32 = 63;

impl MethodSet {
    pub(crate) const ALL: MethodSet = MethodSet(u64::MAX);

    pub(crate) const EMPTY: MethodSet = MethodSet(0);

    pub(crate) fn union(self, other: MethodSet) -> MethodSet {
        MethodSet(self.0 | other.0)
    }

    pub(crate) fn meets(self, other: MethodSet) -> bool {
        self.0 & other.0 != 0
    }
}

impl Methods {
    pub(crate) fn new() -> Methods {
        let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];
        Methods(known.into_iter().map(|name| Method(name.into())).collect())
    }

    /// The set of `method` alone, which is known from now on; `None` when there are too many.
    pub(crate) fn learn(&mut self, method: &Method) -> Option<MethodSet> {
        if !self.0.contains(method) {
            if self.0.len() >= usize::try_from(OTHER_BIT).unwrap_or(0) {
                return None;
            }
            self.0.push(method.clone());
        }
        Some(self.find(method.as_str()).0)
    }

    /// The set of the one method, and its name in keys.
    pub(crate) fn find(&self, method: &str) -> (MethodSet, &str) {
        let method = canonical(method);
        let known = self.0.iter().zip(0u32..).find(|(m, _)| m.0.eq_ignore_ascii_case(method));
        known.map_or((MethodSet(1 << OTHER_BIT), OTHER), |(known, bit)| {
            (MethodSet(1 << bit), known.as_str())
        })
    }
}
