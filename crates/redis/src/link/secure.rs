//! TLS around a connection, by rustls.

use std::sync::Arc;
use std::time::SystemTime;

use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{Resumption, WebPkiServerVerifier};
use tokio_rustls::rustls::crypto::{self, CryptoProvider};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::expiry::end_of;
use crate::address::{Certified, Tls, Verify};
use crate::fault::{Class, Fault};

/// How to wrap connections, made ready when the first is opened.
pub(crate) struct Secure {
    tls: Tls,
    connector: OnceCell<TlsConnector>,
}

impl Secure {
    /// For all connections of one address.
    pub(crate) fn shared(tls: Tls) -> Arc<Secure> {
        Arc::new(Secure { tls, connector: OnceCell::new() })
    }

    /// Reads what there is to read, once, outside the time that a connection may take.
    ///
    /// # Errors
    /// If the settings are of no use.
    pub(crate) async fn ready(&self) -> Result<&TlsConnector, Fault> {
        self.connector.get_or_try_init(|| self.build()).await
    }

    /// When the certificate that servers are shown ends, if there is one.
    pub(crate) fn shown_ends(&self) -> Option<SystemTime> {
        let chain = &self.tls.client.as_ref()?.chain;
        let own = CertificateDer::pem_slice_iter(chain).next()?.ok()?;
        end_of(&own)
    }

    /// The same stream over TLS, and when the other side's certificate ends, if the other side is who it should be.
    ///
    /// # Errors
    /// If it is not, or the settings are of no use; nothing has been sent.
    pub(crate) async fn wrap(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> Result<(TlsStream<TcpStream>, Option<SystemTime>), Fault> {
        let connector = self.ready().await?;
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            Fault::never(Class::Tls).saying("the host is not a name a certificate can have")
        })?;
        let stream = connector.connect(name, stream).await;
        let stream = stream.map_err(|error| Fault::connecting(&error))?;
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let ends = certificates.first().and_then(|certificate| end_of(certificate));
        Ok((stream, ends))
    }

    async fn build(&self) -> Result<TlsConnector, Fault> {
        let tls = self.tls.clone();
        // The system's authorities are read from its disk.
        let config = tokio::task::spawn_blocking(move || config(&tls)).await;
        match config {
            Ok(Ok(config)) => Ok(TlsConnector::from(Arc::new(config))),
            Ok(Err(said)) => Err(Fault::never(Class::Tls).saying(&said)),
            Err(_) => Err(Fault::never(Class::Tls)),
        }
    }
}

fn config(tls: &Tls) -> Result<ClientConfig, String> {
    // Named here, since a process may have no default or another's.
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(said)?;
    let verifier: Arc<dyn ServerCertVerifier> = match tls.verify {
        Verify::Asked => {
            return Err("the address ends in `#insecure`, but nothing allows it".to_owned());
        }
        Verify::Never => Arc::new(Unverified(provider)),
        Verify::Always => {
            let roots = Arc::new(roots(tls)?);
            WebPkiServerVerifier::builder_with_provider(roots, provider)
                .build()
                .map_err(|error| format!("no certificate authority to believe: {error}"))?
        }
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = match &tls.client {
        None => builder.with_no_client_auth(),
        Some(Certified { chain, key }) => {
            let chain = CertificateDer::pem_slice_iter(chain)
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| format!("client certificate: {error}"))?;
            let key = PrivateKeyDer::from_pem_slice(key)
                .map_err(|error| format!("client certificate's key: {error}"))?;
            builder.with_client_auth_cert(chain, key).map_err(said)?
        }
    };
    // A resumed session skips the certificate, which may have expired since.
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn roots(tls: &Tls) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match &tls.authorities {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(|error| format!("CA file: {error}"))?;
                roots.add(certificate).map_err(|error| format!("CA file: {error}"))?;
            }
        }
        // One unreadable among hundreds is no reason to believe none.
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

fn said(error: Error) -> String {
    error.to_string()
}

/// Believes any certificate, for whoever has agreed to that twice.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
