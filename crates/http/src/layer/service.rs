//! One request: decide, call, give back, tell.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, RANGE};
use http::{Request, Response, StatusCode};
use smallvec::SmallVec;
use tollgate_core::algorithm::Patience;
use tollgate_core::{Charge, Decision, LocalStore, Mode, StoreError};
use tollgate_policy::{Matches, Measure, Scratch, Settlement};
use tower_service::Service;

use super::charged::{Charged, Turn};
use super::rules::{Judged, Nesting, Rules, Telling};
use super::{Answering, Body, Outcome, nested};
use crate::client::Client;

/// A service behind limits; made by [`RateLimitLayer`](super::RateLimitLayer).
#[derive(Clone)]
pub struct RateLimit<S> {
    inner: S,
    rules: Arc<Rules>,
}

impl<S> RateLimit<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> RateLimit<S> {
        RateLimit { inner, rules }
    }
}

impl<S, B, C> Service<Request<B>> for RateLimit<S>
where
    S: Service<Request<B>, Response = Response<C>, Future: Send> + Clone + Send + 'static,
    B: Send + 'static,
    C: Send + 'static,
{
    type Response = Response<Body<C>>;
    type Error = S::Error;
    type Future = Answering<S::Future, C, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let planned = self.rules.planned(&request);
        let rules = planned.as_ref().unwrap_or(&self.rules);
        match rules.local() {
            Some(store) => match pass(rules, store, &request) {
                Passage::Open(telling, client) => {
                    rules.attach_client(&mut request, client);
                    Answering::passing(self.inner.call(request), telling)
                }
                Passage::Held(telling, client, turn) => {
                    rules.attach_client(&mut request, client);
                    let service = self.inner.clone();
                    Answering::asking(Box::pin(hold(turn, telling, service, request)))
                }
                Passage::Refused(response) => Answering::refused(response),
            },
            None => {
                // The service that was polled ready is the one to call; its clone is polled next
                // time.
                let next = self.inner.clone();
                let ready = mem::replace(&mut self.inner, next);
                Answering::asking(Box::pin(handle(rules.clone(), ready, request)))
            }
        }
    }
}

/// Whether the service is called.
enum Passage {
    /// It is, for this client, and this is told with its answer.
    Open(Option<Box<Telling>>, Option<Client>),
    /// The same when this turn has come.
    Held(Option<Box<Telling>>, Option<Client>, Box<Turn>),
    /// It is not.
    Refused(Response<Bytes>),
}

/// Decides at once.
fn pass<B>(rules: &Arc<Rules>, store: &dyn LocalStore, request: &Request<B>) -> Passage {
    let mut scratch = Scratch::new();
    let (matches, client) = match rules.judge(request, &mut scratch) {
        Judged::Limits(matches, client) => (matches, client),
        Judged::Refused(response) => return Passage::Refused(response),
        Judged::Free(client) => {
            rules.observe(&Outcome::Free);
            return Passage::Open(None, client);
        }
    };
    let mut decision = match &*charges(matches, rules.patience()) {
        [only] => store.decide_one(Mode::Charge, only),
        all => store.decide_now(Mode::Charge, all),
    };
    if decision.is_denied() {
        return Passage::Refused(rules.limited(request, matches, &decision));
    }
    rules.observe(&Outcome::Passed(&decision));
    let telling = Telling::of(rules, request.headers(), &decision);
    match Turn::of(rules, matches, &mut decision) {
        None => Passage::Open(telling, client),
        Some(turn) => Passage::Held(telling, client, Box::new(turn)),
    }
}

/// Calls the service when its turn has come. A service that is ready may have kept something for its
/// call, so none is made ready before.
async fn hold<S, B, C>(
    turn: Box<Turn>,
    telling: Option<Box<Telling>>,
    service: S,
    request: Request<B>,
) -> Result<Response<Body<C>>, S::Error>
where
    S: Service<Request<B>, Response = Response<C>>,
{
    // All charges stay from here on.
    drop(turn.await_it().await);
    let mut response = call(service, request).await?;
    if let Some(telling) = telling {
        telling.write(&mut response);
    }
    Ok(response.map(Body::inner))
}

async fn call<S: Service<R>, R>(mut service: S, request: R) -> Result<S::Response, S::Error> {
    std::future::poll_fn(|context| service.poll_ready(context)).await?;
    service.call(request).await
}

