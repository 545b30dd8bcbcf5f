//! An authority, what it signs, and clients that believe it.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{
    ALL_VERSIONS, ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    SupportedProtocolVersion,
};

use crate::client::{Client, tcp};
use crate::program::Scratch;

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate, in PEM.
    pub(crate) file: Scratch,
}

/// A certificate and its key, in files.
pub(crate) struct Signed {
    pub(crate) certificate: Scratch,
    pub(crate) key: Scratch,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority");
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let file = Scratch::new("authority.pem", &certificate.pem());
        Authority { issuer: Issuer::new(params, key), file }
    }

    /// A certificate for these names of hosts and addresses.
    pub(crate) fn sign(&self, names: &[&str]) -> Signed {
        self.sign_with(CertificateParams::new(owned(names)).unwrap())
    }

    /// The same, which ends in `span`.
    pub(crate) fn sign_for(&self, names: &[&str], span: Duration) -> Signed {
        let mut params = CertificateParams::new(owned(names)).unwrap();
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        params.not_after = rcgen::date_time_ymd(1970, 1, 1) + since_epoch + span;
        self.sign_with(params)
    }

    /// A certificate of a client with this identity.
    pub(crate) fn sign_client(&self, identity: &str) -> Signed {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![SanType::URI(identity.try_into().unwrap())];
        self.sign_with(params)
    }

    fn sign_with(&self, params: CertificateParams) -> Signed {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Signed {
            certificate: Scratch::new("certificate.pem", &certificate.pem()),
            key: Scratch::new("certificate.key", &key.serialize_pem()),
        }
    }

    /// How a client speaks TLS that believes this authority alone.
    pub(crate) fn believer(&self) -> Believer {
        let versions = ALL_VERSIONS.to_vec();
        Believer { authority: self.file.text(), versions, protocols: &[], shown: None }
    }
}

impl Signed {
    /// As `certificates` lists it.
    pub(crate) fn listed(&self) -> String {
        let (certificate, key) = (self.certificate.path(), self.key.path());
        format!("{{ certificate = \"{certificate}\", key = \"{key}\" }}")
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.certificate.text().as_bytes()).unwrap()
    }

    /// Puts another certificate in the place of this one, the certificate first.
    pub(crate) fn replace(&self, other: &Signed) {
        self.certificate.replace(&other.certificate.text());
        self.key.replace(&other.key.text());
    }
}

/// A client that believes one authority.
#[derive(Clone)]
pub(crate) struct Believer {
    authority: String,
    pub(crate) versions: Vec<&'static SupportedProtocolVersion>,
    pub(crate) protocols: &'static [&'static [u8]],
    shown: Option<(String, String)>,
}

impl Believer {
    /// The same, which shows a certificate.
    pub(crate) fn showing(self, signed: &Signed) -> Believer {
        Believer { shown: Some((signed.certificate.text(), signed.key.text())), ..self }
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.as_bytes()).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match &self.shown {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                builder.with_client_auth_cert(vec![chain], key).unwrap()
            }
        };
        config.alpn_protocols = self.protocols.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }

    /// Shakes hands as `name`; gives the client and the certificate that it was shown.
    pub(crate) fn shake(
        &self,
        address: SocketAddr,
        name: &str,
    ) -> std::io::Result<(Client, CertificateDer<'static>)> {
        self.shake_behind(b"", address, name)
    }

    /// The same, behind what a balancer sends first.
    pub(crate) fn shake_behind(
        &self,
        header: &[u8],
        address: SocketAddr,
        name: &str,
    ) -> std::io::Result<(Client, CertificateDer<'static>)> {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut session = ClientConnection::new(self.config(), name).unwrap();
        let mut stream = tcp(address);
        stream.write_all(header)?;
        while session.is_handshaking() {
            session.complete_io(&mut stream)?;
        }
        let shown = session.peer_certificates().unwrap()[0].clone().into_owned();
        Ok((Client::over(StreamOwned::new(session, stream)), shown))
    }

    pub(crate) fn connect(&self, address: SocketAddr, name: &str) -> Client {
        self.shake(address, name).unwrap().0
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
