//! The files of `[server.tls]`, and what is made of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{Error, RootCertStore, ServerConfig};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::certificates::Certificates;
use super::{PROTOCOLS, Tls};

/// Days before its end from which a certificate is warned of.
const SOON: i64 = 14;

/// What `[server.tls]` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// What is shown to clients that ask for no name of the others.
    pub(crate) first: Pair,
    pub(crate) others: Vec<Pair>,
    /// `None` when clients show no certificates.
    pub(crate) clients: Option<ClientFiles>,
}

/// A certificate with the chain behind it, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// How clients show who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientFiles {
    /// Whose certificates are believed.
    pub(crate) authorities: PathBuf,
    pub(crate) demand: Demand,
}

/// What becomes of a client that shows no certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// It is served, and has no identity.
    Optional,
    /// It is not served.
    Required,
}

/// A file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileError {
    pub(crate) path: PathBuf,
    pub(crate) why: String,
}

impl TlsFiles {
    fn pairs(&self) -> impl Iterator<Item = &Pair> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Reads the files.
    ///
    /// # Errors
    /// At the first that cannot be used: it is not there, is no PEM, or is not the key of its certificate.
    pub(crate) fn load(&self) -> Result<Tls, FileError> {
        let provider = Arc::new(ring::default_provider());
        let (first, others) = (self.first.load(&provider)?, self.others.iter());
        let others = others.map(|pair| pair.load(&provider)).collect::<Result<Vec<_>, _>>()?;
        let mut certificates = Certificates::new(first.clone());
        let mut ending = Vec::new();
        for (pair, key) in self.pairs().zip([first].iter().chain(&others)) {
            let der = key.end_entity_cert().map_err(|error| pair.unusable(&error))?;
            let (_, parsed) =
                X509Certificate::from_der(der).map_err(|error| pair.unusable(&error))?;
            let left = parsed.validity().time_to_expiration().map_or(0, |left| left.whole_days());
            if left < SOON {
                ending.push((pair.certificate.clone(), left));
            }
            certificates.add(key, &parsed);
        }
        let config = self.config(provider, certificates)?;
        let demand = self.clients.as_ref().map(|clients| clients.demand);
        Ok(Tls { config: Arc::new(config), demand, ending })
    }

    fn config(
        &self,
        provider: Arc<CryptoProvider>,
        certificates: Certificates,
    ) -> Result<ServerConfig, FileError> {
        let refuse = |error: &dyn ToString| unusable(&self.first.certificate, error);
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| refuse(&error))?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(clients) => builder.with_client_cert_verifier(clients.verifier(provider)?),
        };
        let mut config = builder.with_cert_resolver(Arc::new(certificates));
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        match self.clients {
            // A session that is resumed would not show its certificate, which may have ended since.
            Some(_) => {
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
            }
            None => config.ticketer = ring::Ticketer::new().map_err(|error| refuse(&error))?,
        }
        Ok(config)
    }
}

impl Pair {
    fn load(&self, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, FileError> {
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&read(&self.key)?);
        let key = key.map_err(|error| unusable(&self.key, &error))?;
        let key = CertifiedKey::from_der(chain, key, provider);
        key.map(Arc::new).map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                unusable(&self.key, &"it is not the key of its certificate")
            }
            error => unusable(&self.key, &error),
        })
    }

    fn unusable(&self, why: &dyn ToString) -> FileError {
        unusable(&self.certificate, why)
    }
}

impl ClientFiles {
    fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ClientCertVerifier>, FileError> {
        let refuse = |error: &dyn ToString| unusable(&self.authorities, error);
        let mut roots = RootCertStore::empty();
        for authority in certificates(&self.authorities)? {
            roots.add(authority).map_err(|error| refuse(&error))?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = match self.demand {
            Demand::Optional => verifier.allow_unauthenticated(),
            Demand::Required => verifier,
        };
        verifier.build().map_err(|error| refuse(&error))
    }
}

/// The certificates of a file, of which there must be one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let certificates = CertificateDer::pem_slice_iter(&read(path)?).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| unusable(path, &error))?;
    match certificates.is_empty() {
        true => Err(unusable(path, &"there is no certificate in it")),
        false => Ok(certificates),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    fs::read(path).map_err(|error| unusable(path, &error))
}

fn unusable(path: &Path, why: &dyn ToString) -> FileError {
    FileError { path: path.to_owned(), why: why.to_string() }
}
