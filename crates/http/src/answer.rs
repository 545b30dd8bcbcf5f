//! What a client is told: the headers of every answer, and the whole answer to a refused request.

mod body;
mod cors;
mod degraded;
pub mod grpc;
mod section;

use std::borrow::Cow;
use std::error::Error;

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, RETRY_AFTER,
};
use http::{Response, StatusCode};
use tollgate_core::{Answer, Decision, Effect, Span, StoreError};
use tollgate_policy::{KeyPart, Lack, LimitAnswer, LimitSpec, Message, Refused};

use crate::dialect::{Blank, Dialects, Lines, Said, Terminology};

pub use body::Format;
pub use cors::{Cors, CorsError};

/// Why a request is refused.
///
/// ```
/// use http::{HeaderMap, StatusCode, header::CACHE_CONTROL};
/// use tollgate_http::{Refusal, Responder};
/// assert_eq!(Refusal::Denied.status(), StatusCode::FORBIDDEN);
/// assert_eq!(Refusal::Denied.retry_after(), None);
/// let answer = Responder::default().refuse(&HeaderMap::new(), Refusal::Denied, None);
/// assert_eq!(answer.status(), StatusCode::FORBIDDEN);
/// assert_eq!(answer.headers()[CACHE_CONTROL], "no-store");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Refusal<'a> {
    /// A limit refuses it: 429, RESOURCE_EXHAUSTED.
    Limited(&'a Decision<'a>),
    /// It is on a deny list: 403, PERMISSION_DENIED.
    Denied,
    /// It lacks what a limit's key is made of: 400, INVALID_ARGUMENT.
    Keyless(Refused<'a>),
    /// Its path or its client cannot be read, for this reason: 400, INVALID_ARGUMENT.
    Unreadable(&'a (dyn Error + 'a)),
    /// The store could not be asked, and a limit lets nothing pass then
    /// ([`OnError::Deny`](tollgate_core::OnError::Deny)); no limit was reached: 503, UNAVAILABLE.
    Unasked(&'a StoreError),
}

impl<'a> Refusal<'a> {
    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Refusal::Limited(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Denied => StatusCode::FORBIDDEN,
            Refusal::Keyless(_) | Refusal::Unreadable(_) => StatusCode::BAD_REQUEST,
            Refusal::Unasked(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Seconds after which the same request passes, rounded up, at least 1, or may, when the store
    /// could not be asked; `None` when waiting does not help.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Refusal::Limited(decision) => Some(decision.retry_after()?.as_secs_ceil().max(1)),
            // A store is back within a second once its servers are.
            Refusal::Unasked(_) => Some(1),
            Refusal::Denied | Refusal::Keyless(_) | Refusal::Unreadable(_) => None,
        }
    }

    /// The limit that refuses, when one does.
    #[must_use]
    pub fn decisive(&self) -> Option<&'a Answer<'a>> {
        match *self {
            Refusal::Limited(decision) => decision.decisive(),
            _ => None,
        }
    }

    /// The names of all limits that refuse.
    fn violated(&self) -> impl Iterator<Item = &'a str> {
        let decision = match *self {
            Refusal::Limited(decision) => Some(decision),
            _ => None,
        };
        let answers = decision.into_iter().flat_map(Decision::answers);
        let enforcing = answers.filter(|a| a.effect() == Effect::Enforce);
        enforcing.filter(|a| !a.verdict().passes()).map(|a| a.limit().name())
    }

    /// What a person reads: the message of the limit, or why no message of a limit would be true.
    fn text(&self, wait: Option<u64>, message: Option<&Message>) -> Cow<'static, str> {
        match self {
            Refusal::Limited(_) => match (wait, message) {
                (None, _) => NEVER.into(),
                (Some(_), None) => LATER.into(),
                (Some(seconds), Some(message)) => match self.decisive().map(Answer::limit) {
                    Some(limit) => {
                        let (wait, most) = (Span::from_secs(seconds), limit.capacity_at_once());
                        message.with(wait, most, limit.name()).into()
                    }
                    None => LATER.into(),
                },
            },
            Refusal::Denied => "This request is not allowed.".into(),
            Refusal::Keyless(refused) => lack(refused).into(),
            Refusal::Unreadable(why) => format!("This request cannot be read: {why}.").into(),
            Refusal::Unasked(_) => UNASKED.into(),
        }
    }
}

