//! Who a client is by the certificate that it showed.

use std::sync::Arc;

/// Who a client is by the certificate that it showed and whose key it proved to hold (mutual TLS).
///
/// Whoever ends the TLS and has checked the certificate puts it into the extensions of each request
/// of the connection; keys by `certificate` are made of it. It is never read from a header.
///
/// ```
/// use tollgate_http::client::Certificate;
/// let shown = Certificate::of("spiffe://shop/cart");
/// assert_eq!(shown.identity(), "spiffe://shop/cart");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Certificate(Arc<str>);

impl Certificate {
    /// A certificate of this identity: one of its names, and always the same one.
    #[must_use]
    pub fn of(identity: impl Into<Arc<str>>) -> Certificate {
        Certificate(identity.into())
    }

    /// The identity.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.0
    }
}
