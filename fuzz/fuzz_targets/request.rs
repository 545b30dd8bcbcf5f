//! A request through the whole layer: what is decided is what charging its limits directly says, and
//! what is told fits it.

#![no_main]

use std::borrow::Cow;
use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Waker};

use arbitrary::Arbitrary;
use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use libfuzzer_sys::fuzz_target;
use tollgate_conformance::{Reference, Told};
use tollgate_core::{Charge, LocalStore, ManualClock, Mode, Span, Tick};
use tollgate_http::client::{ClientRule, Peer, Source, Trust};
use tollgate_http::{Clients, Outcome, RateLimitLayer, Refusal};
use tollgate_policy::config::{self, Reading};
use tollgate_policy::{Given, Policy, RequestPath, Scratch, Selection};
use tower_layer::Layer;
use tower_service::Service;

const FILE: &str = r#"
[[limit]]
name = "client"
rate = ["3/s burst 5", "20/minute"]

[[limit]]
name = "login"
rate = "2 per 10 seconds"
algorithm = "sliding-window"
count = "failures"
when = "POST /login"

[[limit]]
name = "key"
rate = "4/minute"
algorithm = "sliding-log"
by = ["header:x-key", "path"]
fallback = "skip"
when = { path = "/api/*" }
cost = { header = "x-cost", max = 6 }

[[limit]]
name = "strict"
rate = "3/s"
algorithm = "leaky-bucket"
by = "header:x-key"
fallback = "refuse"
when = "PUT"
message = "Wait {retry_after}."

[[limit]]
name = "watched"
rate = "1/minute"
algorithm = "fixed-window"
by = ["method", "client"]
shadow = true

[[limit]]
name = "closed"
rate = "0/hour"
when = "DELETE"

[allow]
path = "/health"

[deny]
client = "203.0.113.0/24"
"#;

#[derive(Arbitrary, Debug)]
struct Step<'a> {
    gap: u32,
    method: Method<'a>,
    target: Target<'a>,
    headers: Vec<(u8, Value<'a>)>,
    peer: u8,
    status: u16,
}

#[derive(Arbitrary, Debug)]
enum Method<'a> {
    Known(u8),
    Any(&'a str),
}

#[derive(Arbitrary, Debug)]
enum Target<'a> {
    Known(u8),
    Under(&'a str),
}

#[derive(Arbitrary, Debug)]
enum Value<'a> {
    Number(u8),
    Address([u8; 4]),
    Any(&'a [u8]),
}

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let reading = Reading::new(config::Source::new("", FILE).expect("a short file"), &|_| None);
    let policy = Policy::read(&mut reading.root());
    policy.unwrap_or_else(|| panic!("{}", reading.finish()))
});

static CLIENTS: LazyLock<ClientRule> = LazyLock::new(|| {
    let proxies = ["10.0.0.0/8".parse().expect("a network")].into_iter().collect();
    ClientRule::new(Source::XForwardedFor, Trust::Proxies(proxies)).expect("a rule")
});

/// What became of a request.
#[derive(Debug, PartialEq)]
enum Fate {
    Free,
    Decided(Told),
    Denied,
    Keyless,
    Unreadable,
}

fuzz_target!(|steps: Vec<Step>| {
    let clock = ManualClock::at(Tick::from_micros(1_700_000_000_000_000));
    let seen: Arc<Mutex<Vec<Fate>>> = Arc::default();
    let observed = seen.clone();
    let layer = RateLimitLayer::new(Arc::new(Reference::new(clock.clone())), POLICY.clone())
        .clients(Clients::new(CLIENTS.clone()))
        .observe(move |outcome| observed.lock().expect("no panic").extend(fate(outcome)));
    let mut service = layer.layer(Echo);
    let direct = Reference::new(clock.clone());
    for step in steps.iter().take(64) {
        clock.advance(Span::from_micros(step.gap.into()));
        let Some(request) = step.request() else { continue };
        let expected = expected(&direct, &request, step.status());
        let Poll::Ready(response) =
            pin!(service.call(request)).poll(&mut Context::from_waker(Waker::noop()))
        else {
            panic!("a store in this process answers at once")
        };
        let Ok(response) = response;
        let fates = std::mem::take(&mut *seen.lock().expect("no panic"));
        assert_eq!(fates, [expected], "{step:?}");
        check_told(&fates[0], step.status(), response.status(), response.headers());
    }
});

