//! Which header names the client.

use std::str::FromStr;

use http::HeaderName;
use http::header::FORWARDED;

use super::error::{ClientRuleError, Fault};

pub(super) static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Which header names the client, if any. One only: a client can always add the others.
///
/// ```
/// use tollgate_http::client::Source;
/// assert_eq!("X-Forwarded-For".parse(), Ok(Source::XForwardedFor));
/// assert_eq!("peer".parse(), Ok(Source::Peer));
/// assert!(matches!("cf-connecting-ip".parse(), Ok(Source::Header(_))));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// None: the client is the peer.
    #[default]
    Peer,
    /// `X-Forwarded-For`, a list of addresses with or without ports, all lines joined.
    XForwardedFor,
    /// `Forwarded` (RFC 7239): the `for` of each element, all lines joined.
    Forwarded,
    /// A header of one address, such as `X-Real-IP`, `CF-Connecting-IP`, `True-Client-IP` or
    /// `Fly-Client-IP`: its last line counts, and a list there is no address.
    ///
    /// Not every edge protects such a header from its clients (Fastly does not protect
    /// `Fastly-Client-IP`), so trust only the ranges of one that does.
    Header(HeaderName),
}

impl Source {
    /// The header to read; `None` for the peer.
    #[must_use]
    pub fn header(&self) -> Option<&HeaderName> {
        match self {
            Source::Peer => None,
            Source::XForwardedFor => Some(&X_FORWARDED_FOR),
            Source::Forwarded => Some(const { &FORWARDED }),
            Source::Header(name) => Some(name),
        }
    }

    /// The two lists are lists by whatever name they are asked for.
    pub(super) fn canonical(self) -> Source {
        match self {
            Source::Header(name) if name == X_FORWARDED_FOR => Source::XForwardedFor,
            Source::Header(name) if name == FORWARDED => Source::Forwarded,
            other => other,
        }
    }
}

impl FromStr for Source {
    type Err = ClientRuleError;

    /// Reads `peer` or the name of a header.
    ///
    /// # Errors
    /// When it is neither.
    fn from_str(text: &str) -> Result<Source, ClientRuleError> {
        if text == "peer" {
            return Ok(Source::Peer);
        }
        match text.parse() {
            Ok(name) => Ok(Source::Header(name).canonical()),
            Err(_) => Err(Fault::NotAHeader(text.to_owned()).into()),
        }
    }
}
