//! A gateway without sockets, whose clock is moved by hand.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use http::header::RETRY_AFTER;
use http::response::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use tollgate_core::{Decision, Effect, ManualClock, Span, Tick};
use tollgate_http::{Outcome, Preview, RateLimitLayer, Refusal};
use tollgate_memory::Memory;
use tollgate_policy::Policy;
use tower_layer::Layer;
use tower_service::Service;

use super::behind::{AnsweredBy, Behind};
use super::step::Step;
use crate::admission::Admission;
use crate::assemble::Plan;
use crate::explain::{explained, refused};
use crate::settings::Destinations;

/// What serves, without sockets, and with a clock that is moved by hand.
pub(super) struct Rig {
    clock: ManualClock,
    layer: RateLimitLayer,
    admission: Admission,
    destinations: Arc<Destinations>,
    said: Arc<Mutex<Said>>,
    /// Requests that wait for their turn, to the end: dropped, they would give their charges back.
    waiting: Vec<Answering>,
}

type Answering = Pin<Box<dyn Future<Output = Parts>>>;

/// What the limits said of a request.
#[derive(Clone, Default)]
struct Said {
    limits: Vec<String>,
    wait: Span,
    remaining: Option<u64>,
}

/// What came back.
#[derive(Clone, Debug)]
pub(super) struct Came {
    pub(super) status: StatusCode,
    /// The limits that refused it, and of those with several windows also the windows.
    pub(super) limits: Vec<String>,
    pub(super) retry_after: Option<u64>,
    pub(super) wait: Span,
    pub(super) remaining: Option<u64>,
    pub(super) upstream: Option<String>,
    pub(super) headers: HeaderMap,
}

impl Rig {
    /// One with fresh counts at an instant.
    ///
    /// # Errors
    /// When this process cannot keep as many keys as the file says.
    pub(super) fn new(plan: &Plan, start: Tick) -> Result<Rig, String> {
        let clock = ManualClock::at(start);
        let store = Memory::builder().max_entries(plan.settings.keys).clock(clock.clone()).build();
        let store = Arc::new(store.map_err(|error| error.to_string())?);
        let said = Arc::new(Mutex::new(Said::default()));
        let (policy, listener) = (plan.policy.clone(), said.clone());
        let layer = plan.layer(store, clock.clone()).observe(move |outcome| {
            let mut said = listener.lock().unwrap_or_else(PoisonError::into_inner);
            said.hear(&policy, outcome);
        });
        Ok(Rig {
            clock,
            layer,
            admission: plan.admission(),
            destinations: Arc::new(plan.settings.destinations.clone()),
            said,
            waiting: Vec::new(),
        })
    }

    /// Sends the request of a step at an instant.
    ///
    /// # Panics
    /// Outside a tokio runtime, if it has to wait for its turn.
    pub(super) fn send(&mut self, step: &Step, now: Tick) -> Came {
        self.clock.set(now);
        let request = match step.described.request(&self.admission) {
            Ok(request) => request,
            Err(fault) => return Came::of(fault.status),
        };
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Said::default();
        let behind = Behind {
            destinations: self.destinations.clone(),
            case: self.layer.policy().case(),
            answer: step.answer.clone(),
        };
        let mut service = self.layer.layer(behind);
        let mut answering: Answering = Box::pin(async move {
            let Ok(response) = service.call(request).await;
            let (parts, body) = response.into_parts();
            // To its end, since its size and what it says may be what the request costs.
            let _ = body.collect().await;
            parts
        });
        // The store and the service answer at once: whoever does not waits for a turn.
        let polled = answering.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let came = Came {
            limits: said.limits,
            wait: said.wait,
            remaining: said.remaining,
            ..Came::of(step.answer.status)
        };
        match polled {
            Poll::Pending => {
                self.waiting.push(answering);
                came
            }
            Poll::Ready(parts) => Came {
                status: parts.status,
                retry_after: retry_after(&parts.headers),
                upstream: parts.extensions.get().map(|AnsweredBy(name)| name.clone()),
                headers: parts.headers,
                ..came
            },
        }
    }

    /// What would become of the request of a step at an instant, and why.
    pub(super) async fn explain(&self, step: &Step, now: Tick) -> String {
        self.clock.set(now);
        let request = match step.described.request(&self.admission) {
            Ok(request) => request,
            Err(fault) => return refused(&fault),
        };
        let policy = self.layer.policy();
        let look = |preview: &Preview<'_>| explained(policy, &self.destinations, None, preview);
        self.layer.peek(&request, look).await.unwrap_or_else(|error| error.to_string())
    }
}

fn retry_after(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

impl Said {
    fn hear(&mut self, policy: &Policy, outcome: &Outcome<'_>) {
        match outcome {
            Outcome::Passed(decision) => {
                self.wait = decision.wait();
                self.remaining = Some(decision.remaining());
            }
            Outcome::Refused(Refusal::Limited(decision)) => {
                self.limits = refusing(policy, decision);
                self.remaining = Some(decision.remaining());
            }
            Outcome::Refused(Refusal::Keyless(refused)) => {
                self.limits.extend(refused.limit.map(|spec| spec.name().to_owned()));
            }
            _ => {}
        }
    }
}

/// The limits that refuse, by their own names and those of their windows.
fn refusing(policy: &Policy, decision: &Decision<'_>) -> Vec<String> {
    let answers = decision
        .answers()
        .filter(|answer| answer.effect() == Effect::Enforce && !answer.verdict().passes());
    let windows: Vec<_> = answers.map(|answer| answer.limit().name()).collect();
    let of = policy
        .limits()
        .filter(|spec| spec.limits().iter().any(|window| windows.contains(&window.name())));
    let mut names: Vec<String> = of.map(|spec| spec.name().to_owned()).collect();
    names.extend(windows.into_iter().map(str::to_owned));
    names.dedup();
    names
}

impl Came {
    /// An answer of which no more is known.
    pub(super) fn of(status: StatusCode) -> Came {
        Came {
            status,
            limits: Vec::new(),
            retry_after: None,
            wait: Span::ZERO,
            remaining: None,
            upstream: None,
            headers: HeaderMap::new(),
        }
    }
}

impl fmt::Display for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status.as_u16())?;
        if !self.limits.is_empty() {
            write!(f, ", by `{}`", self.limits.join("`, `"))?;
        }
        if let Some(seconds) = self.retry_after {
            write!(f, ", retry-after: {seconds}")?;
        }
        if !self.wait.is_zero() {
            write!(f, ", after a wait of {}", self.wait)?;
        }
        if let Some(remaining) = self.remaining {
            write!(f, ", {remaining} remaining")?;
        }
        match &self.upstream {
            Some(name) => write!(f, ", from the upstream `{name}`"),
            None => Ok(()),
        }
    }
}
