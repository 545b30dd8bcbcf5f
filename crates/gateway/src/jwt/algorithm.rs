//! How tokens are signed (RFC 7518, 3; RFC 8037).

use ring::hmac;
use ring::signature::{self, EcdsaVerificationAlgorithm, RsaParameters};

/// An algorithm that a file may name. `none` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Hs256,
    Hs384,
    Hs512,
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

/// What a key has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Secret,
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl Algorithm {
    /// All, by the names of RFC 7518.
    pub(super) const ALL: [(&str, Algorithm); 12] = [
        ("HS256", Algorithm::Hs256),
        ("HS384", Algorithm::Hs384),
        ("HS512", Algorithm::Hs512),
        ("RS256", Algorithm::Rs256),
        ("RS384", Algorithm::Rs384),
        ("RS512", Algorithm::Rs512),
        ("PS256", Algorithm::Ps256),
        ("PS384", Algorithm::Ps384),
        ("PS512", Algorithm::Ps512),
        ("ES256", Algorithm::Es256),
        ("ES384", Algorithm::Es384),
        ("EdDSA", Algorithm::EdDsa),
    ];

    pub(super) fn named(name: &str) -> Option<Algorithm> {
        let known = Algorithm::ALL.iter().find(|(known, _)| *known == name);
        known.map(|(_, algorithm)| *algorithm)
    }

    pub(super) fn name(self) -> &'static str {
        let own = Algorithm::ALL.iter().find(|(_, known)| *known == self);
        own.map_or("", |(name, _)| name)
    }

    pub(super) fn family(self) -> Family {
        match self {
            Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 => Family::Secret,
            Algorithm::Es256 => Family::P256,
            Algorithm::Es384 => Family::P384,
            Algorithm::EdDsa => Family::Ed25519,
            _ => Family::Rsa,
        }
    }

    /// Bytes that a secret needs at least: those of the hash (RFC 7518, 3.2).
    pub(super) fn secret_bytes(self) -> usize {
        self.hmac().map_or(0, |algorithm| algorithm.digest_algorithm().output_len())
    }

    pub(super) fn hmac(self) -> Option<hmac::Algorithm> {
        match self {
            Algorithm::Hs256 => Some(hmac::HMAC_SHA256),
            Algorithm::Hs384 => Some(hmac::HMAC_SHA384),
            Algorithm::Hs512 => Some(hmac::HMAC_SHA512),
            _ => None,
        }
    }

    pub(super) fn rsa(self) -> Option<&'static RsaParameters> {
        match self {
            Algorithm::Rs256 => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
            Algorithm::Rs384 => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
            Algorithm::Rs512 => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
            Algorithm::Ps256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
            Algorithm::Ps384 => Some(&signature::RSA_PSS_2048_8192_SHA384),
            Algorithm::Ps512 => Some(&signature::RSA_PSS_2048_8192_SHA512),
            _ => None,
        }
    }

    pub(super) fn ecdsa(self) -> Option<&'static EcdsaVerificationAlgorithm> {
        match self {
            Algorithm::Es256 => Some(&signature::ECDSA_P256_SHA256_FIXED),
            Algorithm::Es384 => Some(&signature::ECDSA_P384_SHA384_FIXED),
            _ => None,
        }
    }
}