fn fate(outcome: &Outcome<'_>) -> Option<Fate> {
    match outcome {
        Outcome::Free => Some(Fate::Free),
        Outcome::Passed(decision) | Outcome::Refused(Refusal::Limited(decision)) => {
            Some(Fate::Decided(Told::from(*decision)))
        }
        Outcome::Refused(Refusal::Denied) => Some(Fate::Denied),
        Outcome::Refused(Refusal::Keyless(_)) => Some(Fate::Keyless),
        Outcome::Refused(Refusal::Unreadable(_)) => Some(Fate::Unreadable),
        Outcome::GivenBack(_) => None,
        other => panic!("{other:?}"),
    }
}

/// What charging the request's limits directly says.
fn expected(store: &Reference, request: &Request<StatusCode>, status: StatusCode) -> Fate {
    let peer = *request.extensions().get::<Peer>().expect("a peer");
    let client = CLIENTS.client(peer, request.headers()).expect("a client");
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let path = RequestPath::parse(target.as_bytes());
    let matched = path.as_ref().map(|path| path.matched(POLICY.case()).into_owned());
    let seen = Seen {
        request,
        client: client.address(),
        is_trusted: client.peer_is_trusted(),
        path: matched.as_deref().unwrap_or("/"),
    };
    let mut scratch = Scratch::new();
    let matches = match POLICY.select(&seen, &mut scratch) {
        Selection::Forbidden(_) => return Fate::Denied,
        Selection::Free(_) => return Fate::Free,
        _ if path.is_err() => return Fate::Unreadable,
        Selection::Refused(_) => return Fate::Keyless,
        Selection::Limits(matches) => matches,
    };
    let charges: Vec<Charge> = matches.iter().map(|matched| matched.charge().at_once()).collect();
    let mut decision = store.decide_now(Mode::Charge, &charges);
    let told = Told::from(&decision);
    if told.allowed {
        for (matched, answer) in matches.iter().zip(decision.answers_mut()) {
            if matched.spec.gives_back(status.as_u16()) {
                answer.take_receipt(matched.key).into_iter().for_each(|r| store.give_now(r, 0));
            }
        }
    }
    Fate::Decided(told)
}

/// What the answer says fits what was decided.
fn check_told(fate: &Fate, inner: StatusCode, status: StatusCode, headers: &HeaderMap) {
    let told = match fate {
        Fate::Decided(told) => told,
        Fate::Free => return assert_eq!(status, inner),
        Fate::Denied => return assert_eq!(status, StatusCode::FORBIDDEN),
        Fate::Keyless | Fate::Unreadable => return assert_eq!(status, StatusCode::BAD_REQUEST),
    };
    assert_eq!(status, if told.allowed { inner } else { StatusCode::TOO_MANY_REQUESTS });
    let retry = headers.get(RETRY_AFTER).map(|value| number(value.to_str().expect("ASCII")));
    let helps = match told.verdict {
        tollgate_core::Verdict::Deny(span) => Some(span.as_secs_ceil().max(1)),
        _ => None,
    };
    assert_eq!(retry, helps, "waiting {helps:?} s helps, and the client is told {retry:?}");
    let list = |name| headers.get(name).expect(name).to_str().expect("ASCII").split(", ");
    let enforcing = told.answers.iter().filter(|a| a.effect == tollgate_core::Effect::Enforce);
    let mut members = 0;
    for ((answer, policy), left) in enforcing.zip(list("ratelimit-policy")).zip(list("ratelimit")) {
        let (quota, remaining) = (parameter(policy, "q"), parameter(left, "r"));
        assert!(remaining <= quota, "{left} of {policy}");
        assert_eq!(remaining, Some(answer.remaining), "{left}");
        assert!(policy.starts_with(&format!("\"{}\"", answer.limit)), "{policy}");
        members += 1;
    }
    assert!(members > 0 && list("ratelimit").count() == members, "{headers:?}");
}

