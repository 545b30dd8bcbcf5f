//! What a key is made of.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::config::nearest;

/// One part of a key.
///
/// ```
/// use tollgate_policy::KeyPart;
/// let part: KeyPart = "header:X-Api-Key".parse()?;
/// assert_eq!(part.to_string(), "header:x-api-key");
/// assert!("header".parse::<KeyPart>().is_err());
/// # Ok::<(), tollgate_policy::KeyPartError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyPart {
    /// Nothing of the request: one budget for all.
    Global,
    /// The client's network: an IPv4 address, an IPv6 prefix.
    Client,
    /// Who asks, as the application's authentication found.
    User,
    /// The pattern that the path matches.
    Route,
    /// The path itself. A client chooses paths freely, so it has as many budgets as it likes unless
    /// a wider limit stands beside this one.
    Path,
    /// The method; HEAD is GET, and all methods no limit names are one.
    Method,
    /// The host.
    Host,
    /// A header's value, its name in small letters.
    Header(Box<str>),
    /// A query parameter's value.
    Query(Box<str>),
    /// A cookie's value.
    Cookie(Box<str>),
    /// Who the client's certificate says it is, where certificates are asked for.
    Certificate,
    /// A claim of a verified token.
    Claim(Box<str>),
    /// The request's plan, as the policy's plans find it.
    Plan,
}

/// The parts without a name of their own.
const PLAIN: [(&str, KeyPart); 9] = [
    ("global", KeyPart::Global),
    ("client", KeyPart::Client),
    ("user", KeyPart::User),
    ("route", KeyPart::Route),
    ("path", KeyPart::Path),
    ("method", KeyPart::Method),
    ("host", KeyPart::Host),
    ("certificate", KeyPart::Certificate),
    ("plan", KeyPart::Plan),
];

/// The parts that need one.
const NAMED: [(&str, Named); 4] = [
    ("header", KeyPart::Header),
    ("query", KeyPart::Query),
    ("cookie", KeyPart::Cookie),
    ("claim", KeyPart::Claim),
];

type Named = fn(Box<str>) -> KeyPart;

/// What others call them.
const CALLED: [(&str, &str); 9] = [
    ("ip", "client"),
    ("ip-address", "client"),
    ("address", "client"),
    ("remote-addr", "client"),
    ("remote-ip", "client"),
    ("client-ip", "client"),
    ("peer", "client"),
    ("all", "global"),
    ("everyone", "global"),
];

impl KeyPart {
    /// How parts are written, for messages.
    pub(crate) const EXPECTED: &'static str = "`client`, `user`, `global`, `route`, `path`, \
        `method`, `host`, `plan`, `certificate`, `header:NAME`, `query:NAME`, `cookie:NAME` or \
        `claim:NAME`";

    /// Whether it tells one client from another.
    pub(crate) const fn identifies(&self) -> bool {
        match self {
            KeyPart::Client
            | KeyPart::User
            | KeyPart::Header(_)
            | KeyPart::Query(_)
            | KeyPart::Cookie(_)
            | KeyPart::Certificate
            | KeyPart::Claim(_) => true,
            KeyPart::Global
            | KeyPart::Route
            | KeyPart::Path
            | KeyPart::Method
            | KeyPart::Host
            | KeyPart::Plan => false,
        }
    }

    /// A number that no other kind of part has.
    pub(crate) const fn kind(&self) -> u8 {
        match self {
            KeyPart::Global => 0,
            KeyPart::Client => 1,
            KeyPart::User => 2,
            KeyPart::Route => 3,
            KeyPart::Path => 4,
            KeyPart::Method => 5,
            KeyPart::Host => 6,
            KeyPart::Header(_) => 7,
            KeyPart::Query(_) => 8,
            KeyPart::Cookie(_) => 9,
            KeyPart::Certificate => 10,
            KeyPart::Claim(_) => 11,
            KeyPart::Plan => 12,
        }
    }
}

impl FromStr for KeyPart {
    type Err = KeyPartError;

    /// Reads `client`, `header:x-api-key` and so on.
    ///
    /// # Errors
    /// When the word is none of them, or the name after it is missing or cannot be one.
    fn from_str(text: &str) -> Result<KeyPart, KeyPartError> {
        if let Some((_, part)) = PLAIN.iter().find(|(word, _)| *word == text) {
            return Ok(part.clone());
        }
        let (word, name) = match text.split_once(':') {
            Some((word, name)) => (word, name),
            None => (text, ""),
        };
        let Some((_, named)) = NAMED.iter().find(|(known, _)| *known == word) else {
            return Err(KeyPartError { kind: ErrorKind::Unknown(meant(text, word)) });
        };
        let part = named(match word {
            "header" => name.to_ascii_lowercase().into(),
            _ => name.into(),
        });
        let fits = match part {
            KeyPart::Query(_) | KeyPart::Claim(_) => !name.is_empty(),
            _ => !name.is_empty() && name.bytes().all(is_token),
        };
        if fits {
            Ok(part)
        } else {
            Err(KeyPartError { kind: ErrorKind::Name(named("NAME".into())) })
        }
    }
}

/// The part that was probably meant by an unknown word, which stands first in `text`.
fn meant(text: &str, word: &str) -> Option<Cow<'static, str>> {
    // Nothing longer is a slip of a word.
    let plain: String = text.chars().take(64).collect();
    let plain = plain.to_ascii_lowercase().replace('_', "-");
    let words = PLAIN.iter().map(|(word, _)| *word).chain(NAMED.iter().map(|(word, _)| *word));
    let called = CALLED.iter().find(|(called, _)| *called == plain).map(|(_, part)| *part);
    if let Some(part) = called.or_else(|| nearest(word, words)) {
        return Some(part.into());
    }
    let is_header = plain.bytes().all(is_token) && plain.contains('-') && text.len() < 64;
    (is_header || plain == "authorization").then(|| format!("header:{plain}").into())
}

/// What may stand in the name of a header or cookie (RFC 9110, 5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyPart::Header(name) => write!(f, "header:{name}"),
            KeyPart::Query(name) => write!(f, "query:{name}"),
            KeyPart::Cookie(name) => write!(f, "cookie:{name}"),
            KeyPart::Claim(name) => write!(f, "claim:{name}"),
            plain => {
                let known = PLAIN.iter().find(|(_, part)| part == plain);
                f.write_str(known.map_or("", |(word, _)| word))
            }
        }
    }
}

/// Why a text is no part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPartError {
    kind: ErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ErrorKind {
    Unknown(Option<Cow<'static, str>>),
    Name(KeyPart),
}

impl KeyPartError {
    /// The part that was probably meant.
    #[must_use]
    pub fn suggestion(&self) -> Option<&str> {
        match &self.kind {
            ErrorKind::Unknown(meant) => meant.as_deref(),
            ErrorKind::Name(_) => None,
        }
    }
}

impl fmt::Display for KeyPartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Unknown(_) => {
                write!(f, "not a part of a key; expected {}", KeyPart::EXPECTED)
            }
            ErrorKind::Name(part) => write!(f, "expected a name after the colon, as in `{part}`"),
        }
    }
}

impl Error for KeyPartError {}
