//! The section `[jwt]` of a file.

use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderName};
use tollgate_core::Span;
use tollgate_memory::SystemClock;
use tollgate_policy::config::{Problem, Section, Text};

use super::algorithm::{Algorithm, Family};
use super::key::{Key, KeyError};
use super::{Jwt, Rules};

const ALGORITHM: &str = "one or more of `HS256`, `HS384`, `HS512`, `RS256`, `RS384`, `RS512`, \
                         `PS256`, `PS384`, `PS512`, `ES256`, `ES384` and `EdDSA`";
const KEYS: &str = "one of `secret = \"${JWT_SECRET}\"`, `key_file = \"key.pem\"` and \
                    `jwks_file = \"jwks.json\"`";
const HEADER: &str = "the name of a header, such as `authorization`";
const LEEWAY: &str = "a length of time from `0s` to `60s`";

/// Keys of one file: a token that names none is tried with each.
const MOST_KEYS: usize = 32;

impl Jwt {
    /// Reads the section:
    ///
    /// ```toml
    /// [jwt]
    /// header = "authorization"       # there behind `Bearer `, in any other header alone
    /// algorithm = "RS256"            # or a list; what tokens say is not asked
    /// secret = "${JWT_SECRET}"       # for HS256 …, or one of:
    /// key_file = "issuer.pem"        # public keys in PEM
    /// jwks_file = "jwks.json"        # a set of public keys
    /// issuer = "https://id.example"
    /// audience = ["api"]
    /// leeway = "30s"                 # for clocks that differ; at most a minute
    /// ```
    ///
    /// Problems are noted in the section's reading; nothing comes of a section with one.
    pub(crate) fn read(mut section: Section<'_>) -> Option<Jwt> {
        let header = header(&mut section);
        let algorithms = algorithms(&mut section);
        let keys = keys(&mut section, algorithms.as_deref());
        let issuer = section.text("issuer", "the issuer of tokens, as their `iss` says");
        let audiences = section.texts("audience", "who tokens are for, as their `aud` says");
        let leeway = leeway(&mut section);
        let rules = Rules {
            header: header?,
            algorithms: algorithms?,
            keys: keys?,
            issuer: issuer.map(Text::into_string),
            audiences: audiences.unwrap_or_default().into_iter().map(Text::into_string).collect(),
            leeway: leeway?.as_secs_ceil(),
            clock: Box::new(SystemClock::new()),
        };
        Some(Jwt { rules: Arc::new(rules) })
    }
}

fn header(section: &mut Section<'_>) -> Option<HeaderName> {
    match section.text("header", HEADER) {
        None => Some(AUTHORIZATION),
        Some(text) => section.reading().parse(&text, HEADER),
    }
}

fn leeway(section: &mut Section<'_>) -> Option<Span> {
    let Some(text) = section.text("leeway", LEEWAY) else { return Some(Span::from_secs(30)) };
    if text.as_str() == "0s" {
        return Some(Span::ZERO);
    }
    let span: Span = section.reading().parse(&text, LEEWAY)?;
    if span > Span::MINUTE {
        section.reading().refuse(&text, "a token would be believed long after its end", LEEWAY);
        return None;
    }
    Some(span)
}

fn algorithms(section: &mut Section<'_>) -> Option<Vec<Algorithm>> {
    let value = section.require("algorithm", ALGORITHM)?;
    let span = value.span();
    let texts = value.texts(ALGORITHM)?;
    if texts.is_empty() {
        let message = "without an algorithm no token can be believed";
        section.reading().report(Problem::error(span, message, ALGORITHM));
        return None;
    }
    let known = texts.iter().map(|text| {
        let algorithm = Algorithm::named(text.as_str());
        if algorithm.is_none() {
            let why = match text.as_str().eq_ignore_ascii_case("none") {
                true => "an unsigned token is anybody's".to_owned(),
                false => format!("`{}` is not known here", text.shown()),
            };
            section.reading().refuse(text, why, ALGORITHM);
        }
        algorithm
    });
    let known: Vec<_> = known.collect();
    known.into_iter().collect()
}

/// The keys; each algorithm has to have one that fits it.
fn keys(section: &mut Section<'_>, algorithms: Option<&[Algorithm]>) -> Option<Vec<Key>> {
    // What is there and no text has been told of, and is not missing.
    let mut given = |key, expected| section.take(key).map(|value| value.text(expected));
    let secret = given("secret", "a text, best from the environment: `\"${JWT_SECRET}\"`");
    let pem = given("key_file", "the path of a file with public keys in PEM");
    let set = given("jwks_file", "the path of a file with a set of keys in JSON");
    let (text, keys) = match (&secret, &pem, &set) {
        (Some(text), None, None) => {
            let text = text.as_ref()?;
            (text, secret_key(section, text, algorithms?)?)
        }
        (None, Some(text), None) => {
            let text = text.as_ref()?;
            (text, file(section, text, Key::from_pem)?)
        }
        (None, None, Some(text)) => {
            let text = text.as_ref()?;
            (text, file(section, text, Key::from_set)?)
        }
        _ => {
            let message = "tokens are signed by the keys of one place";
            section.reading().report(Problem::error(section.span(), message, KEYS));
            return None;
        }
    };
    if keys.len() > MOST_KEYS {
        let why = format!("there are {} keys, and a token may be tried with each", keys.len());
        section.reading().refuse(text, why, format!("at most {MOST_KEYS} keys"));
        return None;
    }
    let keyless =
        algorithms?.iter().find(|algorithm| !keys.iter().any(|k| k.fits(**algorithm, None)));
    if let Some(algorithm) = keyless {
        let why = format!("no key here is of the kind that {} needs", algorithm.name());
        section.reading().report(Problem::error(text.span(), why, expected(*algorithm)));
        return None;
    }
    Some(keys)
}

fn expected(algorithm: Algorithm) -> &'static str {
    match algorithm.family() {
        Family::Secret => "`secret = \"${JWT_SECRET}\"` beside an algorithm `HS…`",
        Family::Rsa => "a public RSA key of at least 2048 bits",
        Family::P256 => "a public key on the curve P-256",
        Family::P384 => "a public key on the curve P-384",
        Family::Ed25519 => "a public Ed25519 key",
    }
}

fn secret_key(section: &Section<'_>, text: &Text, algorithms: &[Algorithm]) -> Option<Vec<Key>> {
    let least = algorithms.iter().map(|algorithm| algorithm.secret_bytes()).max().unwrap_or(0);
    if text.as_str().len() < least {
        let message = "the secret is so short that it can be found by trying";
        let expected =
            format!("at least {least} bytes, such as `openssl rand -hex {least}` prints");
        section.reading().report(Problem::error(text.span(), message, expected));
        return None;
    }
    Some(vec![Key::secret(text.as_str().as_bytes())])
}

fn file(
    section: &Section<'_>,
    text: &Text,
    read: impl Fn(&[u8]) -> Result<Vec<Key>, KeyError>,
) -> Option<Vec<Key>> {
    let path = section.reading().path(text);
    let keys = std::fs::read(&path)
        .map_err(|error| KeyError(format!("cannot read `{}`: {error}", text.shown())))
        .and_then(|bytes| read(&bytes));
    keys.map_err(|why| section.reading().refuse(text, why, KEYS)).ok()
}