fn parameter(member: &str, name: &str) -> Option<u64> {
    member.split(';').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).map(number)
}

fn number(text: &str) -> u64 {
    text.parse().expect("a whole number")
}

/// The service behind the limits: answers with the status that is the request's body.
#[derive(Clone)]
struct Echo;

impl Service<Request<StatusCode>> for Echo {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = Ready<Result<Response<()>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<StatusCode>) -> Self::Future {
        let mut response = Response::new(());
        *response.status_mut() = *request.body();
        ready(Ok(response))
    }
}

impl Step<'_> {
    fn status(&self) -> StatusCode {
        StatusCode::from_u16(200 + self.status % 400).expect("200 to 599")
    }

    fn request(&self) -> Option<Request<StatusCode>> {
        let method = match self.method {
            Method::Known(n) => ["GET", "POST", "PUT", "DELETE", "HEAD"][usize::from(n % 5)],
            Method::Any(method) => method,
        };
        let target = match self.target {
            Target::Known(n) => ["/", "/login", "/%6Cogin/", "/api/a", "/api/./a", "/health"]
                [usize::from(n % 6)]
            .to_owned(),
            Target::Under(path) => format!("/api/{path}"),
        };
        // The peers: two proxies, two clients, one that is forbidden.
        let peer: IpAddr = match self.peer % 5 {
            n @ 0..2 => [10, 0, 0, n].into(),
            n @ 2..4 => [192, 0, 2, n].into(),
            _ => [203, 0, 113, 9].into(),
        };
        let mut request = Request::builder().method(method).uri(target).body(self.status()).ok()?;
        request.extensions_mut().insert(Peer::Address(peer));
        for (name, value) in &self.headers {
            let name = ["x-forwarded-for", "x-key", "x-cost", "origin"][usize::from(name % 4)];
            let value = match value {
                Value::Number(n) => u16::from(*n).into(),
                Value::Address(v4) => IpAddr::from(*v4).to_string().parse().ok()?,
                Value::Any(bytes) => HeaderValue::from_bytes(bytes).ok()?,
            };
            request.headers_mut().append(HeaderName::from_static(name), value);
        }
        Some(request)
    }
}

/// A request as the limits of this file look at it.
struct Seen<'r> {
    request: &'r Request<StatusCode>,
    client: Option<IpAddr>,
    is_trusted: bool,
    path: &'r str,
}

impl tollgate_policy::Request for Seen<'_> {
    fn method(&self) -> &str {
        self.request.method().as_str()
    }
    fn path(&self) -> &str {
        self.path
    }
    fn raw_path(&self) -> &str {
        self.request.uri().path()
    }
    fn host(&self) -> Option<&str> {
        None
    }
    fn client(&self) -> Option<IpAddr> {
        self.client
    }
    fn is_peer_trusted(&self) -> bool {
        self.is_trusted
    }
    fn user(&self) -> Option<&[u8]> {
        None
    }
    fn header(&self, name: &str) -> Given<'_> {
        let lines = self.request.headers().get_all(name).iter();
        Given::of(lines.map(|value| Cow::Borrowed(value.as_bytes().trim_ascii())))
    }
    fn query(&self, _: &str) -> Given<'_> {
        Given::Nothing
    }
    fn cookie(&self, _: &str) -> Given<'_> {
        Given::Nothing
    }
}
