//! Keys that sign tokens: a secret, public keys in PEM, or a set of keys in JSON (RFC 7517).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::signature::{ED25519, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;
use tokio_rustls::rustls::pki_types::SubjectPublicKeyInfoDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use super::algorithm::{Algorithm, Family};

/// A key, of one family: it can never be used by an algorithm of another.
pub(super) struct Key {
    id: Option<String>,
    /// The one algorithm it is for, if it says so.
    only: Option<Algorithm>,
    material: Material,
}

enum Material {
    Secret(Vec<u8>),
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// What is wrong with a file of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyError(pub(super) String);

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const EDWARDS: &[u8] = &[0x2b, 0x65, 0x70];

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const OBJECT: u8 = 0x06;

/// Bytes of the shortest modulus that is believed: 2,048 bits.
const LEAST_MODULUS: usize = 256;

impl Key {
    pub(super) fn secret(bytes: &[u8]) -> Key {
        Key { id: None, only: None, material: Material::Secret(bytes.to_vec()) }
    }

    /// The public keys of a file in PEM (`PUBLIC KEY`).
    pub(super) fn from_pem(text: &[u8]) -> Result<Vec<Key>, KeyError> {
        let keys = SubjectPublicKeyInfoDer::pem_slice_iter(text).map(|der| {
            let der = der.map_err(|_| KeyError("it is not in PEM".into()))?;
            let material = public_key(&der).ok_or_else(|| {
                let known = "RSA of 2048 bits and more, P-256, P-384 or Ed25519";
                KeyError(format!("it has a public key that is not {known}"))
            })?;
            Ok(Key { id: None, only: None, material })
        });
        let keys: Vec<Key> = keys.collect::<Result<_, _>>()?;
        if keys.is_empty() {
            return Err(KeyError("it has no `-----BEGIN PUBLIC KEY-----`".into()));
        }
        Ok(keys)
    }

    /// The keys of a set in JSON. Those that are of no use here are left out, as its author may have
    /// more than one use for it; secrets too, since it is public.
    pub(super) fn from_set(text: &[u8]) -> Result<Vec<Key>, KeyError> {
        let set: Value = serde_json::from_slice(text)
            .map_err(|error| KeyError(format!("it is no JSON: {error}")))?;
        let listed = set.get("keys").and_then(Value::as_array);
        let listed = listed.ok_or_else(|| KeyError("it has no list `keys`".into()))?;
        let keys: Vec<Key> = listed.iter().filter_map(Key::of_set).collect();
        if keys.is_empty() {
            let known = "`RSA` of 2048 bits and more, `EC` of P-256 or P-384, or `OKP` of Ed25519";
            return Err(KeyError(format!("it has no key of the kind {known}")));
        }
        Ok(keys)
    }

    fn of_set(key: &Value) -> Option<Key> {
        let text = |name| key.get(name).and_then(Value::as_str);
        let bytes = |name| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        // One for an algorithm that is not known here is for none that is.
        let only = match text("alg") {
            None => None,
            Some(name) => Some(Algorithm::named(name)?),
        };
        let point = |length: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            let whole = x.len() == length && y.len() == length;
            whole.then(|| [&[4][..], &x, &y].concat())
        };
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => rsa(&bytes("n")?, &bytes("e")?)?,
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => {
                Material::Ed25519(bytes("x").filter(|point| point.len() == 32)?)
            }
            _ => return None,
        };
        Some(Key { id: text("kid").map(str::to_owned), only, material })
    }

    pub(super) fn family(&self) -> Family {
        match &self.material {
            Material::Secret(_) => Family::Secret,
            Material::Rsa { .. } => Family::Rsa,
            Material::P256(_) => Family::P256,
            Material::P384(_) => Family::P384,
            Material::Ed25519(_) => Family::Ed25519,
        }
    }

    /// Whether a token signed by this algorithm, which may name its key, may be of this one.
    pub(super) fn fits(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        let named = match (&self.id, id) {
            (Some(own), Some(id)) => own == id,
            _ => true,
        };
        named
            && self.family() == algorithm.family()
            && self.only.is_none_or(|only| only == algorithm)
    }

    /// Whether this key, which fits the algorithm, has signed.
    pub(super) fn has_signed(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Secret(secret) => algorithm.hmac().is_some_and(|algorithm| {
                let key = hmac::Key::new(algorithm, secret);
                hmac::verify(&key, signed, signature).is_ok()
            }),
            Material::Rsa { modulus, exponent } => algorithm.rsa().is_some_and(|parameters| {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(parameters, signed, signature).is_ok()
            }),
            Material::P256(point) | Material::P384(point) => {
                algorithm.ecdsa().is_some_and(|curve| {
                    UnparsedPublicKey::new(curve, point).verify(signed, signature).is_ok()
                })
            }
            Material::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(signed, signature).is_ok()
            }
        }
    }
}

/// A public key in its X.509 form (RFC 5280, 4.1).
fn public_key(der: &[u8]) -> Option<Material> {
    let (whole, []) = element(der, SEQUENCE)? else { return None };
    let (kind, rest) = element(whole, SEQUENCE)?;
    let (bits, []) = element(rest, BITS)? else { return None };
    let (0, key) = bits.split_first()? else { return None };
    let (object, parameters) = element(kind, OBJECT)?;
    let curve = element(parameters, OBJECT).map(|(curve, _)| curve);
    match (object, curve) {
        (RSA, _) => {
            let (pair, []) = element(key, SEQUENCE)? else { return None };
            let (modulus, rest) = element(pair, INTEGER)?;
            let (exponent, []) = element(rest, INTEGER)? else { return None };
            rsa(modulus, exponent)
        }
        (EC, Some(P256)) if key.len() == 65 => Some(Material::P256(key.to_vec())),
        (EC, Some(P384)) if key.len() == 97 => Some(Material::P384(key.to_vec())),
        (EDWARDS, _) if key.len() == 32 => Some(Material::Ed25519(key.to_vec())),
        _ => None,
    }
}

fn rsa(modulus: &[u8], exponent: &[u8]) -> Option<Material> {
    let plain = |number: &[u8]| {
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        number.get(zeros..).unwrap_or_default().to_vec()
    };
    let (modulus, exponent) = (plain(modulus), plain(exponent));
    let strong = modulus.len() >= LEAST_MODULUS && !exponent.is_empty();
    strong.then_some(Material::Rsa { modulus, exponent })
}

/// The content of an element of this tag, and what stands behind it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let [first, length, rest @ ..] = der else { return None };
    if *first != tag {
        return None;
    }
    let (length, rest) = match *length {
        short @ ..=0x7f => (usize::from(short), rest),
        0x81 => {
            let (length, rest) = rest.split_first()?;
            (usize::from(*length), rest)
        }
        0x82 => {
            let ([high, low], rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes([*high, *low])), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}
