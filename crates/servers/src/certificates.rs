//! Certificates made on the spot: an authority, a server, a client.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use crate::give_up;

/// An authority of one server's own, and the files (PEM) of what it signed.
#[derive(Debug)]
pub struct Certificates {
    folder: PathBuf,
    authority: Issuer<'static, KeyPair>,
}

impl Certificates {
    /// The authority's certificate, which a client must trust.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.folder.join("authority.pem")
    }

    /// The server's certificate, for `localhost` and 127.0.0.1.
    #[must_use]
    pub fn server(&self) -> PathBuf {
        self.folder.join("server.pem")
    }

    /// The key of the server's certificate.
    #[must_use]
    pub fn server_key(&self) -> PathBuf {
        self.folder.join("server.key")
    }

    /// A certificate that a client may show.
    #[must_use]
    pub fn client(&self) -> PathBuf {
        self.folder.join("client.pem")
    }

    /// The key of the client's certificate.
    #[must_use]
    pub fn client_key(&self) -> PathBuf {
        self.folder.join("client.key")
    }

    /// Makes the authority, and signs a server and a client for two thousand years.
    pub(crate) fn new(folder: &Path) -> Self {
        let made = Self::found(folder).and_then(|certificates| {
            certificates.sign("server", None)?;
            certificates.sign("client", None)?;
            Ok(certificates)
        });
        made.unwrap_or_else(|error| give_up(&format!("no certificates: {error}")))
    }

    /// Signs the server anew, valid for `span` from now.
    pub(crate) fn renew(&self, span: Duration) {
        if let Err(error) = self.sign("server", Some(span)) {
            give_up(&format!("no certificate: {error}"));
        }
    }

    fn found(folder: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Its own name: a certificate whose issuer has its name counts as signed by itself.
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        let own = Self { folder: folder.to_owned(), authority: Issuer::new(params, key) };
        fs::write(own.authority(), certificate.pem())?;
        Ok(own)
    }

    #[expect(clippy::disallowed_methods, reason = "who checks a certificate does so by real time")]
    fn sign(&self, name: &str, span: Option<Duration>) -> Result<(), Box<dyn std::error::Error>> {
        let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
        if let Some(span) = span {
            let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
            params.not_after = rcgen::date_time_ymd(1970, 1, 1) + since_epoch + span;
        }
        let key = KeyPair::generate()?;
        fs::write(self.folder.join(format!("{name}.key")), key.serialize_pem())?;
        let certificate = params.signed_by(&key, &self.authority)?;
        fs::write(self.folder.join(format!("{name}.pem")), certificate.pem())?;
        Ok(())
    }
}
