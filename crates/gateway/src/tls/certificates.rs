//! Several certificates, one of which is shown to each client.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;

/// Certificates by the names that are in them.
#[derive(Debug)]
pub(super) struct Certificates {
    /// In small letters; a `*` stands for the first label.
    by_name: HashMap<Box<str>, Arc<CertifiedKey>>,
    /// For clients that ask for another name or none.
    first: Arc<CertifiedKey>,
}

impl Certificates {
    pub(super) fn new(first: Arc<CertifiedKey>) -> Certificates {
        Certificates { by_name: HashMap::new(), first }
    }

    /// Shows a certificate to those who ask for one of its names, unless another is already shown.
    pub(super) fn add(&mut self, key: &Arc<CertifiedKey>, certificate: &X509Certificate<'_>) {
        let names = certificate.subject_alternative_name().ok().flatten();
        for name in names.iter().flat_map(|names| &names.value.general_names) {
            if let GeneralName::DNSName(name) = name {
                let name = name.to_ascii_lowercase().into();
                self.by_name.entry(name).or_insert_with(|| key.clone());
            }
        }
    }

    fn named(&self, name: &str) -> Option<&Arc<CertifiedKey>> {
        let name = name.to_ascii_lowercase();
        self.by_name.get(&*name).or_else(|| {
            let (_, parent) = name.split_once('.')?;
            self.by_name.get(&*format!("*.{parent}"))
        })
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = hello.server_name().and_then(|name| self.named(name));
        Some(named.unwrap_or(&self.first).clone())
    }
}
