//! What a verified token says of a client.

use std::fmt;
use std::sync::Arc;

/// What a verified token says of a client: claims by name, each a text (a number in digits).
///
/// Whoever has checked the token puts them into the extensions of a request, or has
/// [`RateLimitLayer::claims`](crate::RateLimitLayer::claims) find them; keys and plans by `claim:NAME`
/// are made of them. Only a token that is valid in every respect has any.
///
/// ```
/// use tollgate_http::client::Claims;
/// let claims: Claims = [("sub", "ann"), ("plan", "pro")].into_iter().collect();
/// assert_eq!(claims.get("plan"), Some("pro"));
/// assert_eq!(claims.get("aud"), None);
/// assert!(!format!("{claims:?}").contains("ann"), "it is whose budget");
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Claims(Arc<[(Box<str>, Box<str>)]>);

impl Claims {
    /// The claim of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, text) = self.0.iter().find(|(own, _)| **own == *name)?;
        Some(text)
    }
}

impl<N: Into<Box<str>>, T: Into<Box<str>>> FromIterator<(N, T)> for Claims {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(claims: I) -> Claims {
        Claims(claims.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
    }
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_tuple("Claims").field(&names.collect::<Vec<_>>()).finish()
    }
}
