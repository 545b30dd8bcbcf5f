//! A token taken apart.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use tollgate_http::client::Claims;

use super::Disbelief;

/// The parts of a token, not yet believed.
pub(super) struct Token<'t> {
    header: Map<String, Value>,
    claims: &'t str,
    /// What is signed: its first two parts as they stand.
    pub(super) signed: &'t [u8],
    pub(super) signature: Vec<u8>,
}

/// What a token says that was signed by whom it should be.
pub(super) struct Signed(Map<String, Value>);

impl<'t> Token<'t> {
    pub(super) fn read(text: &'t [u8]) -> Result<Token<'t>, Disbelief> {
        let text = std::str::from_utf8(text).map_err(|_| Disbelief::Malformed)?;
        let (signed, signature) = text.rsplit_once('.').ok_or(Disbelief::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(Disbelief::Malformed)?;
        let signature = decoded(signature)?;
        Ok(Token { header: object(header)?, claims, signed: signed.as_bytes(), signature })
    }

    pub(super) fn algorithm(&self) -> Option<&str> {
        self.header.get("alg")?.as_str()
    }

    pub(super) fn key_id(&self) -> Option<&str> {
        self.header.get("kid")?.as_str()
    }

    /// Whether it says something that whoever does not understand it must not go on.
    pub(super) fn is_critical(&self) -> bool {
        self.header.contains_key("crit")
    }

    pub(super) fn claims(&self) -> Result<Signed, Disbelief> {
        object(self.claims).map(Signed)
    }
}

impl Signed {
    /// Whether it is in force at `now`, give or take `leeway`, all in seconds since the epoch.
    pub(super) fn in_force(&self, now: u64, leeway: u64) -> Result<(), Disbelief> {
        let ends = self.seconds("exp").flatten().ok_or(Disbelief::Expired)?;
        if now >= ends.saturating_add(leeway) {
            return Err(Disbelief::Expired);
        }
        match self.seconds("nbf") {
            None => Ok(()),
            Some(begins) if begins.is_some_and(|begins| begins <= now.saturating_add(leeway)) => {
                Ok(())
            }
            Some(_) => Err(Disbelief::Early),
        }
    }

    pub(super) fn is_of(&self, issuer: &str) -> bool {
        self.0.get("iss").and_then(Value::as_str) == Some(issuer)
    }

    pub(super) fn is_for(&self, audiences: &[String]) -> bool {
        let wanted =
            |one: &Value| one.as_str().is_some_and(|one| audiences.iter().any(|a| a == one));
        match self.0.get("aud") {
            Some(Value::Array(several)) => several.iter().any(wanted),
            Some(one) => wanted(one),
            None => false,
        }
    }

    /// The claims that are a text or a whole number.
    pub(super) fn told(&self) -> Claims {
        let told = self.0.iter().filter_map(|(name, value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) if number.is_u64() || number.is_i64() => number.to_string(),
                _ => return None,
            };
            Some((name.as_str(), text))
        });
        told.collect()
    }

    /// A date in whole seconds; nothing inside for one that is none. A part of a second is left off.
    #[expect(clippy::option_option, reason = "wrong and not said are two things")]
    fn seconds(&self, claim: &str) -> Option<Option<u64>> {
        let value = self.0.get(claim)?;
        let whole = || {
            let seconds = value.as_f64().filter(|seconds| (0.0..9e15).contains(seconds))?;
            format!("{:.0}", seconds.floor()).parse().ok()
        };
        Some(value.as_u64().or_else(whole))
    }
}

/// A part of a token: the letters of RFC 4648, 5, and nothing else.
fn decoded(part: &str) -> Result<Vec<u8>, Disbelief> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Disbelief::Malformed)
}

fn object(part: &str) -> Result<Map<String, Value>, Disbelief> {
    serde_json::from_slice(&decoded(part)?).map_err(|_| Disbelief::Malformed)
}
