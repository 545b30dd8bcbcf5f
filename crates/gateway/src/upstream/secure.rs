//! TLS to the servers of an upstream, by rustls. Who does not show the right certificate is not
//! spoken to: no key turns that off.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_rustls::{Connect, TlsConnector};

use super::Protocol;

/// What wraps connections for servers whose certificates some authorities have signed.
#[derive(Clone)]
pub(crate) struct Secure {
    connector: TlsConnector,
    believed: Arc<RootCertStore>,
}

impl Secure {
    /// Connections on which this protocol is agreed.
    ///
    /// # Errors
    /// When nobody could be believed.
    pub(crate) fn new(authorities: RootCertStore, protocol: Protocol) -> Result<Secure, String> {
        let believed = Arc::new(authorities);
        // Named here, since a process may have no default or another's.
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(believed.clone())
            .with_no_client_auth();
        config.alpn_protocols = match protocol {
            Protocol::Http1 => vec![b"http/1.1".to_vec()],
            Protocol::Http2 => vec![b"h2".to_vec()],
        };
        Ok(Secure { connector: TlsConnector::from(Arc::new(config)), believed })
    }

    /// Wraps a connection to the server of this name.
    pub(super) fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        name: ServerName<'static>,
        stream: S,
    ) -> Connect<S> {
        self.connector.connect(name, stream)
    }

    /// Whether the same authorities are believed, in whatever order they are named.
    pub(crate) fn is_as(&self, other: &Secure) -> bool {
        let (own, others) = (&self.believed.roots, &other.believed.roots);
        own == others || own.iter().collect::<HashSet<_>>() == others.iter().collect()
    }
}

/// The authorities of a file, and nobody else.
///
/// # Errors
/// When the file cannot be read or holds none.
pub(crate) fn authorities_in(file: &Path) -> Result<RootCertStore, String> {
    let pem = fs::read(file).map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("it holds no certificate".to_owned()) } else { Ok(roots) }
}

/// The system's authorities.
///
/// # Errors
/// When the system has none.
pub(crate) fn authorities_of_the_system() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    // One unreadable among hundreds is no reason to believe none.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        Err("the system has no certificate authorities; name some by `ca_file`".to_owned())
    } else {
        Ok(roots)
    }
}