async fn handle<S, B, C>(
    rules: Arc<Rules>,
    mut ready: S,
    mut request: Request<B>,
) -> Result<Response<Body<C>>, S::Error>
where
    S: Service<Request<B>, Response = Response<C>> + Clone,
{
    let mut scratch = Scratch::new();
    let (matches, client) = match rules.judge(&request, &mut scratch) {
        Judged::Limits(matches, client) => (matches, client),
        Judged::Refused(response) => return Ok(response.map(Body::refusal)),
        Judged::Free(client) => {
            rules.attach_client(&mut request, client);
            rules.observe(&Outcome::Free);
            let mut response = ready.call(request).await?;
            rules.hide(&mut response);
            return Ok(response.map(Body::inner));
        }
    };
    let mut decision = match decide(&rules, Mode::Charge, matches).await {
        Ok(decision) if decision.is_denied() => {
            return Ok(rules.limited(&request, matches, &decision).map(Body::refusal));
        }
        Ok(decision) => decision,
        Err(error) => return Ok(rules.unasked(&request, &error).map(Body::refusal)),
    };
    rules.observe(&Outcome::Passed(&decision));
    let telling = Telling::of(&rules, request.headers(), &decision);
    rules.attach_client(&mut request, client);
    if rules.nesting == Nesting::Refunded {
        nested::ask(&mut request);
    }
    if matches.iter().any(|matched| matched.spec.settlement().is_some_and(is_in_body)) {
        ask_plainly(request.headers_mut());
    }
    let charged;
    // An error of the service is its own: the charge stays and no store is to blame.
    let mut response = match Turn::of(&rules, matches, &mut decision) {
        None => {
            charged = Charged::of(&rules, matches, &mut decision);
            ready.call(request).await?
        }
        Some(turn) => {
            // What a ready service may have kept for its call is others' meanwhile.
            let service = ready.clone();
            drop(ready);
            charged = Some(turn.await_it().await);
            call(service, request).await?
        }
    };
    let mut meter = None;
    if let Some(mut charged) = charged {
        if rules.nesting == Nesting::Refunded && nested::is_refusal(&response) {
            // Whatever this layer would tell is of a charge that is undone.
            charged.give_back(matches, |_| true).await;
            return Ok(response.map(Body::inner));
        }
        let status = status(&response).as_u16();
        charged.give_back(matches, |spec| spec.gives_back(status)).await;
        let spent = response.extensions().get().copied();
        meter = charged.settle(spent, response.headers()).await;
    }
    rules.hide(&mut response);
    if let Some(telling) = telling {
        telling.write(&mut response);
    }
    Ok(response.map(|body| Body::metered(body, meter)))
}

fn is_in_body(settlement: &Settlement) -> bool {
    matches!(settlement.measure(), Measure::Json(_))
}

/// Asks for a whole body that can be read: else whoever asks for a compressed one, or for a part
/// without the field, would pay the estimate alone.
fn ask_plainly(headers: &mut HeaderMap) {
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.remove(RANGE);
}

/// Asks the store once for all limits that apply.
pub(super) async fn decide<'p>(
    rules: &'p Rules,
    mode: Mode,
    matches: Matches<'p, '_>,
) -> Result<Decision<'p>, StoreError> {
    rules.store.decide(mode, &charges(matches, rules.patience())).await
}

/// The charges of a request.
fn charges<'p, 's>(matches: Matches<'p, 's>, patience: Patience) -> SmallVec<[Charge<'p, 's>; 4]> {
    let mut charges = SmallVec::new();
    // `for_each`, since a loop asks three nested iterators in turn whether there is more.
    matches.iter().for_each(|matched| charges.push(Charge { patience, ..matched.charge() }));
    charges
}

/// The HTTP status of an answer, for a gRPC answer that failed the one that its code stands for.
fn status<C>(response: &Response<C>) -> StatusCode {
    grpc_code(response.headers()).map_or(response.status(), |code| match code {
        0 => StatusCode::OK,
        3 | 9 | 11 => StatusCode::BAD_REQUEST,
        16 => StatusCode::UNAUTHORIZED,
        7 => StatusCode::FORBIDDEN,
        5 => StatusCode::NOT_FOUND,
        6 | 10 => StatusCode::CONFLICT,
        8 => StatusCode::TOO_MANY_REQUESTS,
        // CANCELLED; 499 has no name.
        1 => StatusCode::REQUEST_TIMEOUT,
        12 => StatusCode::NOT_IMPLEMENTED,
        14 => StatusCode::SERVICE_UNAVAILABLE,
        4 => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    })
}

fn grpc_code(headers: &HeaderMap) -> Option<u8> {
    headers.get("grpc-status")?.to_str().ok()?.parse().ok()
}

impl<S: fmt::Debug> fmt::Debug for RateLimit<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit").field("inner", &self.inner).finish_non_exhaustive()
    }
}
