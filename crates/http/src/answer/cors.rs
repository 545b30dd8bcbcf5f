//! What pages of other origins may read (the CORS protocol of the Fetch standard).

use std::error::Error;
use std::fmt;

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, HeaderMap, HeaderValue, ORIGIN,
    VARY,
};

use super::{Detail, degraded};
use crate::dialect::{Dialects, SHADOW};

/// Which pages may read a refusal.
///
/// An answer that passes carries what the service behind sets; a refusal never reaches it, and
/// without `Access-Control-Allow-Origin` a script sees a failed request, not a 429. A CORS layer
/// outside the limits sets its own headers over these.
///
/// ```
/// use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderMap, HeaderValue, ORIGIN};
/// use tollgate_http::{Cors, Refusal, Responder};
/// let responder = Responder::default().cors(Cors::origins(["https://app.example"])?);
/// let allowed = |origin| {
///     let asked = HeaderMap::from_iter([(ORIGIN, HeaderValue::from_static(origin))]);
///     let answer = responder.refuse(&asked, Refusal::Denied, None);
///     answer.headers().get(ACCESS_CONTROL_ALLOW_ORIGIN).cloned()
/// };
/// assert_eq!(allowed("https://app.example").unwrap(), "https://app.example");
/// assert_eq!(allowed("https://evil.example"), None);
/// assert!(Cors::origins(["app.example"]).is_err());
/// # Ok::<(), tollgate_http::CorsError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cors(Allowed);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Allowed {
    #[default]
    Any,
    Nobody,
    Origins(Vec<HeaderValue>),
}

impl Cors {
    /// Every page, for requests without credentials (`*`). A refusal holds nothing but the client's
    /// own numbers; for requests with cookies name the origins.
    #[must_use]
    pub fn any() -> Cors {
        Cors(Allowed::Any)
    }

    /// No page, unless a CORS layer outside says so.
    #[must_use]
    pub fn nobody() -> Cors {
        Cors(Allowed::Nobody)
    }

    /// Pages of these origins, for requests with credentials too. An origin is written as browsers
    /// send it: `https://app.example`, `http://localhost:5173`.
    ///
    /// # Errors
    /// When one is not scheme and host, has a path, or ends in a slash.
    pub fn origins<'o>(origins: impl IntoIterator<Item = &'o str>) -> Result<Cors, CorsError> {
        let origins = origins.into_iter().map(|origin| {
            let host = origin.split_once("://").map_or("", |(_, host)| host);
            let value = HeaderValue::from_str(origin).ok();
            let value = value.filter(|_| !host.is_empty() && !host.contains(['/', '*', ' ', ',']));
            value.ok_or_else(|| CorsError { origin: origin.to_owned() })
        });
        origins.collect::<Result<_, _>>().map(|origins| Cors(Allowed::Origins(origins)))
    }

    /// Lets the page that asked read the refusal, if it may.
    pub(super) fn allow(&self, request: &HeaderMap, answer: &mut HeaderMap) {
        match (&self.0, request.get(ORIGIN)) {
            (Allowed::Any, Some(_)) => {
                answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            }
            (Allowed::Origins(origins), origin) => {
                answer.append(VARY, HeaderValue::from_static("origin"));
                if let Some(origin) = origin.filter(|origin| origins.contains(origin)) {
                    answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
                    let credentials = HeaderValue::from_static("true");
                    answer.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, credentials);
                }
            }
            (Allowed::Any | Allowed::Nobody, _) => {}
        }
    }
}

/// The value of `Access-Control-Expose-Headers`: everything that limits may write.
pub(super) fn exposed(dialects: &Dialects, detail: Detail) -> HeaderValue {
    let mut names = String::from("retry-after");
    let of_debug = (detail == Detail::Debug).then_some(&degraded::HEADER);
    for name in dialects.headers().chain([&SHADOW]).chain(of_debug) {
        names.push_str(", ");
        names.push_str(name.as_str());
    }
    HeaderValue::from_str(&names).expect("header names are ASCII")
}

/// Why a text is not an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorsError {
    origin: String,
}

impl fmt::Display for CorsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected an origin such as `https://app.example`, found `{}`", self.origin)
    }
}

impl Error for CorsError {}