/// What a request has to carry, in words.
fn lack(refused: &Refused<'_>) -> String {
    let part = match refused.part {
        KeyPart::Header(name) => format!("the header `{name}`"),
        KeyPart::Query(name) => format!("the query parameter `{name}`"),
        KeyPart::Cookie(name) => format!("the cookie `{name}`"),
        part => format!("a {part}"),
    };
    match refused.lack {
        Lack::Missing => format!("This request has to carry {part}."),
        Lack::Several => format!("This request has to carry {part} once."),
    }
}

const LATER: &str = "Too many requests, please try again later.";
const NEVER: &str = "This request asks for more than its limit ever allows.";
const UNASKED: &str = "The limits of this service cannot be checked now, please try again later.";

/// How a service answers: header dialects, the form of bodies, what browsers may read.
///
/// Everything in one answer comes from one decision. Refusals carry `Cache-Control: no-store` and,
/// where waiting helps, `Retry-After` in whole seconds.
///
/// ```
/// use http::{HeaderMap, header::CONTENT_TYPE};
/// use tollgate_http::{Cors, Dialect, Dialects, Format, Refusal, Responder};
/// let responder = Responder::default()
///     .dialects(Dialects::new([Dialect::IetfC])?)
///     .format(Format::Text)
///     .message("Slow down, please: {limit} is all you get. Back in {retry_after}.".parse()?)
///     .cors(Cors::origins(["https://app.example"])?);
/// let answer = responder.refuse(&HeaderMap::new(), Refusal::Denied, None);
/// assert_eq!(answer.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Responder {
    dialects: Dialects,
    format: Format,
    message: Option<Message>,
    cors: Cors,
    exposed: Option<HeaderValue>,
    detail: Detail,
    costs: Costs,
    /// What an answer that passes is told, and what a refusal is made of, without the values.
    passed: Blank,
    refused: Blank,
}

/// How much an answer tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// What clients need.
    Plain,
    /// Also what who looks for mistakes wants to know.
    Debug,
}

/// Whether clients get the headers in which a service tells what requests have cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Costs {
    Shown,
    Hidden,
}

/// What stands in every refusal before the dialects.
static OF_REFUSALS: [HeaderName; 3] = [CONTENT_TYPE, CACHE_CONTROL, RETRY_AFTER];

impl Default for Responder {
    fn default() -> Responder {
        let dialects = Dialects::default();
        Responder {
            exposed: Some(cors::exposed(&dialects, Detail::Plain)),
            detail: Detail::Plain,
            costs: Costs::Shown,
            passed: passed(&dialects),
            refused: refused(&dialects),
            dialects,
            format: Format::default(),
            message: None,
            cors: Cors::default(),
        }
    }
}

impl Responder {
    /// The header dialects; `ietf-c` and `x-ratelimit-epoch` unless said.
    #[must_use]
    pub fn dialects(self, dialects: Dialects) -> Responder {
        let exposed = self.exposed.map(|_| cors::exposed(&dialects, self.detail));
        let (passed, refused) = (passed(&dialects), refused(&dialects));
        Responder { dialects, exposed, passed, refused, ..self }
    }

    /// The form of the body of a refusal; `application/problem+json` unless said.
    #[must_use]
    pub fn format(self, format: Format) -> Responder {
        Responder { format, ..self }
    }

    /// The message of limits that have none of their own; "Too many requests, please try again
    /// later." unless said.
    #[must_use]
    pub fn message(self, message: Message) -> Responder {
        Responder { message: Some(message), ..self }
    }

