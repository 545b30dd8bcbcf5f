//! What is believed about the other side of a TLS connection, and what it is shown.

use core::fmt;
use std::path::Path;
use std::sync::Arc;

use super::AddressError;

/// TLS as asked for; made into a connector when the first connection is opened.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The only authorities believed, as PEM; without, those of the system.
    pub(crate) authorities: Option<Arc<[u8]>>,
    pub(crate) client: Option<Certified>,
    pub(crate) verify: Verify,
}

/// What the server is shown, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Certified {
    /// The client's certificate, and those that lead from it to an authority.
    pub(crate) chain: Arc<[u8]>,
    pub(crate) key: Arc<[u8]>,
}

/// Whether the server's certificate is looked at. Turning it off takes two flags, in two places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verify {
    #[default]
    Always,
    /// The URL asks to look away, which nobody has agreed to.
    Asked,
    Never,
}

impl Tls {
    pub(super) fn ca_file(&mut self, path: &Path) -> Result<(), AddressError> {
        let pem = read(path, "certificate")?;
        self.authorities = Some(pem);
        Ok(())
    }

    pub(super) fn client_certificate(
        &mut self,
        certificate: &Path,
        key: &Path,
    ) -> Result<(), AddressError> {
        let chain = read(certificate, "certificate")?;
        self.client = Some(Certified { chain, key: read(key, "private key")? });
        Ok(())
    }

    pub(super) fn ask_insecure(&mut self) {
        self.verify = Verify::Asked;
    }

    pub(super) fn allow_insecure(&mut self) -> Result<(), AddressError> {
        if self.verify == Verify::Always {
            return Err(AddressError::new(
                "insecure TLS is allowed, but the address does not end in `#insecure`: it takes \
                 both to turn verification off",
            ));
        }
        self.verify = Verify::Never;
        Ok(())
    }

    pub(super) fn is_insecure(&self) -> bool {
        self.verify == Verify::Never
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("authorities", &self.authorities.is_some())
            .field("client", &self.client.is_some())
            .field("verify", &self.verify)
            .finish()
    }
}

fn read(path: &Path, what: &str) -> Result<Arc<[u8]>, AddressError> {
    let shown = path.display();
    let pem = std::fs::read(path)
        .map_err(|error| AddressError::new(format!("{shown} cannot be read: {error}")))?;
    // The label ends the same for every kind of key: PRIVATE KEY, EC PRIVATE KEY, RSA PRIVATE KEY.
    let label = format!("{}-----", what.to_uppercase());
    if !String::from_utf8_lossy(&pem).contains(&label) {
        return Err(AddressError::new(format!("{shown} holds no {what} in PEM")));
    }
    Ok(pem.into())
}
