//! Where the servers are and how to be let in.

mod parse;
#[cfg(test)]
#[cfg(feature = "tls")]
mod tests;
mod tls;

use core::fmt;
use core::str::FromStr;
use std::path::{Path, PathBuf};

pub(crate) use tls::Tls;
#[cfg(feature = "tls")]
pub(crate) use tls::{Certified, Verify};

/// Where the servers are and how to be let in, as a URL says it.
///
/// | URL | what is there |
/// |---|---|
/// | `redis://user:password@host:6379/0` | one server |
/// | `redis+unix:///path/to/socket?db=0` | one server on this machine |
/// | `redis-sentinel://host:26379,host:26379/group/0` | whichever server the sentinels name |
/// | `redis-cluster://host:6379,host:6379` | a cluster, from any of these on |
///
/// `rediss`, `rediss-sentinel` and `rediss-cluster` are the same over TLS; `valkey` may stand for
/// `redis`. In user and password `@ / : ? # %` are written as `%40 %2F %3A %3F %23 %25`.
///
/// Neither `Debug` nor `Display` shows the password.
///
/// ```
/// use tollgate_redis::Address;
/// let address: Address = "redis://limits:secret@cache.internal/2".parse()?;
/// assert_eq!(address.to_string(), "redis://limits:***@cache.internal:6379/2");
/// # Ok::<(), tollgate_redis::AddressError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) topology: Topology,
    pub(crate) login: Login,
    pub(crate) sentinel_login: Login,
    pub(crate) db: u32,
    pub(crate) tls: Option<Tls>,
}

/// How many servers there are, and who knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    Single(Endpoint),
    Sentinel { sentinels: Vec<Endpoint>, group: String },
    Cluster { seeds: Vec<Endpoint> },
}

/// One server's address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Endpoint {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

/// A user and a password; without a user the server's default user.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

impl Address {
    /// The same address, trusting the certificate authorities in this PEM file and no others.
    ///
    /// # Errors
    /// If the address is not one over TLS, or the file cannot be read or holds no certificate.
    pub fn ca_file(self, path: impl AsRef<Path>) -> Result<Address, AddressError> {
        self.over_tls(|tls| tls.ca_file(path.as_ref()))
    }

    /// The same address, showing the server this certificate; both files are PEM.
    ///
    /// # Errors
    /// If the address is not one over TLS, or a file cannot be read or holds no certificate or key.
    pub fn client_certificate(
        self,
        certificate: impl AsRef<Path>,
        key: impl AsRef<Path>,
    ) -> Result<Address, AddressError> {
        self.over_tls(|tls| tls.client_certificate(certificate.as_ref(), key.as_ref()))
    }

    /// The user and password of the sentinels, which share nothing with those of the servers.
    #[must_use]
    pub fn sentinel_login(mut self, user: Option<&str>, password: &str) -> Address {
        self.sentinel_login =
            Login { user: user.map(str::to_owned), password: Some(password.to_owned()) };
        self
    }

    /// Agrees to what `#insecure` at the end of the URL asks for: any certificate is believed, so
    /// that whoever sits between can read and write every budget. Without both, nothing connects.
    ///
    /// # Errors
    /// If the URL does not end in `#insecure`.
    pub fn allow_insecure(self) -> Result<Address, AddressError> {
        self.over_tls(Tls::allow_insecure)
    }

    /// Whether sentinels say where the server is.
    #[must_use]
    pub fn is_sentinel(&self) -> bool {
        matches!(self.topology, Topology::Sentinel { .. })
    }

    /// Whether any certificate is believed.
    #[must_use]
    pub fn is_insecure(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::is_insecure)
    }

    fn over_tls(
        mut self,
        change: impl FnOnce(&mut Tls) -> Result<(), AddressError>,
    ) -> Result<Address, AddressError> {
        match &mut self.tls {
            Some(tls) => change(tls)?,
            None => return Err(AddressError::new("TLS options need a `rediss` address")),
        }
        Ok(self)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(url: &str) -> Result<Address, AddressError> {
        parse::parse(url)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tls = if self.tls.is_some() { "s" } else { "" };
        let list = |endpoints: &[Endpoint]| {
            endpoints.iter().map(Endpoint::to_string).collect::<Vec<_>>().join(",")
        };
        let login = &self.login;
        match &self.topology {
            Topology::Single(Endpoint::Unix(path)) => {
                write!(f, "redis+unix://{login}{}?db={}", path.display(), self.db)?;
            }
            Topology::Single(endpoint) => {
                write!(f, "redis{tls}://{login}{endpoint}/{}", self.db)?;
            }
            Topology::Sentinel { sentinels, group } => {
                let sentinels = list(sentinels);
                write!(f, "redis{tls}-sentinel://{login}{sentinels}/{group}/{}", self.db)?;
            }
            Topology::Cluster { seeds } => {
                write!(f, "redis{tls}-cluster://{login}{}", list(seeds))?;
            }
        }
        f.write_str(if self.is_insecure() { "#insecure" } else { "" })
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}"),
            Endpoint::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.user, &self.password) {
            (None, None) => Ok(()),
            (user, None) => write!(f, "{}:@", user.as_deref().unwrap_or_default()),
            (user, Some(_)) => write!(f, "{}:***@", user.as_deref().unwrap_or_default()),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({self})")
    }
}

/// An address that cannot be used: which part, and what was expected there.
///
/// It never quotes the URL, since a password may stand where nobody expects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(String);

impl AddressError {
    pub(crate) fn new(text: impl Into<String>) -> AddressError {
        AddressError(text.into())
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "redis address: {}", self.0)
    }
}

impl std::error::Error for AddressError {}
