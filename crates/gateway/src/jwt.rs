//! The claims of a client's token, as far as the token can be believed.
//!
//! A token (RFC 7519, signed by RFC 7515) is believed if one key of the file has signed it by one of the
//! algorithms that the file names, and it is in force, of the issuer and for the audience that are
//! named. Whatever else it is, it is no identity: no error, and nothing of it is ever logged.

mod algorithm;
mod key;
mod section;
mod token;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use tollgate_core::Clock;
use tollgate_http::client::Claims;

use algorithm::Algorithm;
use key::Key;
use token::Token;

/// Bytes of a token; more is not looked at.
const MOST: usize = 8 * 1024;

/// Which tokens are believed.
#[derive(Clone)]
pub(crate) struct Jwt {
    rules: Arc<Rules>,
}

struct Rules {
    header: HeaderName,
    algorithms: Vec<Algorithm>,
    keys: Vec<Key>,
    issuer: Option<String>,
    /// Any of these will do; none stands for any audience.
    audiences: Vec<String>,
    /// Seconds.
    leeway: u64,
    clock: Box<dyn Clock>,
}

/// Why a request has no claims although it brings something like a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Disbelief {
    /// Two headers, or it is longer than 8 KiB.
    Unclear,
    /// It is not three parts with a header and claims in JSON.
    Malformed,
    /// It is signed by an algorithm that the file does not name, or says something that has to be
    /// understood (`crit`) and is not.
    Algorithm,
    /// No key of the file has signed it.
    Signature,
    /// It has run out, or does not say when it will.
    Expired,
    /// It is not in force yet.
    Early,
    Issuer,
    Audience,
}

impl Disbelief {
    /// How metrics name them.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Disbelief::Unclear => "unclear",
            Disbelief::Malformed => "malformed",
            Disbelief::Algorithm => "algorithm",
            Disbelief::Signature => "signature",
            Disbelief::Expired => "expired",
            Disbelief::Early => "early",
            Disbelief::Issuer => "issuer",
            Disbelief::Audience => "audience",
        }
    }
}

impl Disbelief {
    /// What is said of it to whoever wrote the file.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Disbelief::Unclear => "it comes twice, or is longer than 8 KiB",
            Disbelief::Malformed => "it is not three parts with a header and claims in JSON",
            Disbelief::Algorithm => "its `alg` is none of `algorithm`, or it has a `crit`",
            Disbelief::Signature => "no key of `[jwt]` has signed it",
            Disbelief::Expired => "it has run out, or does not say when it will (`exp`)",
            Disbelief::Early => "it is not in force yet (`nbf`)",
            Disbelief::Issuer => "its `iss` is not `issuer`",
            Disbelief::Audience => "its `aud` is none of `audience`",
        }
    }
}

impl Jwt {
    /// What is said of the token in these headers to whoever wrote the file.
    pub(crate) fn said(&self, headers: &HeaderMap) -> String {
        match self.claims(headers) {
            None => "none".to_owned(),
            Some(Ok(_)) => "believed".to_owned(),
            Some(Err(disbelief)) => format!("not believed: {}", disbelief.why()),
        }
    }

    /// The claims of the token in these headers; `None` when there is none.
    pub(crate) fn claims(&self, headers: &HeaderMap) -> Option<Result<Claims, Disbelief>> {
        let mut lines = headers.get_all(&self.rules.header).iter();
        let line = lines.next()?;
        if lines.next().is_some() {
            return Some(Err(Disbelief::Unclear));
        }
        let text = line.as_bytes().trim_ascii();
        let text = if self.rules.header == AUTHORIZATION { bearer(text)? } else { text };
        Some(self.rules.verified(text))
    }
}

impl Rules {
    fn verified(&self, text: &[u8]) -> Result<Claims, Disbelief> {
        if text.len() > MOST {
            return Err(Disbelief::Unclear);
        }
        let token = Token::read(text)?;
        let algorithm = self.algorithm(&token)?;
        let mut keys = self.keys.iter().filter(|key| key.fits(algorithm, token.key_id()));
        if !keys.any(|key| key.has_signed(algorithm, token.signed, &token.signature)) {
            return Err(Disbelief::Signature);
        }
        // Nothing of the claims is read before the signature holds.
        let claims = token.claims()?;
        claims.in_force(self.clock.now().as_micros() / 1_000_000, self.leeway)?;
        if let Some(issuer) = &self.issuer
            && !claims.is_of(issuer)
        {
            return Err(Disbelief::Issuer);
        }
        if !self.audiences.is_empty() && !claims.is_for(&self.audiences) {
            return Err(Disbelief::Audience);
        }
        Ok(claims.told())
    }

    fn algorithm(&self, token: &Token<'_>) -> Result<Algorithm, Disbelief> {
        let named = token.algorithm().and_then(Algorithm::named);
        let allowed = named.filter(|algorithm| self.algorithms.contains(algorithm));
        allowed.filter(|_| !token.is_critical()).ok_or(Disbelief::Algorithm)
    }
}

/// What stands behind `Bearer`; credentials of another kind are no token.
fn bearer(credentials: &[u8]) -> Option<&[u8]> {
    let scheme = credentials.get(..7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| credentials.get(7..))?.map(<[u8]>::trim_ascii)
}
