//! Header dialects: how a decision is written into the headers of an answer.

mod blank;
mod envoy;
mod figures;
mod ietf_c;
mod ietf_draft6;
mod ietf_draft7;
mod integer;
mod lines;
mod said;
mod terms;
mod text;
mod x_ratelimit;

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use http::header::HeaderName;
use tollgate_core::Decision;

use said::Told;
use x_ratelimit::{HYPHENATED, PLAIN, Unit};

pub(crate) use blank::Blank;
pub(crate) use lines::{Lines, quote};
pub(crate) use said::Said;
pub(crate) use terms::Terminology;

/// The limits that only watch and would have refused this request: `"name", "other"`.
pub(crate) static SHADOW: HeaderName = HeaderName::from_static("x-ratelimit-shadow");

/// One way of writing a decision into headers.
///
/// ```
/// use tollgate_http::Dialect;
/// assert_eq!("ietf-c".parse(), Ok(Dialect::IetfC));
/// assert!(Dialect::XRateLimitDelta.headers().iter().any(|name| name == "x-ratelimit-reset"));
/// assert!("github".parse::<Dialect>().is_err());
/// ```
///
#[doc = include_str!("../docs/headers.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `RateLimit` and `RateLimit-Policy` as lists of named policies: the IETF draft from -08 on.
    IetfC,
    /// `RateLimit` as a dictionary: the IETF draft -07.
    IetfDraft7,
    /// `RateLimit-Limit`, `-Remaining`, `-Reset` and `-Policy`: the IETF drafts -04 to -06.
    IetfDraft6,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset`, the reset in Unix seconds, as GitHub has it.
    XRateLimitEpoch,
    /// The same names, the reset in seconds from now.
    XRateLimitDelta,
    /// `X-Rate-Limit-…`, with one hyphen more, the reset in Unix seconds, as X has it.
    XRateHyphenLimitEpoch,
    /// `X-RateLimit-…` as Envoy writes it, with the policies behind the limit, and
    /// `X-Envoy-RateLimited` on a refusal.
    Envoy,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Dialect; 7] = [
        Dialect::IetfC,
        Dialect::IetfDraft7,
        Dialect::IetfDraft6,
        Dialect::XRateLimitEpoch,
        Dialect::XRateLimitDelta,
        Dialect::XRateHyphenLimitEpoch,
        Dialect::Envoy,
    ];

    /// The name in a config file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::IetfC => "ietf-c",
            Dialect::IetfDraft7 => "ietf-draft7",
            Dialect::IetfDraft6 => "ietf-draft6",
            Dialect::XRateLimitEpoch => "x-ratelimit-epoch",
            Dialect::XRateLimitDelta => "x-ratelimit-delta",
            Dialect::XRateHyphenLimitEpoch => "x-rate-limit-epoch",
            Dialect::Envoy => "envoy",
        }
    }

    /// The headers it may write.
    #[must_use]
    pub fn headers(self) -> &'static [HeaderName] {
        match self {
            Dialect::IetfC => &ietf_c::HEADERS,
            Dialect::IetfDraft7 => &ietf_draft7::HEADERS,
            Dialect::IetfDraft6 => &ietf_draft6::HEADERS,
            Dialect::XRateLimitEpoch | Dialect::XRateLimitDelta => &PLAIN,
            Dialect::XRateHyphenLimitEpoch => &HYPHENATED,
            Dialect::Envoy => &envoy::HEADERS,
        }
    }

    fn write(self, told: Told<'_>, lines: &mut Lines<'_>) {
        match self {
            Dialect::IetfC => ietf_c::write(told, lines),
            Dialect::IetfDraft7 => ietf_draft7::write(told, lines),
            Dialect::IetfDraft6 => ietf_draft6::write(told, lines),
            Dialect::XRateLimitEpoch => x_ratelimit::write(&PLAIN, Unit::Epoch, told, lines),
            Dialect::XRateLimitDelta => x_ratelimit::write(&PLAIN, Unit::Delta, told, lines),
            Dialect::XRateHyphenLimitEpoch => {
                x_ratelimit::write(&HYPHENATED, Unit::Epoch, told, lines);
            }
            Dialect::Envoy => envoy::write(told, lines),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = DialectError;

    /// Reads a name as it stands in a config file.
    ///
    /// # Errors
    /// When no dialect has that name.
    fn from_str(name: &str) -> Result<Dialect, DialectError> {
        let found = Dialect::ALL.into_iter().find(|dialect| dialect.name() == name);
        found.ok_or(DialectError { kind: Kind::Unknown })
    }
}

/// Which limits the headers that can name several speak of.
///
/// ```
/// use std::sync::Arc;
/// use http::Request;
/// use tollgate_core::{Limit, Quota};
/// use tollgate_http::{Dialect, Dialects, Members, RateLimitLayer, Responder};
/// use tollgate_policy::{LimitSpec, Policy};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let minute = LimitSpec::new(Limit::new("minute", Quota::per_minute(10))?);
/// let day = LimitSpec::new(Limit::new("day", Quota::per_day(500))?);
/// let policy = Policy::builder().limit(minute).limit(day).build()?;
/// let one = Dialects::new([Dialect::IetfC])?.members(Members::Decisive);
/// let store = Arc::new(tollgate_memory::Memory::default());
/// let layer = RateLimitLayer::new(store, policy).responder(Responder::default().dialects(one));
/// let headers = layer
///     .peek(&Request::new(()), |preview| preview.response.headers().clone())
///     .await?;
/// let told = headers["ratelimit"].to_str()?;
/// assert!(told.contains("minute") && !told.contains("day"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Members {
    /// Every limit the request was charged on.
    #[default]
    All,
    /// Only the one that decides: [`Decision::decisive`].
    Decisive,
}