    /// Which pages may read a refusal; any unless said.
    #[must_use]
    pub fn cors(self, cors: Cors) -> Responder {
        Responder { cors, ..self }
    }

    /// Leaves `Access-Control-Expose-Headers` to others. Without it a page of another origin that
    /// may read an answer still cannot read its limit headers.
    #[must_use]
    pub fn unexposed(self) -> Responder {
        Responder { exposed: None, ..self }
    }

    /// Tells also, in `X-RateLimit-Degraded`, for which limits the store could not be asked, and who
    /// decided instead: `"per-client";local=3` this instance alone, by its share among three,
    /// `"search";allow` nobody. It shows clients when limits are loose, so that it is for whoever looks
    /// for mistakes.
    #[must_use]
    pub fn debug(self) -> Responder {
        let exposed = self.exposed.map(|_| cors::exposed(&self.dialects, Detail::Debug));
        Responder { exposed, detail: Detail::Debug, ..self }
    }

    /// Takes the headers in which answers tell their costs
    /// ([`Measure::Header`](tollgate_policy::Measure::Header)) off what clients get, also where no limit
    /// applies. Unasked the answer passes as it came.
    #[must_use]
    pub fn hide_costs(self) -> Responder {
        Responder { costs: Costs::Hidden, ..self }
    }

    /// Whether these headers are taken off.
    pub(crate) fn costs(&self) -> Costs {
        self.costs
    }

    /// Writes what a decision says into the headers of the answer to a request that passed, whose
    /// own headers were `request`.
    pub fn tell<B>(
        &self,
        request: &HeaderMap,
        decision: &Decision<'_>,
        response: &mut Response<B>,
    ) {
        let terminology = terminology(decision);
        if let Some(told) = self.told(&terminology, request, decision) {
            self.write(&told, &terminology, response);
        }
    }

    /// What [`Responder::tell`] will write once the answer is there, by terms written before.
    pub(crate) fn told(
        &self,
        terminology: &Terminology,
        request: &HeaderMap,
        decision: &Decision<'_>,
    ) -> Option<Told> {
        let (said, asks) = (self.dialects.tell(terminology, decision), Asks::of(request));
        let Some(line) = self.degraded(decision) else {
            return Some(Told { said: said?, degraded: None, asks });
        };
        Some(Told { said: said.unwrap_or_default(), degraded: Some(Box::new(line)), asks })
    }

    /// What is told of a store that could not be asked.
    fn degraded(&self, decision: &Decision<'_>) -> Option<HeaderValue> {
        match self.detail {
            Detail::Plain => None,
            Detail::Debug => degraded::line(decision),
        }
    }

    pub(crate) fn write<B>(
        &self,
        told: &Told,
        terminology: &Terminology,
        response: &mut Response<B>,
    ) {
        Lines::write(response, &self.passed, |lines| {
            self.dialects.write(&told.said, terminology, lines);
            if let Some(line) = &told.degraded {
                lines.append_whole(&degraded::HEADER, HeaderValue::clone(line));
            }
        });
        self.expose(told.asks, response.headers_mut());
    }

    /// The whole answer to a refused request with these headers.
    ///
    /// `message` is the refusing limit's own, if it has one.
    #[must_use]
    pub fn refuse(
        &self,
        request: &HeaderMap,
        refusal: Refusal<'_>,
        message: Option<&Message>,
    ) -> Response<Bytes> {
        let terminology = match refusal {
            Refusal::Limited(decision) => terminology(decision),
            _ => Terminology::default(),
        };
        let own = Own { message, answer: None };
        self.answer(&terminology, request, refusal, own)
    }

