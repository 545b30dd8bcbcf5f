//! Headers whose names stand there before their values.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

/// Headers without values, in order, to be copied and filled in.
///
/// What costs most in a map of headers is the putting in: each name is hashed, byte by byte. A copy
/// of a map hashes nothing.
#[derive(Clone, Debug)]
pub(crate) struct Blank {
    /// The names of `headers`, in order.
    pub(super) names: Vec<&'static HeaderName>,
    pub(super) headers: HeaderMap,
}

impl Blank {
    /// Headers of these names, each of them once.
    pub(crate) fn of(names: impl IntoIterator<Item = &'static HeaderName>) -> Blank {
        let names: Vec<_> = names.into_iter().collect();
        let empty = || HeaderValue::from_static("");
        let headers = names.iter().map(|name| ((*name).clone(), empty())).collect();
        Blank { names, headers }
    }
}