/// The dialects of one service: no two of them write the same header.
///
/// By default the newest IETF form together with `X-RateLimit-…` in Unix seconds.
///
/// Two dialects that write one header are refused when they are put together.
///
/// ```
/// use tollgate_http::{Dialect, Dialects};
/// let both = Dialects::new([Dialect::IetfC, Dialect::XRateLimitEpoch])?;
/// assert!(both.headers().any(|name| name == "ratelimit-policy"));
/// assert!(Dialects::new([Dialect::XRateLimitEpoch, Dialect::XRateLimitDelta]).is_err());
/// # Ok::<(), tollgate_http::DialectError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialects {
    spoken: Vec<Dialect>,
    members: Members,
}

impl Default for Dialects {
    fn default() -> Dialects {
        let spoken = vec![Dialect::IetfC, Dialect::XRateLimitEpoch];
        Dialects { spoken, members: Members::All }
    }
}

impl Dialects {
    /// Dialects to be spoken side by side; an empty list says nothing but `Retry-After`.
    ///
    /// # Errors
    /// When two of them write the same header, or one is given twice.
    pub fn new(spoken: impl IntoIterator<Item = Dialect>) -> Result<Dialects, DialectError> {
        let mut dialects = Dialects { spoken: Vec::new(), members: Members::All };
        for dialect in spoken {
            let mut names = dialects.headers();
            if let Some(name) = names.find(|name| dialect.headers().contains(name)) {
                return Err(DialectError { kind: Kind::Clash(name.clone(), dialect) });
            }
            drop(names);
            dialects.spoken.push(dialect);
        }
        Ok(dialects)
    }

    /// No limit headers at all.
    #[must_use]
    pub fn none() -> Dialects {
        Dialects { spoken: Vec::new(), members: Members::All }
    }

    /// The same dialects, speaking of these limits.
    #[must_use]
    pub fn members(self, members: Members) -> Dialects {
        Dialects { members, ..self }
    }

    /// Every header that may be written, without `Retry-After`.
    pub fn headers(&self) -> impl Iterator<Item = &'static HeaderName> + '_ {
        self.spoken.iter().flat_map(|dialect| dialect.headers())
    }

    /// What a decision says; `None` when that is nothing. The terms are those of its limits.
    pub(crate) fn tell(&self, terminology: &Terminology, decision: &Decision<'_>) -> Option<Said> {
        Said::of(terminology, decision, (!self.spoken.is_empty()).then_some(self.members))
    }

    /// Writes what was said.
    ///
    /// Lists are added to, single values replaced, but see [`Lines::stay`]. Limits that only watch
    /// are named when they would have refused, and not spoken of otherwise.
    pub(crate) fn write(&self, said: &Said, terminology: &Terminology, lines: &mut Lines<'_>) {
        let told = said.in_terms(terminology);
        if told.decisive().is_some() {
            for dialect in &self.spoken {
                dialect.write(told, lines);
            }
        }
        let mut shadows = told.shadows().peekable();
        if shadows.peek().is_some() {
            for terms in shadows {
                lines.next_member();
                lines.raw(&terms.name);
            }
            lines.append(&SHADOW);
        }
    }
}

/// Why dialects cannot be spoken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectError {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Unknown,
    Clash(HeaderName, Dialect),
}

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Unknown => {
                f.write_str("expected one of ")?;
                for dialect in Dialect::ALL {
                    write!(f, "`{dialect}`, ")?;
                }
                f.write_str("or `none` alone")
            }
            Kind::Clash(name, dialect) => {
                write!(f, "`{dialect}` writes `{name}`, which another dialect beside it writes too")
            }
        }
    }
}

impl Error for DialectError {}

#[cfg(test)]
mod tests;
