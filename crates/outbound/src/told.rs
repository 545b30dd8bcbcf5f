//! What an answer says of its server's limits, whatever the dialect.

mod date;
mod discord;
mod envoy;
mod github;
mod ietf;
mod ietf_draft6;
mod ietf_draft7;
mod lines;
mod number;
mod reset;
mod retry_after;
mod x_ratelimit;

use http::{HeaderMap, StatusCode};
use tollgate_core::{Span, Tick};

/// The longest span that a reset is believed to be ahead; one that is said to be further is not read.
pub(crate) const FURTHEST: Span = Span::from_secs(31 * 24 * 60 * 60);

/// How many allowances of one answer are read, and policies of one field: no server has as many limits
/// for one call.
const MOST: usize = 16;

/// What one answer says of the limits of who sent it: when to come back, and what is left until when.
///
/// Read are `Retry-After`, `RateLimit` and `RateLimit-Policy` of the IETF drafts, `X-RateLimit-…` and
/// `X-Rate-Limit-…` as GitHub, X, Envoy, Discord, Reddit and many others send them. What cannot be
/// read is passed over, field by field. All spans count from the answer's own `Date` and begin when it
/// came, so that a wrong clock on this side lengthens or shortens none.
///
/// An answer with an `Age` above zero comes from a cache: what is left is not read from it.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use tollgate_core::{Span, Tick};
/// use tollgate_outbound::Told;
/// let mut headers = HeaderMap::new();
/// headers.insert("date", HeaderValue::from_static("Mon, 30 Nov 2026 20:00:00 GMT"));
/// headers.insert("x-ratelimit-limit", HeaderValue::from_static("5000"));
/// headers.insert("x-ratelimit-remaining", HeaderValue::from_static("0"));
/// headers.insert("x-ratelimit-reset", HeaderValue::from_static("1796068860"));
/// let told = Told::read(StatusCode::TOO_MANY_REQUESTS, &headers, Tick::EPOCH);
/// assert!(told.is_refusal());
/// assert_eq!(told.retry_after(), Some(Span::MINUTE));
/// assert_eq!(told.allowances()[0].limit, Some(5000));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    refusal: Refusal,
    retry_after: Option<Span>,
    wait: Wait,
    allowances: Vec<Allowance>,
}

/// Whether a limit refused the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Refusal {
    #[default]
    None,
    ByLimit,
}

/// How long a wait is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wait {
    /// As long as was told.
    #[default]
    AsTold,
    /// The first time so long, and twice as long each time that it was not enough.
    Doubling,
}

/// How much one limit has left, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Allowance {
    /// Calls that are left; a fraction of one is not counted.
    pub left: u64,
    /// After how long more will be left, at most 31 days.
    pub reset: Option<Span>,
    /// Calls in a whole window.
    pub limit: Option<u64>,
    /// How long a window is.
    pub window: Option<Span>,
}

impl Allowance {
    /// Where no reset is told the window tells when one more call is due at an even rate.
    fn with_a_reset(self) -> Allowance {
        let even = || {
            let (window, limit) = (self.window?, self.limit?);
            Some(Span::from_micros(window.as_micros().div_ceil(limit.max(1))))
        };
        let reset = self.reset.or_else(even);
        Allowance { reset: reset.filter(|reset| *reset <= FURTHEST), ..self }
    }
}

impl Told {
    /// Reads an answer. `local` is what this machine's clock shows, for an answer without a `Date`.
    #[must_use]
    pub fn read(status: StatusCode, headers: &HeaderMap, local: Tick) -> Told {
        let now = date::of(headers).unwrap_or(local);
        let failed = status.is_client_error() || status.is_server_error();
        let said = if failed { retry_after::read(headers, now) } else { None };
        let allowances = match date::is_from_a_cache(headers) {
            true => Vec::new(),
            false => allowances(headers, now),
        };
        let refused = status == StatusCode::TOO_MANY_REQUESTS
            || envoy::has_refused(headers)
            || github::has_refused(status, headers);
        let refusal = if refused { Refusal::ByLimit } else { Refusal::None };
        // A limit that still has something left is not the one that refused.
        let used_up = allowances.iter().filter(|allowance| allowance.left == 0);
        let longest = || used_up.filter_map(|allowance| allowance.reset).max();
        let as_told = said.or_else(|| if refused { longest() } else { None });
        let (retry_after, wait) = match as_told {
            Some(_) => (as_told, Wait::AsTold),
            None => match github::least_wait(status, headers) {
                Some(least) => (Some(least), Wait::Doubling),
                None => (None, Wait::AsTold),
            },
        };
        Told { refusal, retry_after, wait, allowances }
    }

    /// Whether the wait has to grow where it was not enough.
    pub(crate) fn wait(&self) -> Wait {
        self.wait
    }

    /// Whether a limit refused the call: 429, Envoy's mark, or GitHub's 403.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.refusal == Refusal::ByLimit
    }

    /// After how long to come back, and not before: `Retry-After` of an answer with a status from 400
    /// on, else, of a refusal, the longest reset of a limit that has nothing left. A minute after a 429
    /// of GitHub that tells neither; a client doubles it as long as that goes on.
    ///
    /// As it was said, however long; whoever waits has to bound it.
    #[must_use]
    pub fn retry_after(&self) -> Option<Span> {
        self.retry_after
    }

    /// What the limits have left, at most 16 of them. One limit told in two dialects is there twice.
    #[must_use]
    pub fn allowances(&self) -> &[Allowance] {
        &self.allowances
    }
}

fn allowances(headers: &HeaderMap, now: Tick) -> Vec<Allowance> {
    let newest = ietf::read(headers);
    let older = ietf_draft7::read(headers).into_iter().chain(ietf_draft6::read(headers));
    let bare = x_ratelimit::read(headers, now);
    let all = newest.into_iter().chain(older).chain(bare);
    all.map(Allowance::with_a_reset).take(MOST).collect()
}

#[cfg(test)]
mod tests;