    /// [`Responder::refuse`] by terms written before.
    pub(crate) fn answer(
        &self,
        terminology: &Terminology,
        request: &HeaderMap,
        refusal: Refusal<'_>,
        own: Own<'_>,
    ) -> Response<Bytes> {
        let wait = refusal.retry_after();
        let text = refusal.text(wait, own.message.or(self.message.as_ref()));
        let (mut response, media_type) = match grpc::content_type(request) {
            Some(content_type) => (grpc::refusal(&refusal, &text), content_type.clone()),
            None => {
                let status = own.status().unwrap_or(refusal.status());
                let (media_type, body) = own
                    .body(&refusal, wait)
                    .unwrap_or_else(|| self.format.write(&refusal, status, &text));
                let mut response = Response::new(Bytes::from(body));
                *response.status_mut() = status;
                (response, media_type)
            }
        };
        Lines::write(&mut response, &self.refused, |lines| {
            let [content_type, cache_control, retry_after] = &OF_REFUSALS;
            lines.insert_whole(content_type, media_type);
            lines.insert_whole(cache_control, HeaderValue::from_static("no-store"));
            if let Some(seconds) = wait {
                lines.insert_integer(retry_after, seconds);
            }
            if let Refusal::Limited(decision) = refusal {
                if let Some(said) = self.dialects.tell(terminology, decision) {
                    self.dialects.write(&said, terminology, lines);
                }
                if let Some(line) = self.degraded(decision) {
                    lines.append_whole(&degraded::HEADER, line);
                }
            }
        });
        if let Refusal::Limited(_) | Refusal::Unasked(_) = refusal {
            self.expose(Asks::of(request), response.headers_mut());
        }
        self.cors.allow(request, response.headers_mut());
        response
    }

    fn expose(&self, asks: Asks, headers: &mut HeaderMap) {
        if let (Asks::Page, Some(exposed)) = (asks, &self.exposed) {
            headers.append(ACCESS_CONTROL_EXPOSE_HEADERS, exposed.clone());
        }
    }
}

fn passed(dialects: &Dialects) -> Blank {
    Blank::of(dialects.headers())
}

fn refused(dialects: &Dialects) -> Blank {
    Blank::of(OF_REFUSALS.iter().chain(dialects.headers()))
}

fn terminology(decision: &Decision<'_>) -> Terminology {
    Terminology::of(decision.answers().map(|answer| answer.limit()))
}

/// What the limit that refuses says itself.
#[derive(Clone, Copy, Default)]
pub(crate) struct Own<'a> {
    message: Option<&'a Message>,
    answer: Option<&'a LimitAnswer>,
}

impl<'a> Own<'a> {
    pub(crate) fn of(spec: Option<&'a LimitSpec>) -> Own<'a> {
        Own { message: spec.and_then(LimitSpec::refusal), answer: spec.map(LimitSpec::own_answer) }
    }

    fn status(&self) -> Option<StatusCode> {
        StatusCode::from_u16(self.answer?.status()?).ok()
    }

    /// Its own body with its media type.
    fn body(&self, refusal: &Refusal<'_>, wait: Option<u64>) -> Option<(HeaderValue, String)> {
        let own = self.answer.filter(|answer| answer.has_body())?;
        let limit = refusal.decisive()?.limit();
        let body = own.body(wait, limit.capacity_at_once(), limit.name())?;
        let media_type = own.content_type().and_then(|text| HeaderValue::from_str(text).ok());
        Some((media_type.unwrap_or(HeaderValue::from_static(body::TEXT)), body))
    }
}

/// What is told with an answer that passes, apart from the decision.
pub(crate) struct Told {
    said: Said,
    /// Boxed, since it is moved with every answer and hardly ever there.
    degraded: Option<Box<HeaderValue>>,
    asks: Asks,
}

/// Who reads the answer. Browsers name the page in `Origin` whenever it is of another origin than
/// the service, and nobody else has any use for what is exposed. That is no reason for `Vary`: an
/// answer that may be given to pages of other origins varies by the service's own CORS rules.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Page,
    Other,
}

impl Asks {
    fn of(request: &HeaderMap) -> Asks {
        if request.contains_key(ORIGIN) { Asks::Page } else { Asks::Other }
    }
}

#[cfg(test)]
mod tests;
