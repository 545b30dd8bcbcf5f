//! Where a server of an upstream listens, and how it is spoken to there.

use std::fmt;
use std::path::PathBuf;

use http::Uri;
use http::uri::{Authority, Scheme};
use tokio_rustls::rustls::pki_types::ServerName;

/// Where one server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// In clear, at a host and a port.
    Http(Authority),
    /// Over TLS; the server's certificate has to have the name.
    Https(Authority, ServerName<'static>),
    /// At a socket of this machine's file system.
    Unix(PathBuf),
}

impl Address {
    pub(crate) const EXPECTED: &str =
        "the address of an HTTP server, such as `http://127.0.0.1:3000`";

    /// Reads `http://host:port`, `https://host:port` or `unix:/path/to.sock`.
    ///
    /// # Errors
    /// Why it is no such address, in words that repeat nothing of it.
    pub(crate) fn parse(text: &str) -> Result<Address, &'static str> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return if path.is_absolute() {
                Ok(Address::Unix(path))
            } else {
                Err("the path of the socket does not begin with `/`")
            };
        }
        let uri: Uri = text.parse().map_err(|_| "the upstream is not an address")?;
        let authority = uri.authority().ok_or("the upstream has no scheme or no host")?;
        if uri.scheme().is_none_or(|scheme| ![Scheme::HTTP, Scheme::HTTPS].contains(scheme)) {
            return Err("the upstream is spoken to neither over `http://` nor over `https://`");
        }
        if authority.as_str().contains('@') {
            return Err("the upstream has a user name in it, which is never sent");
        }
        if authority.port_u16().is_none() && authority.as_str() != authority.host() {
            return Err("the upstream has a port that is none");
        }
        if uri.path() != "/" || uri.query().is_some() {
            return Err("the upstream has a path, but requests keep their own");
        }
        if uri.scheme() == Some(&Scheme::HTTP) {
            return Ok(Address::Http(authority.clone()));
        }
        let name = ServerName::try_from(bare(authority).to_owned())
            .map_err(|_| "the upstream's host is not a name a certificate can have")?;
        Ok(Address::Https(authority.clone(), name))
    }

    /// The host without the brackets of IPv6, and the port; `None` for a socket of the file system.
    pub(crate) fn host(&self) -> Option<(&str, u16)> {
        match self {
            Address::Http(authority) => Some((bare(authority), authority.port_u16().unwrap_or(80))),
            Address::Https(authority, _) => {
                Some((bare(authority), authority.port_u16().unwrap_or(443)))
            }
            Address::Unix(_) => None,
        }
    }

    /// What stands for the host in requests that name none.
    pub(crate) fn authority(&self) -> Authority {
        match self {
            Address::Http(authority) | Address::Https(authority, _) => authority.clone(),
            Address::Unix(_) => Authority::from_static("localhost"),
        }
    }
}

fn bare(authority: &Authority) -> &str {
    authority.host().trim_matches(['[', ']'])
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Http(authority) => write!(f, "http://{authority}"),
            Address::Https(authority, _) => write!(f, "https://{authority}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_as_it_is_written() {
        for text in [
            "http://127.0.0.1:3000",
            "http://app",
            "https://[::1]:8443",
            "https://app.internal",
            "unix:/run/app.sock",
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Address::parse("https://[::1]").unwrap().host(), Some(("::1", 443)));
        assert_eq!(Address::parse("http://app/").unwrap().host(), Some(("app", 80)));
    }

    #[test]
    fn what_is_no_address_says_why() {
        for (text, why) in [
            ("127.0.0.1:3000", "neither over"),
            ("/app", "no scheme"),
            ("http://user@app", "user name"),
            ("http://app:x", "a port that is none"),
            ("http://app/path", "a path"),
            ("ftp://app", "neither over"),
            ("unix:app.sock", "begin with `/`"),
            ("https://a_b..c", "certificate"),
        ] {
            let said = Address::parse(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
