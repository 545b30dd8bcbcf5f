//! One request: decide, call, give back, tell.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use smallvec::SmallVec;
use tollgate_core::{Charge, Decision, LocalStore, Mode, StoreError};
use tollgate_policy::{LimitSpec, Matches, Scratch};
use tower_service::Service;

use super::rules::{Judged, Nesting, Rules, Telling};
use super::{Answering, Body, Outcome, nested};

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
                Passage::Open(telling) => {
                    rules.attach_client(&mut request);
                    Answering::passing(self.inner.call(request), telling)
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
    /// It is, and this is told with its answer.
    Open(Option<Telling>),
    /// It is not.
    Refused(Response<Bytes>),
}

/// Decides at once.
fn pass<B>(rules: &Arc<Rules>, store: &dyn LocalStore, request: &Request<B>) -> Passage {
    let mut scratch = Scratch::new();
    let matches = match rules.judge(request, &mut scratch) {
        Judged::Limits(matches) => matches,
        Judged::Refused(response) => return Passage::Refused(response),
        Judged::Free => {
            rules.observe(&Outcome::Free);
            return Passage::Open(None);
        }
    };
    let decision = match &*charges(matches) {
        [only] => store.decide_one(Mode::Charge, only),
        all => store.decide_now(Mode::Charge, all),
    };
    if decision.is_denied() {
        return Passage::Refused(rules.limited(request, matches, &decision));
    }
    rules.observe(&Outcome::Passed(&decision));
    Passage::Open(Telling::of(rules, request.headers(), &decision))
}

async fn handle<S, B, C>(
    rules: Arc<Rules>,
    mut ready: S,
    mut request: Request<B>,
) -> Result<Response<Body<C>>, S::Error>
where
    S: Service<Request<B>, Response = Response<C>>,
{
    let mut scratch = Scratch::new();
    let matches = match rules.judge(&request, &mut scratch) {
        Judged::Limits(matches) => matches,
        Judged::Refused(response) => return Ok(response.map(Body::refusal)),
        Judged::Free => {
            rules.attach_client(&mut request);
            rules.observe(&Outcome::Free);
            return Ok(ready.call(request).await?.map(Body::inner));
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
    rules.attach_client(&mut request);
    if rules.nesting == Nesting::Refunded {
        nested::ask(&mut request);
    }
    // An error of the service is its own: the charge stays and no store is to blame.
    let mut response = ready.call(request).await?;
    if rules.nesting == Nesting::Refunded && nested::is_refusal(&response) {
        // Whatever this layer would tell is of a charge that is undone.
        give_back(&rules, matches, &mut decision, |_| true).await;
        return Ok(response.map(Body::inner));
    }
    let status = status(&response).as_u16();
    give_back(&rules, matches, &mut decision, |spec| spec.gives_back(status)).await;
    if let Some(telling) = telling {
        telling.write(&mut response);
    }
    Ok(response.map(Body::inner))
}

/// Asks the store once for all limits that apply.
pub(super) async fn decide<'p>(
    rules: &'p Rules,
    mode: Mode,
    matches: Matches<'p, '_>,
) -> Result<Decision<'p>, StoreError> {
    rules.store.decide(mode, &charges(matches)).await
}

/// The charges of a request. It cannot wait in a queue: its client would, with the connection held.
fn charges<'p, 's>(matches: Matches<'p, 's>) -> SmallVec<[Charge<'p, 's>; 4]> {
    let mut charges = SmallVec::new();
    // `for_each`, since a loop asks three nested iterators in turn whether there is more.
    matches.iter().for_each(|matched| charges.push(matched.charge().at_once()));
    charges
}

/// Gives the charges back to these of the limits.
async fn give_back(
    rules: &Rules,
    matches: Matches<'_, '_>,
    decision: &mut Decision<'_>,
    of: impl Fn(&LimitSpec) -> bool,
) {
    for (matched, answer) in matches.iter().zip(decision.answers_mut()) {
        if !of(matched.spec) {
            continue;
        }
        let Some(receipt) = answer.take_receipt(matched.key) else {
            continue;
        };
        match rules.store.give(receipt.beside(matched.home), 0).await {
            Ok(()) => rules.observe(&Outcome::GivenBack(matched.limit)),
            Err(error) => rules.observe(&Outcome::Kept(matched.limit, &error)),
        }
    }
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
