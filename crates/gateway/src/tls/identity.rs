//! Who a client is by its certificate.

use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

/// The first URI among the names of a certificate, else the first DNS name, else the first address of
/// mail, else the common name. `None` when it has none of them.
///
/// One that was checked; what it says is its authority's word.
pub(super) fn of(certificate: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let names = certificate.subject_alternative_name().ok()?;
    let names = names.map(|names| &names.value.general_names[..]).unwrap_or_default();
    let first = |read: fn(&GeneralName<'_>) -> Option<String>| names.iter().find_map(read);
    let uri = first(|name| match name {
        GeneralName::URI(uri) => Some((*uri).to_owned()),
        _ => None,
    });
    let host = || {
        first(|name| match name {
            GeneralName::DNSName(host) => Some(host.to_ascii_lowercase()),
            _ => None,
        })
    };
    let mail = || {
        first(|name| match name {
            GeneralName::RFC822Name(mail) => Some((*mail).to_owned()),
            _ => None,
        })
    };
    let common = || {
        let mut names = certificate.subject().iter_common_name();
        names.find_map(|name| name.as_str().ok()).map(str::to_owned)
    };
    uri.or_else(host).or_else(mail).or_else(common).filter(|identity| !identity.is_empty())
}

#[cfg(test)]
mod tests;
